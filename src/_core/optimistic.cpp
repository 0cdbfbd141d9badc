#include "optimistic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu.hpp"

namespace poincare {
namespace {

// What is the same for every block of candidates. `query` null: no inner products are needed.
struct Terms {
    const ScanColumns& columns;
    const ScanQuery& query;
    const ScanScoring& scoring;
    const CodedQuery* coded;
};

constexpr float kLogSlack = 1e-5f;       // the polynomial's error, five times over
constexpr float kLogShrink = 1 - 4e-6f;  // and float32 roundings of a logarithm
constexpr double kRoundings = 0x1p-20;   // of q = near − slope · product in float32, several times over

// ln z from below, for z ≥ 1: a polynomial for the mantissa (Chebyshev, off by at most 1.7e-6).
POINCARE_INLINE float log_from_below_f32(float z) {
    std::uint32_t bits;
    std::memcpy(&bits, &z, sizeof(bits));
    const float exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23) - 127);
    bits = (bits & 0x7fffffu) | 0x3f800000u;
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    x -= 1.0f;
    float sum = -0.0170296106f;
    sum = sum * x + 0.0815231776f;
    sum = sum * x - 0.1890195482f;
    sum = sum * x + 0.3150412799f;
    sum = sum * x - 0.4972033212f;
    sum = sum * x + 0.9998325948f;
    sum = sum * x + 1.6936627e-6f;
    return (exponent * 0.69314718f + sum) * kLogShrink - kLogSlack;
}

// At most the distance of each row, in the units of the ball. With chord² ≥ 2 − 4e-9 − 2 · product,
//   q = apart + slope · chord² ≥ near − 2 · slope · product,   d = 2 ln(√q + √(q + 1))
// in float32 where it is wide enough: below kLogSpaceRadius q is at most e⁴⁰.
template <typename Rows>
POINCARE_INLINE void distances_from_below(const Terms& terms, DistanceBound& bound, const Rows& rows,
                                          std::size_t n, const float* above, double* distance) {
    const double sqrt_c = terms.scoring.sqrt_c;
    const bool shell = terms.query.metric == ScanMetric::shell;
    float near[kCodeBlock], slope[kCodeBlock];
    std::uint8_t far[kCodeBlock];
    bool any_far = false;
    const auto measure = [&](double S, std::size_t i) {
        const RadiusTerms& known = bound.terms(S);
        const double across = 2 * known.slope;
        far[i] = known.log_space;
        any_far |= known.log_space;
        near[i] = known.log_space ? 0 : static_cast<float>(known.apart + across * (1 - 4e-9 - kRoundings));
        slope[i] = known.log_space ? 0 : static_cast<float>(across);
    };
    if (shell) {
        measure(sqrt_c * terms.query.radius, 0);
        std::fill(near + 1, near + n, near[0]);
        std::fill(slope + 1, slope + n, slope[0]);
        std::fill(far + 1, far + n, far[0]);
    } else {
        for (std::size_t i = 0; i < n; ++i) measure(sqrt_c * terms.columns.radius[rows[i]], i);
    }
    const double scale = 2 / sqrt_c;
    for (std::size_t i = 0; i < n; ++i) {
        const float difference = near[i] - slope[i] * above[i];
        const float q = difference > 0 ? difference : 0;
        const float half = log_from_below_f32(std::sqrt(q) + std::sqrt(q + 1));
        distance[i] = scale * static_cast<double>(half > 0 ? half : 0);
    }
    if (!any_far) return;
    for (std::size_t i = 0; i < n; ++i)
        if (far[i])
            distance[i] = bound(sqrt_c * (shell ? terms.query.radius : terms.columns.radius[rows[i]]),
                                bound.chord_squared(above[i]));
}

// `log_weight` of each row, to the bit: the same operations, one factor after the other.
template <typename Rows>
POINCARE_INLINE void log_weights(const Terms& terms, const Rows& rows, std::size_t n, double* out) {
    const ScanScoring& scoring = terms.scoring;
    const DecayColumns& time = terms.columns.time;
    const std::int64_t now = scoring.now;
    std::fill(out, out + n, 0.0);
    for (std::size_t f = 0; f < scoring.factor_count; ++f) {
        const DecayFactor factor = scoring.factors[f];
        if (factor.kind == kHalfLife) {
            for (std::size_t i = 0; i < n; ++i) {
                const double age = static_cast<double>(now - time.t[rows[i]]);
                out[i] = age > 0 ? out[i] - age * factor.derived : out[i];
            }
        } else if (factor.kind == kEbbinghaus) {
            for (std::size_t i = 0; i < n; ++i) {
                const double age = static_cast<double>(now - time.t[rows[i]]);
                const double stability = stability_micros(factor, time.access_count[rows[i]]);
                out[i] = age > 0 ? out[i] - age / stability : out[i];
            }
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                const bool valid = is_valid_at(now, time.valid_from[rows[i]], time.valid_until[rows[i]]);
                out[i] = valid ? out[i] : out[i] + factor.derived;
            }
        }
    }
    const double floor = kLogMinWeight;
    for (std::size_t i = 0; i < n; ++i) out[i] = out[i] > floor ? out[i] : floor;
}

