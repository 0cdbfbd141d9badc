#include "batch_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "cpu.hpp"
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
    double largest = 0;          // term of a score but for its distance
    std::vector<float> near;     // q = near − slope · product of a product that may be off by its error
    std::vector<float> nearest;  // and of one that is never too small
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
    surface.nearest.resize(count);
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
        const double lost = columns.coded.codes ? static_cast<double>(columns.coded.error[row]) : 0;
        const double error = queries.error * (1 + lost) + lost;
        surface.nearest[i] = static_cast<float>(gap * gap + across * (1 - kRoundings - 4e-9));
        surface.near[i] = static_cast<float>(gap * gap + across * (1 - error - kRoundings - 4e-9));
        surface.slope[i] = static_cast<float>(across);
        surface.factor[i] = static_cast<float>(std::max(kLeastBound, std::exp(half * (terms[i] - top))));
    }
    return true;
}

float bound_of(const Surface& surface, float near, float product, std::size_t candidate) {
    const float q = std::max(near - surface.slope[candidate] * product, 0.0f);
    return surface.factor[candidate] / (std::sqrt(q) + std::sqrt(q + 1));
}

// Whether candidates reach a query's cut, without a root or a quotient for each: with y = factor / cut,
//
//   factor / (√q + √(q + 1)) ≥ cut  ⟺  y ≥ 1 and 4 y² q ≤ (y² − 1)²
//
// kUpwards covers the float32 roundings of both sides (a dozen of 2⁻²⁴), also where y² − 1 cancels. What
// overflows counts as within reach.
constexpr float kUpwards = 1 + 0x1p-19f;
constexpr std::size_t kQueriesAtOnce = 64;
constexpr std::size_t kCandidatesAtOnce = 64;

struct Block {
    const Surface& surface;
    std::size_t first, count;  // candidates
    const float* products;     // of candidate `first` and the first query
    std::size_t stride;        // from one candidate to the next
    std::size_t queries;
    const float* inverse;  // 1 / cut of each query
    std::int32_t* within;  // kQueriesAtOnce a candidate: 1 or 0
    std::int32_t* any;     // of each candidate: whether it is within reach of one of them
};

POINCARE_INLINE void any_within_reach(const Block& block) {
    for (std::size_t i = 0; i < block.count; ++i) {
        const float near = block.surface.near[block.first + i];
        const float slope = block.surface.slope[block.first + i];
        const float factor = block.surface.factor[block.first + i];
        const float* products = block.products + i * block.stride;
        const float* inverse = block.inverse;
        std::int32_t* within = block.within + i * kQueriesAtOnce;
        std::int32_t any = 0;
        for (std::size_t j = 0; j < block.queries; ++j) {
            const float difference = near - slope * products[j];
            const float q = difference > 0 ? difference : 0;
            const float y = factor * inverse[j];
            const float square = y * y * kUpwards;
            const float rise = square - 1;
            const std::int32_t reaches = rise >= 0 ? 1 : 0;
            const std::int32_t excluded = 4 * square * q > rise * rise * kUpwards ? 1 : 0;
            within[j] = reaches & (1 - excluded);
            any |= within[j];
        }
        block.any[i] = any;
    }
}

void within_reach_baseline(const Block& block) {
    any_within_reach(block);
}
#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2 void within_reach_avx2(const Block& block) {
    any_within_reach(block);
}
POINCARE_AVX512 void within_reach_avx512(const Block& block) {
    any_within_reach(block);
}
#endif

using WithinReach = void (*)(const Block&);
WithinReach within_reach() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return within_reach_avx512;
    if (simd_level() == SimdLevel::avx2) return within_reach_avx2;
#endif
    return within_reach_baseline;
}

// Up to kQueriesAtOnce queries that look at the same candidates.
class Together {
  public:
    Together(const Surface& surface, const BatchQueries& queries, std::size_t first, std::size_t count,
             std::size_t candidates)
        : surface_(surface), queries_(queries), first_(first), count_(count), candidates_(candidates) {
        std::fill(inverse_, inverse_ + kQueriesAtOnce, std::numeric_limits<float>::infinity());
    }

    // From now on, only what is at least `cut` counts for a query.
    void cut(std::size_t query, float cut) { inverse_[query] = 1 / cut; }

    float bound(std::size_t query, std::size_t candidate) const {
        const float product = queries_.products[candidate * queries_.count + first_ + query];
        return bound_of(surface_, surface_.near[candidate], product, candidate);
    }

