// BLAKE2b (RFC 7693), as far as the hashing embedder needs it: keyed, and of each digest the first 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

constexpr std::size_t kBlake2bBlock = 128;

// Little-endian on any machine; one load where the machine is little-endian.
inline std::uint64_t load_word(const std::uint8_t* bytes) {
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    return word;
}

// Chaining value after the block that holds the key: the same for every message under that key.
struct Blake2bKey {
    std::uint64_t state[8];
};

Blake2bKey blake2b_key(const std::uint8_t* key, std::size_t key_size, std::size_t digest_size);

// First 8 bytes of the digest, as a little-endian integer. `size` is at least 1 (an empty message would make
// the key block the last one).
std::uint64_t blake2b_first_word(const Blake2bKey& key, const std::uint8_t* message, std::size_t size);

// The same for messages of one block each, several at a time where the processor can: message i takes
// kBlake2bBlock bytes at blocks + i * kBlake2bBlock, zeros after its sizes[i] bytes.
void blake2b_first_words(const Blake2bKey& key, const std::uint8_t* blocks, const std::uint8_t* sizes,
                         std::size_t count, std::uint64_t* first_words);

}  // namespace poincare
