// atan2(y, x) for y >= 0 in arithmetic that every compiler turns into vector code: no branch, no call, no
// table.
//
// t = min(y, |x|)/max(y, |x|) lies in [0, 1]. Above tan(π/8), atan t = π/4 + atan((t − 1)/(t + 1)), which
// takes one quotient as well: (min − max)/(min + max). What is left, |u| <= tan(π/8), is u + u³·P(u²) with
// the polynomial that meets (atan(√z)/√z − 1)/z at the 11 Chebyshev nodes of [0, tan²(π/8)]: off by less than
// 1e-17 of the angle. Then the angle is mirrored at the diagonal and at the vertical. Relative error below
// 5e-16; NaN stays NaN; atan2(0, 0) is 0.
#pragma once

#include <cmath>

#include "cpu.hpp"
#include "numerics.hpp"

namespace poincare {

POINCARE_INLINE double atan2_nonnegative(double y, double x) {
    constexpr double kTanEighth = 0.41421356237309503;
    constexpr double kQuarterLow = 3.061616997868383e-17;  // π/4 − what float64 has of it
    const double across = std::fabs(x);
    const double larger = y > across ? y : across;
    const double smaller = y > across ? across : y;
    const bool steep = smaller > kTanEighth * larger;
    const double over = steep ? smaller - larger : smaller;
    const double under = steep ? smaller + larger : larger;
    const double u = over / (under > 0 ? under : 1.0);

    const double z = u * u;
    double p = -0.019175404711104935;
    p = p * z + 0.03923044778479309;
    p = p * z - 0.050854078345894844;
    p = p * z + 0.05858140904866328;
    p = p * z - 0.06664510525508936;
    p = p * z + 0.07692183125376892;
    p = p * z - 0.0909090457530649;
    p = p * z + 0.11111111015187018;
    p = p * z - 0.14285714284665682;
    p = p * z + 0.19999999999995516;
    p = p * z - 0.3333333333333333;
    double angle = u + u * (z * p);

    angle = steep ? kPi / 4 + (angle + kQuarterLow) : angle;
    angle = y > across ? kPi / 2 - (angle - 2 * kQuarterLow) : angle;
    angle = x < 0 ? kPi - (angle - 4 * kQuarterLow) : angle;
    return angle + (y - y) + (x - x);
}

// arcsin(s) for s >= 0; π/2 above 1
POINCARE_INLINE double asin_nonnegative(double s) {
    const double sine = s > 1 ? 1.0 : s;
    return atan2_nonnegative(sine, std::sqrt((1 - sine) * (1 + sine)));
}

}  // namespace poincare
