// Time weights: the product of a policy's factors, for one memory (inline, for the fused scan) and for
// columns.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "numerics.hpp"

namespace poincare {

enum DecayKind : int { kHalfLife = 0, kEbbinghaus = 1, kValidity = 2 };

constexpr double kMicrosPerHour = 3.6e9;

// One factor of a policy. A product of products is flattened into such a list.
struct DecayFactor {
    int kind = 0;
    double a = 0;        // hours · stability_hours · outside_weight
    double b = 0;        // –     · boost_per_access · –
    double derived = 0;  // ln 2 per microsecond · – · ln(outside_weight), floored
};

// From rows [kind, a, b], row-major. Throws std::invalid_argument at an unknown kind.
std::vector<DecayFactor> decay_factors(const double* rows, std::size_t count);

// Stability in microseconds after `access_count` accesses.
inline double stability_micros(const DecayFactor& factor, std::int64_t access_count) {
    return factor.a * kMicrosPerHour * (1.0 + factor.b * static_cast<double>(access_count));
}

// Both bounds are inclusive; a missing valid_from is the smallest integer and so is never in the future.
inline bool is_valid_at(std::int64_t now, std::int64_t valid_from, std::int64_t valid_until) {
    return now >= valid_from && (now <= valid_until || valid_until == kMissingInstant);
}

// ln of the weight, between ln(kMinWeight) and 0. Instants are UTC microseconds.
//
// Only the end is floored. The published policies also floor each factor at m = kMinWeight, to the same
// result: if every factor is at least m nothing changes; if one is below m, the others being at most 1, both
// products are at most m, and the last floor makes both m.
inline double log_weight(const DecayFactor* factors, std::size_t count, std::int64_t now, std::int64_t t,
                         std::int64_t access_count, std::int64_t valid_from, std::int64_t valid_until) {
    const double age = static_cast<double>(now - t);
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        const DecayFactor& factor = factors[i];
        if (factor.kind == kValidity) {
            if (!is_valid_at(now, valid_from, valid_until)) sum += factor.derived;
            continue;
        }
        if (age <= 0.0) continue;  // the future has weight 1; also keeps 0 · ∞ away from tiny half-lives
        sum -= factor.kind == kHalfLife ? age * factor.derived : age / stability_micros(factor, access_count);
    }
    const double floor = kLogMinWeight;
    return sum > floor ? sum : floor;
}

// The weight itself, between kMinWeight and 1: what users see (2^−n exactly after n half-lives).
inline double weight(const DecayFactor* factors, std::size_t count, std::int64_t now, std::int64_t t,
                     std::int64_t access_count, std::int64_t valid_from, std::int64_t valid_until) {
    const double age = static_cast<double>(now - t);
    double product = 1.0;
    for (std::size_t i = 0; i < count; ++i) {
        const DecayFactor& factor = factors[i];
        if (factor.kind == kValidity) {
            if (!is_valid_at(now, valid_from, valid_until)) product *= factor.a;
            continue;
        }
        if (age <= 0.0) continue;
        product *= factor.kind == kHalfLife ? std::exp2(-age / kMicrosPerHour / factor.a)
                                            : std::exp(-age / stability_micros(factor, access_count));
    }
    return product > kMinWeight ? product : kMinWeight;
}

// Columns of the store. A null column: nothing was ever accessed, no bound is set.
struct DecayColumns {
    const std::int64_t* t = nullptr;
    const std::int64_t* access_count = nullptr;
    const std::int64_t* valid_from = nullptr;
    const std::int64_t* valid_until = nullptr;
};

// out[i] = weight (or its logarithm) of row rows[i], or of row i where `rows` is null.
void decay_weights(const DecayFactor* factors, std::size_t factor_count, std::int64_t now,
                   const DecayColumns& columns, const std::int64_t* rows, std::size_t n, double* out,
                   int threads);
void decay_log_weights(const DecayFactor* factors, std::size_t factor_count, std::int64_t now,
                       const DecayColumns& columns, const std::int64_t* rows, std::size_t n, double* out,
                       int threads);

}  // namespace poincare
