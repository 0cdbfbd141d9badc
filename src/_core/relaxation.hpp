// Repulsion of many unit vectors from their nearest neighbours: a Riesz energy whose exponent rises, which
// tends to the largest least distance (the Tammes problem).
#pragma once

#include <cstddef>
#include <cstdint>

#include "interrupt.hpp"

namespace poincare {

// Neighbours that repel each point.
std::size_t neighbours_kept(std::size_t count, std::size_t dim);

// Steps taken when `steps` are allowed: fewer for wide sets, so that time stays near linear in `count`, but
// (where allowed) never fewer than 60.
std::size_t relaxation_steps(std::size_t count, std::size_t dim, std::size_t steps);

// From a random start, `relaxation_steps` steps. Memory: count · (neighbours_kept + a few dim).
void relax_on_sphere(std::size_t count, std::size_t dim, std::uint64_t seed, std::size_t steps, double* out,
                     int threads, InterruptPoll& poll);

}  // namespace poincare
