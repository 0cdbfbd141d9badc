#include "batch_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "interrupt.hpp"
#include "scorer.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr double kLargestRadii = 80;     // of query and candidate together, times √c: float32 holds q then
constexpr double kLargestTerm = 1e12;    // a term of the score beyond it: scan
constexpr double kLeastBound = 1e-30;    // float32 holds bounds as small as this with all their bits
constexpr double kRoundings = 0x1p-20;   // of a dozen operations in float32, several times over
constexpr std::size_t kGrain = 1 << 19;  // products a thread at least

// What bounds the scores of every query: with q at most its true value,
//
//   score ≤ top + (2/√c) ln [ factor / (√q + √(q + 1)) ],   factor = exp(√c/2 · (terms − top)) ≤ 1
//
// since d = (2/√c) ln(√q + √(q + 1)). The bracket grows with the score, so it serves as the bound itself:
// no logarithm is taken for a candidate.
struct Surface {
    double top = 0;
    double largest = 0;       // term of a score but for its distance
    std::vector<float> near;  // q = near − slope · ⟨u, v⟩
    std::vector<float> slope;
    std::vector<float> factor;
};

// False where float32 is too narrow.
bool prepare(Surface& surface, const ScanColumns& columns, const Scorer& scorer, const ScanScoring& scoring,
             const BatchQueries& queries, std::size_t count) {
    const double R = scoring.sqrt_c * queries.radius;
    std::vector<double> terms(count);
    double top = -2 * kLargestTerm, largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = scorer.row(i);
        terms[i] = scorer.score(0, i, row);
        const double depth = std::fabs(scoring.depth_bias * columns.radius[row]);
        largest = std::max(largest, depth);
        if (!(depth <= kLargestTerm) || R + scorer.measured_radius(row) > kLargestRadii) return false;
        top = std::max(top, terms[i]);
    }
    largest += std::fabs(scoring.time_coef * kLogMinWeight);
    if (!(largest <= kLargestTerm)) return false;
    surface.largest = largest;
    surface.top = top;
    surface.near.resize(count);
    surface.slope.resize(count);
    surface.factor.resize(count);
    const double half = scoring.sqrt_c / 2;
    double known = -1, gap = 0, across = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = scorer.row(i);
        const double S = scorer.measured_radius(row);
        if (S != known) {  // few radii are distinct, and neighbours tend to share theirs
            gap = std::sinh((R - S) / 2);
            across = std::sinh(R) * std::sinh(S) / 2;
            known = S;
        }
        // |u − v|² ≥ 2 − 4e-9 − 2⟨u, v⟩ for norms within 1e-9 of 1.
        const double lost = queries.row_error ? static_cast<double>(queries.row_error[row]) : 0;
        const double error = queries.error * (1 + lost) + lost;
        surface.near[i] = static_cast<float>(gap * gap + across * (1 - error - kRoundings - 4e-9));
        surface.slope[i] = static_cast<float>(across);
        surface.factor[i] = static_cast<float>(std::max(kLeastBound, std::exp(half * (terms[i] - top))));
    }
    return true;
}

// products -> bounds
void bound(const Surface& surface, std::size_t count, float* products) {
    const float* near = surface.near.data();
    const float* slope = surface.slope.data();
    const float* factor = surface.factor.data();
    for (std::size_t i = 0; i < count; ++i) {
        const float q = std::max(near[i] - slope[i] * products[i], 0.0f);
        products[i] = factor[i] / (std::sqrt(q) + std::sqrt(q + 1.0f));
    }
}

}  // namespace

bool scan_batch(const ScanColumns& columns, const BatchQueries& queries, const ScanScoring& scoring,
                const ScanCandidates& candidates, std::size_t k, ScanHit* hits, std::size_t* found,
                int threads) {
    const std::size_t count = candidates.count;
    const auto query_of = [&](std::size_t number) {
        return ScanQuery{queries.metric, queries.directions + number * columns.dim, queries.radius};
    };
    Surface surface;
    const bool pruned = k < count / 4;
    if (pruned) {
        const ScanQuery any = query_of(0);
        const Scorer scorer(columns, any, scoring, candidates);
        if (!prepare(surface, columns, scorer, scoring, queries, count)) return false;
    }
    const auto in_bounds = [&](double score) {
        // Rounding of an exact score is absolute: 1e-15 of its largest term.
        const double slack = 1e-5 + 1e-15 * scoring.sqrt_c * surface.largest;
        const double lowered =
            std::exp(scoring.sqrt_c / 2 * (score - surface.top)) * (1 - std::min(1.0, slack));
        return lowered < kLeastBound ? 0 : lowered;
    };
    const auto answer = [&](std::size_t begin, std::size_t end) {
        for (std::size_t number = begin; number < end; ++number) {
            const ScanQuery query = query_of(number);
            const Scorer scorer(columns, query, scoring, candidates);
            std::vector<ScanHit> scored;
            if (pruned) {
                float* bounds = queries.products + number * count;
                bound(surface, count, bounds);
                scored = all_within_reach(scorer, columns.dim, bounds, count,
                                          most_promising(bounds, count, k), 1, in_bounds);
            } else {
                scored = every_passing(scorer, count);
                rescore(scorer, columns.dim, scored.data(), scored.size(), 1);
            }
            found[number] = take_best(scorer, std::move(scored), k, hits + number * k);
        }
    };
    interruptible_ranges(queries.count, threads_for(threads, queries.count * count, kGrain), 1, answer);
    return true;
}

}  // namespace poincare
