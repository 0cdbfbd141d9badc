#include "batch_surface.hpp"

#include <memory>
#include <mutex>

#include "threads.hpp"

namespace poincare {
namespace {

constexpr double kLargestRadii = 80;     // of query and candidate together, times √c: float32 holds q then
constexpr double kLargestTerm = 1e12;    // a term of the score beyond it: scan
constexpr double kRoundings = 0x1p-20;   // of a dozen operations in float32, several times over
constexpr std::size_t kGrain = 1 << 14;  // candidates a thread at least

// What a score adds up from but for its distance.
struct Terms {
    std::unique_ptr<double[]> of;  // each candidate
    double top = -2 * kLargestTerm;
    double largest = 0;  // of any single term
    bool narrow = true;  // enough for float32
};

Terms terms_of(const ScanColumns& columns, const Scorer& scorer, const ScanScoring& scoring, double R,
               std::size_t count, int threads) {
    Terms terms;
    terms.of.reset(new double[count]);  // not filled: threads touch the pages of their own candidates first
    std::mutex guard;
    parallel_ranges(count, threads, [&](std::size_t begin, std::size_t end) {
        double top = -2 * kLargestTerm, largest = 0;
        bool narrow = true;
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t row = scorer.row(i);
            terms.of[i] = scorer.score(0, i, row);
            const double depth = std::fabs(scoring.depth_bias * columns.radius[row]);
            largest = std::max(largest, depth);
            narrow &= depth <= kLargestTerm && R + scorer.measured_radius(row) <= kLargestRadii;
            top = std::max(top, terms.of[i]);
        }
        const std::lock_guard<std::mutex> hold(guard);
        terms.top = std::max(terms.top, top);
        terms.largest = std::max(terms.largest, largest);
        terms.narrow &= narrow;
    });
    terms.largest += std::fabs(scoring.time_coef * kLogMinWeight);
    terms.narrow &= terms.largest <= kLargestTerm;
    return terms;
}

}  // namespace

bool prepare(Surface& surface, const ScanColumns& columns, const Scorer& scorer, const ScanScoring& scoring,
             double query_radius, double query_error, std::size_t count, int threads) {
    const double R = scoring.sqrt_c * query_radius, half = scoring.sqrt_c / 2;
    const int in_use = threads_for(threads, count, kGrain);
    const Terms terms = terms_of(columns, scorer, scoring, R, count, in_use);
    if (!terms.narrow) return false;
    // Rounding of an exact score is absolute: 1e-15 of its largest term. That of a bound in float32 is
    // relative.
    surface.slack = std::min(1.0, 1e-5 + 1e-15 * scoring.sqrt_c * terms.largest);
    surface.top = terms.top;
    surface.half = half;
    for (auto* column : {&surface.near, &surface.nearest, &surface.slope, &surface.factor})
        column->reset(new float[count]);
    parallel_ranges(count, in_use, [&](std::size_t begin, std::size_t end) {
        double known = -1, gap = 0, across = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t row = scorer.row(i);
            const double S = scorer.measured_radius(row);
            if (S != known) {  // few radii are distinct, and neighbours tend to share theirs
                gap = std::sinh((R - S) / 2);
                across = std::sinh(R) * std::sinh(S) / 2;
                known = S;
            }
            // |u − v|² ≥ 2 − 4e-9 − 2⟨u, v⟩ for norms within 1e-9 of 1.
            const double lost = static_cast<double>(columns.coded.error[row]);
            const double error = query_error * (1 + lost) + lost;
            surface.nearest[i] = static_cast<float>(gap * gap + across * (1 - kRoundings - 4e-9));
            surface.near[i] = static_cast<float>(gap * gap + across * (1 - error - kRoundings - 4e-9));
            surface.slope[i] = static_cast<float>(across);
            surface.factor[i] =
                static_cast<float>(std::max(kLeastBound, std::exp(half * (terms.of[i] - surface.top))));
        }
    });
    return true;
}

}  // namespace poincare
