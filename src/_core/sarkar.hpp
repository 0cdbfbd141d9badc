// Sarkar's construction (Sarkar 2011; Sala, De Sa, Gu & Ré 2018) in polar coordinates, where no depth
// saturates. Radii and lengths are those of curvature −1 (multiplied by √c).
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

// A tree in breadth-first order: the children of node i follow those of node i − 1, the root is node 0.
struct SarkarTree {
    const std::int64_t* child_count = nullptr;
    const double* length = nullptr;  // of the edge to the parent, above 0; that of the root is not read
    std::size_t nodes = 0;
    std::size_t dim = 0;
};

// Unit direction (nodes·dim) and radius of every node. The root has radius 0 and direction 0. Where `low` is
// not null, it gets what the directions have beyond the digits of a double (double_double.hpp): float64 tells
// directions apart that differ by 1e-16, which is what separates siblings at radius 36; 106 bits do at 73.
void sarkar_polar(const SarkarTree& tree, std::uint64_t seed, std::size_t steps, double* direction,
                  double* low, double* radius, int threads);

// Where the geodesic of length `length` ends that leaves the point (u, r) in the unit direction v: direction
// and radius, and the unit direction that leads back. All four vectors are in Euclidean coordinates, which
// the ball's metric only scales; they may not overlap, except that `back` may be null.
void geodesic_end(const double* u, double r, const double* v, double length, std::size_t dim,
                  double* direction, double* radius, double* back);

// The same where directions are sums of `direction` and `low`. Radius and v, an angle at the node, need no
// more than a double; only the directions of what lies far out must be told apart.
void precise_geodesic_end(const double* u, const double* low_u, double r, const double* v, double length,
                          std::size_t dim, double* direction, double* low, double* radius, double* back);

}  // namespace poincare
