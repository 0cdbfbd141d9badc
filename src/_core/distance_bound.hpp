// Lower bounds on distances from inner products, cheap enough for every row of a scan: no
// transcendental function is called for a row, only for a radius that was not met before.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "numerics.hpp"
#include "polar.hpp"
#include "rows.hpp"

namespace poincare {

// ln y from below: the logarithm is concave, so it lies above the chord of each of 512 cells of the mantissa.
// Off by at most (1/512)²/8 = 4.8e-7.
class LogFromBelow {
  public:
    LogFromBelow() {
        for (std::size_t i = 0; i <= kCells; ++i)
            knot_[i] = std::log1p(static_cast<double>(i) / static_cast<double>(kCells));
    }

    // y: positive and finite. Subnormal numbers give −∞.
    double operator()(double y) const {
        std::uint64_t bits;
        std::memcpy(&bits, &y, sizeof(bits));
        const std::uint64_t exponent = bits >> 52;
        if (exponent == 0) return -std::numeric_limits<double>::infinity();
        const std::size_t cell = static_cast<std::size_t>(bits >> 43) & (kCells - 1);
        const double within = static_cast<double>(static_cast<std::int64_t>(bits & kWithin)) * 0x1p-43;
        return (static_cast<double>(static_cast<std::int64_t>(exponent)) - 1023.0) * kLn2Below +
               (knot_[cell] + (knot_[cell + 1] - knot_[cell]) * within);
    }

  private:
    static constexpr std::size_t kCells = 512;
    static constexpr std::uint64_t kWithin = (std::uint64_t{1} << 43) - 1;
    static constexpr double kLn2Below = 0.693147180559945309417232121458;
    std::array<double, kCells + 1> knot_;
};

// d(chord²) for one pair of radii, from below:
//   small radii: q = apart + slope·chord², d = 2·asinh(√q) = ln(1 + 2q + 2√(q(q+1)))
//   large radii: d ≥ ln(4q) = offset + ln(apart + slope·chord²)
// and never less than |R − S|.
struct RadiusTerms {
    double apart;
    double slope;
    double offset;
    double least;
    bool log_space;

    static RadiusTerms of(double R, double S) {
        RadiusTerms terms;
        const double gap = std::fabs(R - S);
        terms.least = gap;
        terms.log_space = needs_log_space(R, S);
        if (!terms.log_space) {
            const double half_gap = std::sinh((R - S) / 2);
            terms.apart = half_gap * half_gap;
            terms.slope = std::sinh(R) * std::sinh(S) / 4;
            terms.offset = 0;
            return terms;
        }
        const double low = std::min(R, S);
        const double rise = -std::expm1(-gap);
        terms.apart = rise * rise * std::exp(-2 * low);
        terms.slope = std::expm1(-2 * R) * std::expm1(-2 * S) / 4;
        terms.offset = gap + 2 * low;
        return terms;
    }
};

class DistanceBound {
  public:
    static constexpr double kOpposite = 4.0;  // |u − v|² of opposite directions

    // `log`: shared table; R: √c times the query's radius; dot_error: bound on the error of inner products.
    DistanceBound(const LogFromBelow& log, double R, double sqrt_c, double dot_error)
        : log_(log),
          R_(R),
          scale_(kBoundShrink / sqrt_c),
          slack_(kBoundSlack / sqrt_c),
          chord_error_(2 * dot_error + kChordSlack) {}

    // |u − v|² ≥ 2(1 − 1e-9)² − 2⟨u, v⟩, for norms within 1e-9 of 1.
    double chord_squared(float dot) const {
        return std::max(0.0, 2.0 - 2.0 * static_cast<double>(dot) - chord_error_) * kBoundShrink;
    }

    // At most the distance that polar_distance returns for these radii (S: √c times the row's) and any chord
    // of at least this square, in the units of the ball.
    //
    // Every quantity in polar_distance is a product or a sum of non-negative ones (relative error of a few
    // units of 1e-16) and asinh and log amplify no relative error of q; only ln y near y = 1 turns it into an
    // absolute one of 1e-16. kBoundShrink and kBoundSlack are a thousand times wider.
    double operator()(double S, double chord_squared) {
        const RadiusTerms& known = terms(S);
        double y = known.apart + known.slope * chord_squared;
        if (!known.log_space) y = 1 + 2 * (y + std::sqrt(y * (y + 1)));
        const double d = std::max(known.offset + log_(y), known.least);
        return std::max(0.0, d * scale_ - slack_);
    }

    // Radii come from levels: few are distinct.
    const RadiusTerms& terms(double S) {
        std::uint64_t bits;
        std::memcpy(&bits, &S, sizeof(bits));
        const std::size_t slot = static_cast<std::size_t>((bits * 0x9E3779B97F4A7C15u) >> 58);
        if (!known_[slot] || radius_[slot] != S) {
            terms_[slot] = RadiusTerms::of(R_, S);
            radius_[slot] = S;
            known_[slot] = true;
        }
        return terms_[slot];
    }

  private:
    static constexpr std::size_t kRemembered = 64;

    const LogFromBelow& log_;
    double R_;
    double scale_;
    double slack_;
    double chord_error_;
    std::array<RadiusTerms, kRemembered> terms_;
    std::array<double, kRemembered> radius_;
    std::array<bool, kRemembered> known_ = {};
};

}  // namespace poincare
