// Directions spread over the sphere.
//
// The bits do not depend on thread count, SIMD level or (dim > 2) mathematical library: only +, −, ·, / and √
// are used, random starts included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interrupt.hpp"

namespace poincare {

// `count` unit vectors in R^dim (row major, `out` holds count·dim), far from one another; dim ≥ 2.
//   dim = 2          evenly spaced angles, from the first axis on
//   count ≤ 2·dim    a regular simplex (count ≤ dim + 1), or several in orthogonal subspaces: the largest
//                    possible least angle (Davenport & Hajós 1951; Rankin 1955), in time count·dim
//   beyond           repulsion between nearest neighbours, at most `steps` steps (relaxation.hpp)
void spread_sphere(std::size_t count, std::size_t dim, std::uint64_t seed, std::size_t steps, double* out,
                   int threads);

// The same within a longer loop.
void spread_sphere(std::size_t count, std::size_t dim, std::uint64_t seed, std::size_t steps, double* out,
                   int threads, InterruptPoll& poll);

// row − 2·mirror·(mirror·row)/(mirror·mirror) for every row; a zero mirror changes nothing.
void reflect_rows(double* rows, std::size_t count, std::size_t dim, const double* mirror);

// Reflects `count` rows so that the first becomes the unit vector `target`; the angles among them stay.
void align_first(double* rows, std::size_t count, std::size_t dim, const double* target);

}  // namespace poincare
