// Where memories go: the directions and radii of rows, from their embeddings and their place in the tree.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

struct PlacementRule {
    double base_depth = 0;  // hyperbolic radius of a root
    double depth_step = 0;  // added by every level
    double inherit = 0;     // 0: a child keeps its own direction, 1: it takes its parent's
    double sqrt_c = 0;
    bool cone_constrained = false;
    double cone_k = 0;
};

// Columns of a store, a row a memory; `embedding` has a row for each of those that are placed, in their
// order.
template <typename T>
struct PlacementColumns {
    const T* embedding = nullptr;
    double* direction = nullptr;
    double* radius = nullptr;
    std::int32_t* level = nullptr;
    const std::int32_t* parent = nullptr;
    std::uint8_t* directed = nullptr;
    std::uint8_t* learnt = nullptr;  // see below; may be null: none is
    std::size_t dim = 0;
    // Of float32 embeddings that take no room of their own (embeddings.hpp), filled in; null where they do.
    // kept[i] is that of rows[i].
    double* own = nullptr;
    double* above = nullptr;
    std::uint8_t* kept = nullptr;
};

// Places rows[0..n), in which a parent comes before its children (a parent that is not among them is in place
// already). A root lies in the direction of its embedding at base_depth. For a child, its raw point is the
// direction e of its embedding at the target depth S, one step below its parent (u, R); the geodesic from the
// parent to it, at the fraction t = 1 − inherit of its length D, points in the direction of
//   sinh((1−t)D)·sinh R·u + sinh(tD)·sinh S·e
// and that direction at depth S is the child's place. A row whose embedding has zero length gets no
// direction, the depth of its level, and no say in the direction of its children.
//
// A row with learnt[row] == 1 was placed by training or a layout: it keeps radius and direction (at the
// origin, where there is none, the direction of its embedding). What lies below such a row is marked with 2;
// its radius is that of its parent + depth_step.
//
// Ctrl-C ends it with some rows placed and others not: whoever cannot throw them away keeps what they were.
template <typename T>
void place_rows(const PlacementColumns<T>& columns, const std::int32_t* rows, std::size_t n,
                const PlacementRule& rule, int threads);

// As place_rows, of one row, with no memory of its own and nothing that ends it midway: `spare` is room for
// dim numbers.
template <typename T>
void place_row_alone(const PlacementColumns<T>& columns, std::int32_t row, const PlacementRule& rule,
                     double* spare);

// Ball points of rows: direction · tanh(√c·radius/2)/√c, the norm always below 1/√c.
void points_of_rows(const double* direction, const double* radius, const std::int32_t* rows, std::size_t n,
                    std::size_t dim, double sqrt_c, double* out, int threads);

}  // namespace poincare
