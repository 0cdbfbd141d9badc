// Epochs of stochastic gradient descent on the softmax loss of Nickel & Kiela (2017): for a related pair
// (u, v) and negatives w, loss = −log softmax(−d) at v. Each pair moves its own few rows at once (no batch),
// in an order and with negatives that depend on the random state only.
//
// Rows have `stride` elements (training_stride), the ones past the dimension are zero. Node numbers are
// int32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

// xoshiro256++ (Blackman & Vigna): small, quick, the same on every platform.
struct RandomState {
    std::uint64_t word[4];
};

// The nodes that may not be a negative of u, sorted, u among them, each less its place in the list: then the
// r-th node that may is r + (number of entries ≤ r), and drawing never has to try again.
// `start` null: only the pair itself is excluded.
struct ExcludedNodes {
    const std::int64_t* start;
    const std::int32_t* shifted;
};

struct TrainingPairs {
    std::int32_t* source;  // shuffled in place, together
    std::int32_t* target;
    std::size_t count;
};

template <typename Real>
std::size_t training_stride(std::size_t dim);

// One epoch in the ball of curvature 1; `boundary_gap` holds 1 − |x|² of each row. The sum of the losses.
template <typename Real>
double poincare_epoch(Real* points, Real* boundary_gap, std::size_t nodes, std::size_t stride,
                      const TrainingPairs& pairs, const ExcludedNodes& excluded, std::size_t negatives,
                      double learning_rate, RandomState& random);

// The same in Euclidean space.
template <typename Real>
double euclidean_epoch(Real* points, std::size_t nodes, std::size_t stride, const TrainingPairs& pairs,
                       const ExcludedNodes& excluded, std::size_t negatives, double learning_rate,
                       RandomState& random);

}  // namespace poincare