// A relative step of 2⁻²³ up, then at most 2⁻²⁴ down by rounding (2⁻¹⁴⁰ where float32 is subnormal).
POINCARE_INLINE float round_up(double x) {
    const double raised = x > kLeast ? x : kLeast;
    return static_cast<float>(raised + std::fabs(raised) * 0x1p-23 + 0x1p-140);
}

// The score as `Scorer::score` adds it up, operation by operation, from a distance that is too small.
template <typename Rows>
POINCARE_INLINE void block_scores(const Terms& terms, DistanceBound& bound, const Rows& rows,
                                  std::size_t first, std::size_t n, float* out) {
    const ScanScoring& scoring = terms.scoring;
    float above[kCodeBlock];
    double distance[kCodeBlock], depth[kCodeBlock], time[kCodeBlock], bonus[kCodeBlock];
    if (terms.query.metric == ScanMetric::none) {
        std::fill(distance, distance + n, 0.0);
    } else {
        if (terms.coded) {
            products_from_above(terms.columns.coded, *terms.coded, rows, n, above);
            for (std::size_t i = 0; i < n; ++i)  // no direction counts as the opposite one
                above[i] = terms.columns.directed[rows[i]] ? above[i] : -1.0f;
        } else {
            std::fill(above, above + n, -1.0f);
        }
        distances_from_below(terms, bound, rows, n, above, distance);
    }
    for (std::size_t i = 0; i < n; ++i)
        depth[i] = scoring.depth_bias == 0 ? 0 : scoring.depth_bias * terms.columns.radius[rows[i]];
    if (scoring.time_coef == 0) {
        std::fill(time, time + n, 0.0);
    } else if (scoring.log_weights) {
        for (std::size_t i = 0; i < n; ++i) time[i] = scoring.time_coef * scoring.log_weights[first + i];
    } else {
        log_weights(terms, rows, n, time);
        for (std::size_t i = 0; i < n; ++i) time[i] = scoring.time_coef * time[i];
    }
    for (std::size_t i = 0; i < n; ++i) bonus[i] = scoring.bonus ? scoring.bonus[first + i] : 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double sum = ((depth[i] - distance[i]) + time[i]) + bonus[i];
        out[i] = round_up(std::isnan(sum) ? -std::numeric_limits<double>::infinity() : sum);
    }
}

// Of n candidates from the position `first` on; `rows` null: each is the row of its position.
POINCARE_INLINE void any_block(const Terms& terms, DistanceBound& bound, const std::int32_t* rows,
                               std::size_t first, std::size_t n, float* out) {
    if (rows)
        block_scores(terms, bound, ListedRows{rows}, first, n, out);
    else
        block_scores(terms, bound, ConsecutiveRows{first}, first, n, out);
}

using BlockScores = void (*)(const Terms&, DistanceBound&, const std::int32_t*, std::size_t, std::size_t,
                             float*);

void scores_baseline(const Terms& terms, DistanceBound& bound, const std::int32_t* rows, std::size_t first,
                     std::size_t n, float* out) {
    any_block(terms, bound, rows, first, n, out);
}
#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2 void scores_avx2(const Terms& terms, DistanceBound& bound, const std::int32_t* rows,
                               std::size_t first, std::size_t n, float* out) {
    any_block(terms, bound, rows, first, n, out);
}
POINCARE_AVX512 void scores_avx512(const Terms& terms, DistanceBound& bound, const std::int32_t* rows,
                                   std::size_t first, std::size_t n, float* out) {
    any_block(terms, bound, rows, first, n, out);
}
#endif

BlockScores of_this_level() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return scores_avx512;
    if (simd_level() == SimdLevel::avx2) return scores_avx2;
#endif
    return scores_baseline;
}

}  // namespace

OptimisticScores::OptimisticScores(const ScanColumns& columns, const ScanQuery& query,
                                   const ScanScoring& scoring, const ScanCandidates& candidates)
    : columns_(columns),
      query_(query),
      scoring_(scoring),
      candidates_(candidates),
      coded_(query.direction, query.direction && query.metric != ScanMetric::none ? columns.dim : 0) {}

void OptimisticScores::operator()(std::size_t begin, std::size_t end, float* out) const {
    const BlockScores block_scores_of = of_this_level();
    const Terms terms{columns_, query_, scoring_, coded_.codes.empty() ? nullptr : &coded_};
    DistanceBound bound(log_from_below(), scoring_.sqrt_c * query_.radius, scoring_.sqrt_c, 0);
    for (std::size_t block = begin; block < end; block += kCodeBlock) {
        const std::int32_t* rows = candidates_.rows ? candidates_.rows + block : nullptr;
        block_scores_of(terms, bound, rows, block, std::min(kCodeBlock, end - block), out + block);
    }
}

}  // namespace poincare
