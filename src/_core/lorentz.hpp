// The hyperboloid (Lorentz) model (Nickel & Kiela 2018).
#pragma once

#include <cstddef>

#include "maps.hpp"

namespace poincare {

// Ball points to the hyperboloid <X, X> = −1/c, X₀ > 0; out has d + 1 columns, the time coordinate first:
//   X₀ = (1 + c|x|²) / (√c·(1 − c|x|²)),  Xᵢ = 2xᵢ / (1 − c|x|²)
// Returns −1, or the first row outside the ball.
template <typename T>
std::ptrdiff_t ball_to_lorentz(const T* x, std::size_t n, std::size_t d, double curvature, T* out,
                               int threads);

// Back to the ball: Xᵢ/(1 + √c·X₀); x has d + 1 columns. `outside` of the report is the first row whose time
// coordinate is not positive.
template <typename T>
MapReport ball_from_lorentz(const T* x, std::size_t n, std::size_t d, double curvature, double limit, T* out,
                            int threads);

// Distance between X[i·x_step] and Y[i·y_step] on the hyperboloid, from their d space coordinates alone (the
// rows have d + 1 columns): those hold direction and radius without the cancellation of <X, Y>,
//   R = asinh(√c·|X|),  q = sinh²((R−S)/2) + sinh R · sinh S · |u−v|²/4,  d = 2·asinh(√q)/√c,
// where sinh(R−S) = (sinh²R − sinh²S)/(sinh R·cosh S + cosh R·sinh S) needs no logarithm.
template <typename T>
void lorentz_distances(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                       std::size_t d, double curvature, double* out, int threads);

}  // namespace poincare
