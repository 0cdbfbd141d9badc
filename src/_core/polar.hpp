// The geometry of polar coordinates (u, r): a unit direction and a hyperbolic radius, where nothing
// saturates.
//
// Every radius here is already multiplied by √c, every distance still to be divided by it: with R = √c·r the
// formulas are those of curvature −1. `chord_squared` is |u − v|², `sum_squared` is |u + v|².
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics.hpp"

namespace poincare {

// q = sinh²(d/2), from the hyperbolic law of cosines (Ungar 2008):
//   q = sinh²((R−S)/2) + sinh R · sinh S · |u−v|²/4
// A sum of two terms that are never negative: no cancellation at any distance. q grows with d, so loops rank
// by it. It overflows at R+S > 88 in float32 and > 710 in float64; from kLogSpaceRadius on, use polar_log_q.
template <typename T>
inline T polar_q(T R, T S, T chord_squared) {
    const T half_gap = std::sinh((R - S) / 2);
    return half_gap * half_gap + std::sinh(R) * std::sinh(S) * (chord_squared / 4);
}

// ln(x + y) from ln x and ln y, either of which may be −∞.
inline double log_add_exp(double x, double y) {
    const double high = std::max(x, y);
    if (high == -std::numeric_limits<double>::infinity()) return high;
    return high + std::log1p(std::exp(std::min(x, y) - high));
}

// ln q, with a = |R−S| and m = min(R, S):
//   ln q = a + 2m − ln 4 + ln[(1−e^−a)²·e^(−2m) + (1−e^(−2R))(1−e^(−2S))·|u−v|²/4]
// Both terms are taken as logarithms, so that u = v gives d = a at any radius, and a point itself −∞.
inline double polar_log_q(double R, double S, double chord_squared) {
    if (std::isnan(R) || std::isnan(S) || std::isnan(chord_squared)) return R + S + chord_squared;
    const double a = std::fabs(R - S);
    const double radial = a + 2 * std::log(-std::expm1(-a));
    const double angular =
        R + S + std::log(-std::expm1(-2 * R)) + std::log(-std::expm1(-2 * S)) + std::log(chord_squared / 4);
    return log_add_exp(radial, angular) - kLn4;
}

// d = 2·asinh(√q)
inline double distance_from_q(double q) {
    return 2 * std::asinh(std::sqrt(q));
}

// The same from ln q; d = ln q + ln 4 + O(1/q), exact at every q.
inline double distance_from_log_q(double log_q) {
    if (log_q < 0) return distance_from_q(std::exp(log_q));
    return log_q + 2 * std::log1p(std::sqrt(1 + std::exp(-log_q)));
}

// Whether pairs that reach this far must be ranked by ln q; a scan decides once, from its largest radius.
inline bool needs_log_space(double R, double S) {
    return R + S > kLogSpaceRadius;
}

// Distances from points of one radius; the sinh of it is taken once.
class DistanceFromRadius {
  public:
    explicit DistanceFromRadius(double R) : R_(R), sinh_r_(std::sinh(R)) {}

    double operator()(double S, double chord_squared) const {
        if (needs_log_space(R_, S)) return distance_from_log_q(polar_log_q(R_, S, chord_squared));
        const double half_gap = S == R_ ? 0 : std::sinh((R_ - S) / 2);
        const double sinh_s = S == R_ ? sinh_r_ : std::sinh(S);
        const double q = half_gap * half_gap + sinh_r_ * sinh_s * (chord_squared / 4);
        if (q < kSafeSquareLow)  // q may have underflowed: its root does not
            return 2 * std::asinh(std::hypot(half_gap, std::sqrt(sinh_r_) * std::sqrt(sinh_s) *
                                                           (std::sqrt(chord_squared) / 2)));
        return distance_from_q(q);
    }

  private:
    double R_, sinh_r_;
};

inline double polar_distance(double R, double S, double chord_squared) {
    return DistanceFromRadius(R)(S, chord_squared);
}

// Entailment cone of one apex (Ganea, Bécigneul & Hofmann 2018), for many points.
class ConeApex {
  public:
    ConeApex(double R, double K) : R_(R), log_space_(R > kLogSpaceRadius), psi_(half_aperture(R, K)) {}

    // ψ = arcsin(2K / sinh R); π in the central region tanh(R/2) < K, where the cone is the whole ball.
    static double half_aperture(double R, double K) {
        if (std::tanh(R / 2) < K) return kPi;
        return std::asin(std::min(1.0, 2 * K / std::sinh(R)));
    }

    double half_aperture() const { return psi_; }

    // Ξ, the angle at the apex between its own ray and the geodesic to (v, S):
    //   Ξ = atan2(sinh S · sin θ, sinh(S−R) − 2 · cosh R · sinh S · sin²(θ/2))
    // with sin θ = |u−v||u+v|/2 and sin²(θ/2) = |u−v|²/4. Both arguments are divided by e^S (by e^(S+R) from
    // kLogSpaceRadius on), so that no depth overflows. 0 at the apex itself.
    double angle(double S, double chord_squared, double sum_squared) const {
        if (chord_squared == 0 || S == 0) return S >= R_ ? 0.0 : kPi;
        const double sine = std::sqrt(chord_squared * sum_squared) / 2;
        const double half_sine_squared = chord_squared / 4;
        const double sinh_s = -std::expm1(-2 * S) / 2;  // sinh(S)·e^−S
        if (log_space_) {
            const double shrink = std::exp(-R_);
            const double outward = (shrink * shrink - std::exp(-2 * S)) / 2;
            return std::atan2(sinh_s * sine * shrink,
                              outward - (1 + shrink * shrink) * sinh_s * half_sine_squared);
        }
        const double outward = -std::exp(-R_) * std::expm1(2 * (R_ - S)) / 2;  // sinh(S−R)·e^−S
        return std::atan2(sinh_s * sine, outward - 2 * std::cosh(R_) * sinh_s * half_sine_squared);
    }

    // max(0, Ξ − ψ): how far (v, S) lies outside the cone, in radians.
    double energy(double S, double chord_squared, double sum_squared) const {
        const double excess = angle(S, chord_squared, sum_squared) - psi_;
        return excess < 0 ? 0.0 : excess;  // NaN stays NaN
    }

  private:
    double R_;
    bool log_space_;
    double psi_;
};

inline double cone_energy(double R, double S, double chord_squared, double sum_squared, double K) {
    return ConeApex(R, K).energy(S, chord_squared, sum_squared);
}

}  // namespace poincare
