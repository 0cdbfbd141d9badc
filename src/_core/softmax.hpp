// Weights of the softmax of −β·d, and a running sum of its logarithms. Plain arithmetic throughout, so that
// what is learnt is the same on every platform.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lanes.hpp"
#include "numerics.hpp"

namespace poincare {

// A running Σ log(ratio) with a logarithm only once in a while.
class LogSum {
  public:
    POINCARE_INLINE void add(double linear, double ratio) {
        sum_ += linear;
        product_ *= ratio;
        if (product_ > kLargestProduct) settle();
    }
    double total() {
        settle();
        return sum_;
    }

  private:
    void settle() {
        sum_ += std::log(product_);
        product_ = 1;
    }
    double sum_ = 0, product_ = 1;
};

template <typename Real>
POINCARE_INLINE Real sum_in_order(const Real* x, std::size_t n) {
    Real even = 0, odd = 0;
    std::size_t k = 0;
    for (; k + 2 <= n; k += 2) {
        even += x[k];
        odd += x[k + 1];
    }
    return k < n ? (even + x[k]) + odd : even + odd;
}

// exp(x) for x ≤ 0 to 1e-12.
POINCARE_INLINE double exp_of_negative(double x) {
    constexpr double kLog2E = 1.4426950408889634, kLn2High = 0.693147180369123816490,
                     kLn2Low = 1.90821492927058770002e-10, kSmallest = -700;
    x = std::max(x, kSmallest);
    const std::int32_t n = static_cast<std::int32_t>(x * kLog2E - 0.5);
    const double r = (x - n * kLn2High) - n * kLn2Low;
    double p = 1.0 / 3628800;
    constexpr double kTaylor[10] = {1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                    1.0 / 24,     1.0 / 6,     1.0 / 2,    1.0,       1.0};
    for (const double c : kTaylor) p = p * r + c;
    const std::uint64_t bits = static_cast<std::uint64_t>(n + 1023) << 52;
    double scale;
    std::memcpy(&scale, &bits, sizeof(scale));
    return p * scale;
}

// log(x) of a positive normal number to 1e-12: x = m·2^n with m about 1, and the series of artanh.
POINCARE_INLINE double log_of(double x) {
    constexpr double kSqrtHalf = 0.70710678118654752;
    int n;
    double m = std::frexp(x, &n);
    if (m < kSqrtHalf) {
        m *= 2;
        --n;
    }
    const double f = (m - 1) / (m + 1);
    const double ff = f * f;
    double p = 1.0 / 15;
    constexpr double kOdd[7] = {1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0};
    for (const double c : kOdd) p = p * ff + c;
    return n * kLn2 + 2 * f * p;
}

// Turns attractions into softmax weights at temperature β, up to the factor that is returned.
class Softmax {
  public:
    explicit Softmax(double temperature)
        : temperature_(temperature),
          negligible_(exp_of_negative(kLogOfNegligible / temperature)),
          power_(temperature <= kLargestPower && temperature == std::floor(temperature)
                     ? static_cast<int>(temperature)
                     : 0) {}

    // e: exp(−d), replaced by exp(−βd) up to a common factor; 1/Σ of these.
    template <typename Real>
    POINCARE_INLINE Real of_attractions(Real* e, std::size_t n, LogSum& loss) const {
        if (power_ == 1) {
            const Real all = sum_in_order(e, n);
            loss.add(0, static_cast<double>(all) / static_cast<double>(e[0]));
            return 1 / all;
        }
        const Real per_nearest = 1 / *std::max_element(e, e + n);
        const double related = static_cast<double>(e[0] * per_nearest);
        for (std::size_t k = 0; k < n; ++k) {
            e[k] *= per_nearest;
            e[k] = e[k] < static_cast<Real>(negligible_) ? Real{0} : e[k];  // subnormal numbers are slow
        }
        raise(e, n);
        const Real all = sum_in_order(e, n);
        if (e[0] > static_cast<Real>(kWellAboveUnderflow))
            loss.add(0, static_cast<double>(all) / static_cast<double>(e[0]));
        else
            loss.add(-temperature_ * log_of(related), static_cast<double>(all));
        return 1 / all;
    }

    // The same of distances d.
    template <typename Real>
    POINCARE_INLINE Real of_distances(const Real* d, Real* e, std::size_t n, LogSum& loss) const {
        const double nearest = static_cast<double>(*std::min_element(d, d + n));
        for (std::size_t k = 0; k < n; ++k)
            e[k] = static_cast<Real>(exp_of_negative(
                std::max(temperature_ * (nearest - static_cast<double>(d[k])), kLogOfNegligible)));
        const Real all = sum_in_order(e, n);
        loss.add(temperature_ * (static_cast<double>(d[0]) - nearest), static_cast<double>(all));
        return 1 / all;
    }

  private:
    static constexpr double kLargestPower = 16;
    static constexpr double kWellAboveUnderflow = 1e-30;
    static constexpr double kLogOfNegligible = -46;

    template <typename Real>
    POINCARE_INLINE void raise(Real* e, std::size_t n) const {
        if (power_ == 2) {
            for (std::size_t k = 0; k < n; ++k) e[k] *= e[k];
        } else if (power_ > 0) {
            for (std::size_t k = 0; k < n; ++k) {
                Real result = 1, square = e[k];
                for (int p = power_; p > 0; p /= 2, square *= square)
                    if (p % 2) result *= square;
                e[k] = result;
            }
        } else {
            for (std::size_t k = 0; k < n; ++k)
                if (e[k] > 0)
                    e[k] = static_cast<Real>(
                        exp_of_negative(temperature_ * std::min(log_of(static_cast<double>(e[k])), 0.0)));
        }
    }

    double temperature_;
    double negligible_;  // exp(−d) relative to the nearest node from which down weights are taken to be 0
    int power_;          // β where it is a small integer, else 0
};

}  // namespace poincare
