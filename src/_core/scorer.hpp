// What every search scan shares: exact scores of candidates, and bounds that tell which need one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "distance_bound.hpp"
#include "polar.hpp"
#include "rows.hpp"
#include "scan.hpp"
#include "threads.hpp"

namespace poincare {

constexpr float kLowest = std::numeric_limits<float>::lowest();  // below every bound
constexpr double kLeast = -1e38;                // stands for every lower optimistic score, −inf among them
constexpr std::size_t kRescoreGrain = 1 << 17;  // doubles a thread at least

inline const LogFromBelow& log_from_below() {
    static const LogFromBelow table;
    return table;
}

// Everything about one call that a row needs.
class Scorer {
  public:
    Scorer(const ScanColumns& columns, const ScanQuery& query, const ScanScoring& scoring,
           const ScanCandidates& candidates)
        : columns_(columns),
          query_(query),
          scoring_(scoring),
          candidates_(candidates),
          distance_from_query_(scoring.sqrt_c * query.radius) {}

    std::size_t row(std::size_t position) const {
        return candidates_.rows ? static_cast<std::size_t>(candidates_.rows[position]) : position;
    }
    const double* direction(std::size_t position) const {
        return columns_.direction + row(position) * columns_.dim;
    }
    bool has_chord(std::size_t row) const { return query_.direction && columns_.directed[row]; }

    // √c times the radius at which the row is measured
    double measured_radius(std::size_t row) const {
        return scoring_.sqrt_c * (query_.metric == ScanMetric::shell ? query_.radius : columns_.radius[row]);
    }

    double log_weight(std::size_t position, std::size_t row) const {
        if (scoring_.log_weights) return scoring_.log_weights[position];
        return poincare::log_weight(scoring_.factors, scoring_.factor_count, scoring_.now,
                                    columns_.time.t[row], columns_.time.access_count[row],
                                    columns_.time.valid_from[row], columns_.time.valid_until[row]);
    }

    double weight(std::size_t position, std::size_t row) const {
        if (scoring_.log_weights) return std::exp(scoring_.log_weights[position]);
        return poincare::weight(scoring_.factors, scoring_.factor_count, scoring_.now, columns_.time.t[row],
                                columns_.time.access_count[row], columns_.time.valid_from[row],
                                columns_.time.valid_until[row]);
    }

    // Rounded sums grow with each of their terms, so a smaller distance never gives a smaller score.
    double score(double distance, std::size_t position, std::size_t row) const {
        const double by_depth = scoring_.depth_bias == 0 ? 0 : scoring_.depth_bias * columns_.radius[row];
        const double by_time = scoring_.time_coef == 0 ? 0 : scoring_.time_coef * log_weight(position, row);
        const double bonus = scoring_.bonus ? scoring_.bonus[position] : 0;
        const double sum = ((by_depth - distance) + by_time) + bonus;
        return std::isnan(sum) ? -std::numeric_limits<double>::infinity() : sum;
    }

    // float64 truth
    double distance(std::size_t row) const {
        if (query_.metric == ScanMetric::none) return 0;
        const double chord_squared =
            has_chord(row)
                ? squared_gap(query_.direction, columns_.direction + row * columns_.dim, columns_.dim)
                : DistanceBound::kOpposite;  // no direction counts as the opposite one
        return distance_from_query_(measured_radius(row), chord_squared) / scoring_.sqrt_c;
    }