    // Calls visit(query, candidate) for what is within reach, and for what is a little farther; candidates in
    // order.
    template <typename Visit>
    void visit(Visit&& visit) {
        const WithinReach test = within_reach();
        alignas(64) std::int32_t within[kCandidatesAtOnce * kQueriesAtOnce];
        std::int32_t any[kCandidatesAtOnce];
        for (std::size_t start = 0; start < candidates_; start += kCandidatesAtOnce) {
            const std::size_t here = std::min(kCandidatesAtOnce, candidates_ - start);
            test({surface_, start, here, queries_.products + start * queries_.count + first_, queries_.count,
                  count_, inverse_, within, any});
            for (std::size_t i = 0; i < here; ++i) {
                if (any[i] == 0) continue;
                for (std::size_t j = 0; j < count_; ++j)
                    if (within[i * kQueriesAtOnce + j]) visit(j, start + i);
            }
        }
    }

  private:
    const Surface& surface_;
    const BatchQueries& queries_;
    std::size_t first_, count_, candidates_;
    float inverse_[kQueriesAtOnce];
};

// The k candidates with the largest bounds, of each query.
class MostPromising {
  public:
    explicit MostPromising(std::size_t k) : k_(k), room_(2 * k + 32) { best_.reserve(room_); }

    // True where the cut has risen.
    bool offer(float bound, std::size_t candidate) {
        if (bound < cut_) return false;
        best_.push_back({bound, candidate});
        return best_.size() == room_ && keep_k();
    }
    float cut() const { return cut_; }

    std::vector<std::size_t> best() {
        keep_k();
        std::vector<std::size_t> positions;
        for (const Bound& one : best_) positions.push_back(one.candidate);
        return positions;
    }

  private:
    struct Bound {
        float value;
        std::size_t candidate;
    };

    bool keep_k() {
        if (best_.size() <= k_) return false;
        const auto ahead = [](const Bound& a, const Bound& b) {
            return a.value != b.value ? a.value > b.value : a.candidate < b.candidate;
        };
        std::nth_element(best_.begin(), best_.begin() + static_cast<std::ptrdiff_t>(k_) - 1, best_.end(),
                         ahead);
        best_.resize(k_);
        cut_ = std::nextafter(best_.back().value, std::numeric_limits<float>::infinity());
        return true;
    }

    std::size_t k_, room_;
    float cut_ = 0;  // a later candidate has to reach it
    std::vector<Bound> best_;
};

// Candidates of one query that were scored exactly.
class Chosen {
  public:
    Chosen(const Surface& surface, const ScanColumns& columns, const ScanQuery& query,
           const ScanScoring& scoring, const ScanCandidates& candidates)
        : surface_(surface), columns_(columns), query_(query), scoring_(scoring), candidates_(candidates) {}

    void score_all(std::vector<std::size_t> positions) {
        const Scorer scorer(columns_, query_, scoring_, candidates_);
        const std::size_t before = scored_.size();
        for (const std::size_t position : positions) scored_.push_back(unscored(position));
        rescore(scorer, columns_.dim, scored_.data() + before, positions.size(), 1);
        known_.insert(known_.end(), positions.begin(), positions.end());
        std::sort(known_.begin(), known_.end());
    }

    // The k-th best score so far: a candidate that cannot reach it is not among the k best.
    double reach(std::size_t k) const {
        std::vector<double> scores;
        for (const ScanHit& hit : scored_) scores.push_back(hit.score);
        const auto kth = scores.begin() + static_cast<std::ptrdiff_t>(k) - 1;
        std::nth_element(scores.begin(), kth, scores.end(), std::greater<double>());
        return *kth;
    }

    // Of these, those that may be among the k best. First the k most promising: they shorten the rest.
    template <typename InBounds>
    void score_within_reach(std::vector<std::size_t> positions, std::size_t k, InBounds&& in_bounds) {
        const auto scored = [&](std::size_t position) {
            return std::binary_search(known_.begin(), known_.end(), position);
        };
        positions.erase(std::remove_if(positions.begin(), positions.end(), scored), positions.end());
        if (!columns_.coded.codes || positions.size() < kScreened) return score_all(positions);
        const std::vector<float> bounds = bounds_of(positions);
        std::vector<std::size_t> order(positions.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const std::size_t some = std::min(k, order.size());
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(some), order.end(),
                          [&](std::size_t a, std::size_t b) { return bounds[a] > bounds[b]; });
        for (const auto& [begin, end] : {std::pair{std::size_t{0}, some}, std::pair{some, order.size()}}) {
            const float least = in_bounds(reach(k));
            std::vector<std::size_t> near;
            for (std::size_t i = begin; i < end; ++i)
                if (bounds[order[i]] >= least) near.push_back(positions[order[i]]);
            score_all(near);
        }
    }

