// Epochs of stochastic gradient descent on the softmax loss of Nickel & Kiela (2017): for a related pair
// (u, v) and negatives w, loss = −log softmax(−β·d) at v. Each pair moves its own few rows at once (no
// batch), in an order and with negatives that depend on the words of `Epoch::random` only.
//
// Rows have `stride` elements (training_stride), the ones past the dimension are zero. Node numbers are
// int32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

// xoshiro256++ (Blackman & Vigna): small, quick, the same on every platform.
struct RandomState {
    std::uint64_t word[4] = {};
};

// The nodes that may not be a negative of u, sorted, u among them, each less its place in the list: then the
// r-th node that may is r + (number of entries ≤ r), and drawing never has to try again.
// `start` null: only the pair itself is excluded.
struct ExcludedNodes {
    const std::int64_t* start = nullptr;
    const std::int32_t* shifted = nullptr;
};

// Nodes drawn in proportion to a weight (alias method of Walker, 1977): of a uniform node i and a uniform
// 32-bit number, i itself where the number is below threshold[i], else alias[i]. Null: all weights are equal.
struct NodeWeights {
    const std::uint32_t* threshold = nullptr;
    const std::int32_t* alias = nullptr;
};

// Weights must not be negative, and not all zero.
void alias_table(const double* weight, std::size_t nodes, std::uint32_t* threshold, std::int32_t* alias);

// Nodes that are too near to u, of which the last negatives of u's pairs are drawn: up to `width` a node,
// in rows; entry u of `count` tells how many there are. Null: none.
struct IntruderTable {
    const std::int32_t* node = nullptr;
    const std::int32_t* count = nullptr;
    std::size_t width = 0;
    std::size_t drawn = 0;  // a pair
};

// In two arrays; or `source` null, and the pairs are (u, v) for every v ≠ u in the list of u.
struct TrainingPairs {
    const std::int32_t* source = nullptr;
    const std::int32_t* target = nullptr;
    std::size_t count = 0;
    ExcludedNodes listed = {};
    std::size_t nodes = 0;  // that have a list
};

enum class Manifold { poincare = 0, lorentz = 1, euclidean = 2 };

struct EpochSettings {
    Manifold manifold = Manifold::poincare;
    std::size_t negatives = 0;
    double rate = 0;         // learning rate: of the loss divided by the temperature, see `temperature`
    double temperature = 0;  // β; steps are those of the loss divided by β, so that a rate keeps its meaning
    int threads = 0;         // above 1 they write to the same rows without locks: no two runs are alike
};

template <typename Real>
std::size_t training_stride(std::size_t dim);

// The sum of the losses of one epoch. Rows are points of the ball of curvature 1, the spatial part of points
// of the hyperboloid of curvature −1, or Euclidean ones. Hyperbolic rows stay within the ball's margin.
template <typename Real>
double train_epoch(Real* points, std::size_t nodes, std::size_t dim, std::size_t stride,
                   const TrainingPairs& pairs, const ExcludedNodes& excluded, const NodeWeights& weights,
                   const IntruderTable& intruders, const EpochSettings& settings, RandomState random);

}  // namespace poincare
