// Exponential and logarithmic map, geodesics and Möbius addition, in forms where nothing cancels as deep as
// the coordinates reach. Notation: g = 1 − c|x|² and h = 1 − c|y|² are the margins.
#pragma once

#include <cstddef>

#include "ball.hpp"

namespace poincare {

// A side with step 0 is one row against all of the other.
template <typename T>
struct Rows {
    const T* data = nullptr;
    std::size_t step = 0;
};

template <typename T>
inline Rows<T> rows(const T* data, std::size_t step) {
    return {data, step};
}

struct MapReport {
    std::ptrdiff_t outside = 0;  // −1, or the first row outside the ball: i for x, n + i for y
    bool saturated = false;      // some point was deeper than `limit` and got that norm
};

// Scales a ball point back to the norm limit/√c where it is longer; says whether it was.
bool keep_inside(double* point, std::size_t d, double sqrt_c, double limit);

// x ⊕ y = (c|s|²·x + g·s) / (c|s|² + g·h) with s = x + y (Ungar 2008). The textbook form has 1 + 2c⟨x, y⟩ +
// c|y|², which cancels where y is near −x; that is c|s|² + g.
template <typename T>
MapReport mobius_additions(Rows<T> x, Rows<T> y, std::size_t n, std::size_t d, double curvature, double limit,
                           T* out, int threads);

// The end of the geodesic from x with initial velocity v (Ganea et al. 2018, eq. 3). On the hyperboloid it is
// cosh ν·X + sinh ν·V with ν = 2√c|v|/g; brought back to the unit ball, with w± = x ± v/|v|, E = e^(−2ν) and
// p = |w₊|² + E·|w₋|²:
//   (p·x + g·[(1−E)·w₊ + 2E·x]) / (2g·e^(−ν) + p)
template <typename T>
MapReport exp_maps(Rows<T> x, Rows<T> v, std::size_t n, std::size_t d, double curvature, double limit, T* out,
                   int threads);

// The velocity at x that reaches y: along (−x) ⊕ y, which is along g·(y−x) − c|y−x|²·x, of length d(x,
// y)·g/2.
template <typename T>
std::ptrdiff_t log_maps(Rows<T> x, Rows<T> y, std::size_t n, std::size_t d, double curvature, T* out,
                        int threads);

// The point at fraction t of the geodesic from x to y. On the hyperboloid Z = (sinh((1−t)D)·X +
// sinh(tD)·Y)/sinh D; both coefficients are divided by their largest exponential, so that no t overflows, and
// the time coordinate follows from the space part, so that Z stays on the hyperboloid. t = 0 and t = 1 return
// x and y as they are.
template <typename T>
MapReport geodesic_points(Rows<T> x, Rows<T> y, const double* t, std::size_t t_step, std::size_t n,
                          std::size_t d, double curvature, double limit, T* out, int threads);

}  // namespace poincare