  private:
    const ScanColumns& columns_;
    const ScanQuery& query_;
    const ScanScoring& scoring_;
    const ScanCandidates& candidates_;
    DistanceFromRadius distance_from_query_;
};

inline bool better(const ScanHit& a, const ScanHit& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.position < b.position;
}

// Rows lie all over the place: the next one is on its way while this one is computed.
inline void fetch_row(const double* row, std::size_t dim) {
#ifdef POINCARE_VECTOR_TYPES
    for (std::size_t i = 0; i < dim; i += 64 / sizeof(double)) __builtin_prefetch(row + i);
#else
    static_cast<void>(row);
    static_cast<void>(dim);
#endif
}

// Exact score and distance of the positions in `hits`.
inline void rescore(const Scorer& scorer, std::size_t dim, ScanHit* hits, std::size_t count, int threads) {
    parallel_ranges(count, threads_for(threads, count * (dim + 64), kRescoreGrain),
                    [&](std::size_t begin, std::size_t end) {
                        for (std::size_t i = begin; i < end; ++i) {
                            const std::size_t position = static_cast<std::size_t>(hits[i].position);
                            if (i + 1 < end)
                                fetch_row(scorer.direction(static_cast<std::size_t>(hits[i + 1].position)),
                                          dim);
                            const std::size_t row = scorer.row(position);
                            hits[i].distance = scorer.distance(row);
                            hits[i].score = scorer.score(hits[i].distance, position, row);
                        }
                    });
}

inline ScanHit unscored(std::size_t position) {
    return {static_cast<std::int64_t>(position), 0, 0, 0};
}

constexpr std::size_t kSkipped = 64;  // bounds that are passed over with one branch

// Calls visit(position) where bounds[position] is at least `least()`, which may grow meanwhile.
template <typename Least, typename Visit>
void visit_promising(const float* bounds, std::size_t count, Least&& least, Visit&& visit) {
    for (std::size_t begin = 0; begin < count; begin += kSkipped) {
        const std::size_t end = std::min(count, begin + kSkipped);
        const float cut = least();
        bool any = false;
        for (std::size_t position = begin; position < end; ++position) any |= bounds[position] >= cut;
        if (!any) continue;
        for (std::size_t position = begin; position < end; ++position)
            if (bounds[position] >= least()) visit(position);
    }
}

// The k positions with the largest optimistic scores, in ascending order of position.
inline std::vector<ScanHit> most_promising(const float* optimistic, std::size_t count, std::size_t k) {
    const auto ahead = [optimistic](const ScanHit& a, const ScanHit& b) {
        const float x = optimistic[a.position], y = optimistic[b.position];
        return x != y ? x > y : a.position < b.position;
    };
    const std::size_t room = std::min(count, 2 * k + 32);
    const std::ptrdiff_t wanted = static_cast<std::ptrdiff_t>(k);
    std::vector<ScanHit> best;
    best.reserve(room);
    float cut = kLowest;  // a later position has to reach it
    const auto keep_k = [&] {
        if (best.size() <= k) return;
        std::nth_element(best.begin(), best.begin() + (wanted - 1), best.end(), ahead);
        best.resize(k);
        cut = std::nextafter(optimistic[best.back().position], std::numeric_limits<float>::infinity());
    };
    visit_promising(
        optimistic, count, [&cut] { return cut; },
        [&](std::size_t position) {
            best.push_back(unscored(position));
            if (best.size() == room) keep_k();
        });
    keep_k();
    std::sort(best.begin(), best.end(),
              [](const ScanHit& a, const ScanHit& b) { return a.position < b.position; });
    return best;
}

inline float rounded_down(double x) {
    if (!(x > static_cast<double>(kLowest))) return kLowest;
    const float nearest =
        static_cast<float>(std::min(x, static_cast<double>(std::numeric_limits<float>::max())));
    return static_cast<double>(nearest) <= x
               ? nearest
               : std::nextafter(nearest, -std::numeric_limits<float>::infinity());
}

// Every position whose optimistic score reaches the k-th best exact score of `first`, exactly scored.
//
// Those k scores are real, so the k-th best of all candidates is at least the worst of them; a candidate
// whose optimistic score is less cannot be among the k best, not even by a tie.
//
// `in_bounds` tells which bound stands for a score, rounded down.
template <typename InBounds>
std::vector<ScanHit> all_within_reach(const Scorer& scorer, std::size_t dim, const float* optimistic,
                                      std::size_t count, std::vector<ScanHit> first, int threads,
                                      InBounds&& in_bounds) {
    rescore(scorer, dim, first.data(), first.size(), threads);
    double reach = std::numeric_limits<double>::infinity();
    for (const ScanHit& hit : first) reach = std::min(reach, hit.score);
    const float least = rounded_down(in_bounds(reach));
    std::vector<ScanHit> more;
    std::size_t next = 0;  // in `first`, which is sorted by position
    visit_promising(
        optimistic, count, [least] { return least; },
        [&](std::size_t position) {
            const std::int64_t wanted = static_cast<std::int64_t>(position);
            while (next < first.size() && first[next].position < wanted) ++next;
            if (next == first.size() || first[next].position != wanted) more.push_back(unscored(position));
        });
    rescore(scorer, dim, more.data(), more.size(), threads);
    first.insert(first.end(), more.begin(), more.end());
    return first;
}

inline std::vector<ScanHit> every_one(std::size_t count) {
    std::vector<ScanHit> hits(count);
    for (std::size_t position = 0; position < count; ++position) hits[position] = unscored(position);
    return hits;
}

// The k best of those that are scored, into `hits`; returns how many there are.
inline std::size_t take_best(const Scorer& scorer, std::vector<ScanHit> scored, std::size_t k,
                             ScanHit* hits) {
    const std::size_t found = std::min(k, scored.size());
    std::partial_sort(scored.begin(), scored.begin() + static_cast<std::ptrdiff_t>(found), scored.end(),
                      better);
    for (std::size_t i = 0; i < found; ++i) {
        hits[i] = scored[i];
        const std::size_t position = static_cast<std::size_t>(hits[i].position);
        hits[i].weight = scorer.weight(position, scorer.row(position));
    }
    return found;
}

}  // namespace poincare
