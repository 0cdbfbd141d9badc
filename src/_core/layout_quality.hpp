// How well a layout keeps the distances of its tree: distortion and MAP (Sala, De Sa, Gu & Ré 2018).
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

// Points in polar coordinates, radii multiplied by √c. `low`, which may be null, holds what a direction has
// beyond the digits of a double (double_double.hpp).
struct PolarRows {
    const double* direction = nullptr;
    const double* low = nullptr;
    const double* radius = nullptr;
    std::size_t dim = 0;
};

double polar_rows_distance(const PolarRows& points, std::size_t i, std::size_t j);

void polar_pair_distances(const PolarRows& points, const std::int32_t* first, const std::int32_t* second,
                          std::size_t count, double* out, int threads);

// A forest in breadth-first order: parents ascend, −1 (roots) first.
struct ParentTree {
    const std::int32_t* parent = nullptr;
    const double* length = nullptr;  // of the edge to the parent, times √c
    std::size_t nodes = 0;
};

// Of one node, over all nodes of its tree at a distance above 0.
struct NodeQuality {
    double error = 0;               // sum of |d / distance in the tree − 1|
    double least = 0, largest = 0;  // of d / distance in the tree; ∞ and 0 where there is no pair
    double precision = 0;           // average precision of its neighbours; NaN where it has none
    std::int64_t pairs = 0;
};

void layout_quality(const PolarRows& points, const ParentTree& tree, const std::int32_t* sources,
                    std::size_t count, NodeQuality* out, int threads);

}  // namespace poincare
