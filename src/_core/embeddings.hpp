// Embeddings in float32 that take no room of their own: a memory's direction in float64, and its parent's,
// hold all of its bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

// A memory's direction is a mixture of its embedding's and its parent's (placement.hpp), so the embedding is
//
//   x = own · direction + above · parent's direction
//
// in float64, where each component is off by some 1e-16 of the longest term: rounded to float32, which has 29
// bits less, it is the embedding again but for components about 1e8 times smaller than the others. A row
// whose embedding does not come out to the last bit has own == 0 and is kept elsewhere.
struct MixtureColumns {
    const double* direction = nullptr;
    const std::int32_t* parent = nullptr;  // -1: none
    double* own = nullptr;
    double* above = nullptr;
    std::size_t dim = 0;
};

// Finds own and above of one row, whose embedding is x; `wide` is room for dim numbers. False: none, and both
// are 0.
bool fold_embedding(const MixtureColumns& columns, std::size_t row, const float* x, double* wide);

// Finds own and above of rows rows[0 … n), whose embeddings are the rows of `embedding` in that order;
// kept[i] is 1 where there are none, which are then 0. Returns how many those are. Directions are in place.
std::size_t fold_embeddings(const MixtureColumns& columns, const float* embedding, const std::int32_t* rows,
                            std::size_t n, std::uint8_t* kept, int threads);

// The embeddings of rows, one after the other; zeros where own == 0.
void unfold_embeddings(const MixtureColumns& columns, const std::int32_t* rows, std::size_t n, float* out,
                       int threads);

// The first of n numbers that is NaN or infinite; n where none is.
template <typename T>
std::size_t first_not_finite(const T* numbers, std::size_t n);

// Copies n numbers; false where one is NaN or infinite, and then not all may have been copied.
template <typename T>
bool copy_finite(const T* from, T* to, std::size_t n, int threads);

}  // namespace poincare