    std::size_t take_best(std::size_t k, ScanHit* hits) {
        const Scorer scorer(columns_, query_, scoring_, candidates_);
        return poincare::take_best(scorer, std::move(scored_), k, hits);
    }

  private:
    static constexpr std::size_t kScreened = 16;  // fewer are scored at once

    // From the query in sixteen bits: narrower than those of eight.
    std::vector<float> bounds_of(const std::vector<std::size_t>& positions) const {
        const CodedQuery coded(query_.direction, columns_.dim);
        std::vector<float> bounds;
        std::int32_t rows[kCodeBlock];
        float above[kCodeBlock];
        for (std::size_t start = 0; start < positions.size(); start += kCodeBlock) {
            const std::size_t here = std::min(kCodeBlock, positions.size() - start);
            for (std::size_t i = 0; i < here; ++i) {
                const std::size_t position = positions[start + i];
                rows[i] = candidates_.rows ? candidates_.rows[position] : static_cast<std::int32_t>(position);
            }
            products_from_above(columns_.coded, coded, rows, 0, here, above);
            for (std::size_t i = 0; i < here; ++i) {
                const std::size_t position = positions[start + i];
                const float product = columns_.directed[rows[i]] ? above[i] : -1.0f;
                bounds.push_back(bound_of(surface_, surface_.nearest[position], product, position));
            }
        }
        return bounds;
    }

    const Surface& surface_;
    const ScanColumns& columns_;
    ScanQuery query_;
    const ScanScoring& scoring_;
    const ScanCandidates& candidates_;
    std::vector<ScanHit> scored_;
    std::vector<std::size_t> known_;  // their positions, ascending
};

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
    // The bound that stands for a score, rounded down.
    const auto in_bounds = [&](double score) {
        // Rounding of an exact score is absolute: 1e-15 of its largest term.
        const double slack = 1e-5 + 1e-15 * scoring.sqrt_c * surface.largest;
        const double lowered =
            std::exp(scoring.sqrt_c / 2 * (score - surface.top)) * (1 - std::min(1.0, slack));
        return rounded_down(lowered < kLeastBound ? 0 : lowered);
    };
    // Every candidate that may be among the k best of each query, exactly scored (see all_within_reach).
    const auto within_reach_of = [&](std::size_t first, std::size_t many) {
        Together together(surface, queries, first, many, count);
        std::vector<MostPromising> promising(many, MostPromising(k));
        together.visit([&](std::size_t j, std::size_t candidate) {
            if (promising[j].offer(together.bound(j, candidate), candidate))
                together.cut(j, promising[j].cut());
        });
        std::vector<Chosen> chosen;
        chosen.reserve(many);
        for (std::size_t j = 0; j < many; ++j) {
            chosen.emplace_back(surface, columns, query_of(first + j), scoring, candidates);
            chosen[j].score_all(promising[j].best());
            together.cut(j, in_bounds(chosen[j].reach(k)));
        }
        std::vector<std::vector<std::size_t>> more(many);
        together.visit([&](std::size_t j, std::size_t candidate) { more[j].push_back(candidate); });
        for (std::size_t j = 0; j < many; ++j) {
            chosen[j].score_within_reach(more[j], k, in_bounds);
            found[first + j] = chosen[j].take_best(k, hits + (first + j) * k);
        }
    };
    const auto all_of = [&](std::size_t number) {
        const ScanQuery query = query_of(number);
        const Scorer scorer(columns, query, scoring, candidates);
        std::vector<ScanHit> scored = every_passing(scorer, count);
        rescore(scorer, columns.dim, scored.data(), scored.size(), 1);
        found[number] = take_best(scorer, std::move(scored), k, hits + number * k);
    };
    interruptible_ranges(queries.count, threads_for(threads, queries.count * count, kGrain),
                         pruned ? kQueriesAtOnce : 1, [&](std::size_t begin, std::size_t end) {
                             if (pruned)
                                 within_reach_of(begin, end - begin);
                             else
                                 for (std::size_t number = begin; number < end; ++number) all_of(number);
                         });
    return true;
}

}  // namespace poincare
