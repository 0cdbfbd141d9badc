// The hashing embedder: words and character n-grams of lower-cased texts, hashed onto signed coordinates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

// Code points of one lower-cased text, 1, 2 or 4 bytes each.
struct TextView {
    const void* code_points = nullptr;
    std::size_t length = 0;
    int bytes_per_code_point = 0;
};

struct HashingOptions {
    std::size_t dim = 0;       // 1 to 2^31 − 1
    std::size_t shortest = 0;  // n-gram lengths in code points, both inclusive; shortest ≥ 1
    std::size_t longest = 0;
    std::uint32_t seed = 0;
};

// rows[i * dim …] = L2-normalised vector of texts[i], zeros where it has no token. `is_word` is a bitmap over
// code points: bit c % 8 of byte c / 8 tells whether c belongs to tokens (besides the apostrophe, which
// does).
void hash_texts(const TextView* texts, std::size_t count, const std::uint8_t* is_word,
                const HashingOptions& options, double* rows, int threads);

}  // namespace poincare
