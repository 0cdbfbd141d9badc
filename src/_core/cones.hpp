// Entailment cones of ball points (Ganea, Bécigneul & Hofmann 2018). Cones of polar coordinates: polar.hpp.
#pragma once

#include <cstddef>

namespace poincare {

// Ξ, the angle at x[i·x_step] between its own ray and the geodesic to y[i·y_step]. With n = √c·|x|, g = 1 −
// n² (and m, h of y), θ the angle between the directions, and sinh R = 2n/g, cosh R = (1 + n²)/g:
//   Ξ = atan2(m·g·sin θ, (m − n)(1 − n·m) − 2·m·(1 + n²)·sin²(θ/2))
// with m − n = (g − h)/(n + m) next to the boundary, where that keeps its digits, and θ from the chords |u−v|
// and |u+v|. 0 at the apex itself. Returns −1, or the first row outside the ball: i for x, n + i for y.
template <typename T>
std::ptrdiff_t cone_angles(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                           std::size_t d, double curvature, double* out, int threads);

// max(0, Ξ − ψ): how far y lies outside the cone of x.
template <typename T>
std::ptrdiff_t cone_energies(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                             std::size_t d, double curvature, double K, double* out, int threads);

// ψ = arcsin(K·g/n) of each row (π where n < K). Returns −1, or the first row outside the ball.
template <typename T>
std::ptrdiff_t half_apertures(const T* x, std::size_t n, std::size_t d, double curvature, double K,
                              double* out, int threads);

}  // namespace poincare
