#include "batch_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "batch_surface.hpp"
#include "cpu.hpp"
#include "interrupt.hpp"
#include "products.hpp"
#include "scorer.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = 1 << 25;     // multiplications a thread at least
constexpr std::size_t kProducts = 1 << 16;  // at a time: they stay in the second-level cache

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

// Those who may be among the k best of one query, as candidates come by.
//
// k of them have the score that their lower bound stands for, or more: who cannot reach the k-th best lower
// bound is not among the k best, not even by a tie.
class Contenders {
  public:
    explicit Contenders(std::size_t k) : k_(k), room_(2 * k + 32) { lower_.reserve(room_); }

    float cut() const { return cut_; }

    void offer(float upper, float lower, std::size_t candidate) {
        if (upper < cut_) return;
        left_.push_back({upper, candidate});
        if (lower <= cut_) return;
        lower_.push_back(lower);
        if (lower_.size() == room_) raise_cut();
    }

    void drop_beaten() {
        if (left_.size() < 2 * kept_) return;
        left_.erase(
            std::remove_if(left_.begin(), left_.end(), [this](const Bound& one) { return one.value < cut_; }),
            left_.end());
        kept_ = std::max(left_.size(), room_);
    }

    void join(const Contenders& others) {
        left_.insert(left_.end(), others.left_.begin(), others.left_.end());
        lower_.insert(lower_.end(), others.lower_.begin(), others.lower_.end());
    }

    // The k most promising.
    std::vector<std::size_t> best() {
        raise_cut();
        kept_ = 0;
        drop_beaten();
        std::partial_sort(left_.begin(), left_.begin() + best_count(), left_.end(),
                          [](const Bound& a, const Bound& b) {
                              return a.value != b.value ? a.value > b.value : a.candidate < b.candidate;
                          });
        std::vector<std::size_t> candidates;
        for (auto one = left_.begin(); one != left_.begin() + best_count(); ++one)
            candidates.push_back(one->candidate);
        return candidates;
    }

    // Of the rest, those whose bound reaches `cut`; after `best`.
    std::vector<std::size_t> others(float cut) const {
        std::vector<std::size_t> candidates;
        for (auto one = left_.begin() + best_count(); one != left_.end(); ++one)
            if (one->value >= cut) candidates.push_back(one->candidate);
        return candidates;
    }

  private:
    struct Bound {
        float value;
        std::size_t candidate;
    };

    std::ptrdiff_t best_count() const { return static_cast<std::ptrdiff_t>(std::min(k_, left_.size())); }

    void raise_cut() {
        if (lower_.size() < k_) return;
        std::nth_element(lower_.begin(), lower_.begin() + static_cast<std::ptrdiff_t>(k_) - 1, lower_.end(),
                         std::greater<float>());
        lower_.resize(k_);
        cut_ = std::max(cut_, lower_.back());
    }

    std::size_t k_, room_;
    std::size_t kept_ = room_;  // of the last time that some were dropped
    float cut_ = 0;             // what a later candidate has to reach
    std::vector<float> lower_;  // the largest lower bounds: k, and those since
    std::vector<Bound> left_;
};

// The pass of one thread over its candidates.
class Pass {
  public:
    Pass(const Surface& surface, const ScanColumns& columns, const ScanCandidates& candidates,
         const QueryPanels& panels, std::size_t k)
        : contenders(panels.count(), Contenders(k)),
          surface_(surface),
          columns_(columns),
          candidates_(candidates),
          panels_(panels),
          inverse_(panels.count(), std::numeric_limits<float>::infinity()),
          test_(within_reach()) {}

    std::vector<Contenders> contenders;  // of each query

    void operator()(std::size_t begin, std::size_t end) {
        const std::size_t queries = panels_.count();
        products_.resize((end - begin) * queries);
        panels_.multiply(columns_.coded, candidates_.rows, begin, end - begin, products_.data());
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t row = candidates_.rows ? static_cast<std::size_t>(candidates_.rows[i]) : i;
            if (!columns_.directed[row])  // no direction counts as the opposite one
                std::fill_n(products_.begin() + static_cast<std::ptrdiff_t>((i - begin) * queries), queries,
                            -1.0f);
        }
        for (std::size_t first = 0; first < queries; first += kQueriesAtOnce)
            for (std::size_t start = begin; start < end; start += kCandidatesAtOnce)
                meet(first, std::min(kQueriesAtOnce, queries - first), start,
                     std::min(kCandidatesAtOnce, end - start),
                     products_.data() + (start - begin) * queries + first);
        for (Contenders& one : contenders) one.drop_beaten();
    }

  private:
    // `products` of the first candidate and the first query.
    void meet(std::size_t query, std::size_t queries, std::size_t candidate, std::size_t count,
              const float* products) {
        const std::size_t stride = panels_.count();
        test_(
            {surface_, candidate, count, products, stride, queries, inverse_.data() + query, within_, any_});
        for (std::size_t i = 0; i < count; ++i) {
            if (any_[i] == 0) continue;
            for (std::size_t j = 0; j < queries; ++j)
                if (within_[i * kQueriesAtOnce + j])
                    offer(query + j, candidate + i, products[i * stride + j]);
        }
    }

    void offer(std::size_t query, std::size_t candidate, float product) {
        const float upper = bound_of(surface_, surface_.near[candidate], product, candidate);
        const float lower = bound_of(surface_, surface_.far[candidate], product, candidate) *
                            static_cast<float>(1 - std::min(1.0, 2 * surface_.slack));
        contenders[query].offer(upper, lower < static_cast<float>(kLeastBound) ? 0 : lower, candidate);
        inverse_[query] = 1 / contenders[query].cut();
    }

    const Surface& surface_;
    const ScanColumns& columns_;
    const ScanCandidates& candidates_;
    const QueryPanels& panels_;
    std::vector<float> inverse_;  // 1 / cut of each query
    std::vector<float> products_;
    WithinReach test_;
    alignas(64) std::int32_t within_[kCandidatesAtOnce * kQueriesAtOnce];
    std::int32_t any_[kCandidatesAtOnce];
};

// Of every query.
std::vector<Contenders> contenders_of(const Surface& surface, const ScanColumns& columns,
                                      const ScanCandidates& candidates, const QueryPanels& panels,
                                      std::size_t k, int threads) {
    const std::size_t queries = panels.count();
    const std::size_t block = std::max(kCandidatesAtOnce, kProducts / queries);
    std::vector<Contenders> all(queries, Contenders(k));
    std::mutex guard;
    InterruptPoll poll;
    parallel_ranges(candidates.count, threads_for(threads, candidates.count * queries * columns.dim, kGrain),
                    [&](std::size_t begin, std::size_t end) {
                        Pass pass(surface, columns, candidates, panels, k);
                        for (std::size_t start = begin; start < end; start += block) {
                            poll();
                            pass(start, std::min(end, start + block));
                        }
                        const std::lock_guard<std::mutex> hold(guard);
                        for (std::size_t j = 0; j < queries; ++j) all[j].join(pass.contenders[j]);
                    });
    return all;
}

// Candidates of one query that were scored exactly.
class Chosen {
  public:
    Chosen(const Surface& surface, const ScanColumns& columns, const ScanQuery& query,
           const ScanScoring& scoring, const ScanCandidates& candidates)
        : surface_(surface), columns_(columns), query_(query), scoring_(scoring), candidates_(candidates) {}

    void score_all(const std::vector<std::size_t>& positions) {
        const Scorer scorer(columns_, query_, scoring_, candidates_);
        const std::size_t before = scored_.size();
        for (const std::size_t position : positions) scored_.push_back(unscored(position));
        rescore(scorer, columns_.dim, scored_.data() + before, positions.size(), 1);
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
    void score_within_reach(const std::vector<std::size_t>& positions, std::size_t k, InBounds&& in_bounds) {
        if (positions.size() < kScreened) return score_all(positions);
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
};

}  // namespace

bool scan_batch(const ScanColumns& columns, const BatchQueries& queries, const ScanScoring& scoring,
                const ScanCandidates& candidates, std::size_t k, ScanHit* hits, std::size_t* found,
                int threads) {
    const std::size_t count = candidates.count;
    const auto query_of = [&](std::size_t number) {
        return ScanQuery{queries.metric, queries.directions + number * columns.dim, queries.radius};
    };
    if (k >= count / 4) {  // pruning would not pay
        interruptible_ranges(queries.count, threads_for(threads, queries.count * count * columns.dim, kGrain),
                             1, [&](std::size_t number, std::size_t) {
                                 const ScanQuery query = query_of(number);
                                 const Scorer scorer(columns, query, scoring, candidates);
                                 std::vector<ScanHit> scored = every_passing(scorer, count);
                                 rescore(scorer, columns.dim, scored.data(), scored.size(), 1);
                                 found[number] = take_best(scorer, std::move(scored), k, hits + number * k);
                             });
        return true;
    }
    const QueryPanels panels(queries.directions, queries.count, columns.dim);
    const ScanQuery any = query_of(0);
    Surface surface;
    if (!prepare(surface, columns, Scorer(columns, any, scoring, candidates), scoring, queries.radius,
                 panels.error(), count, threads))
        return false;
    // The bound that stands for a score, rounded down.
    const auto in_bounds = [&](double score) {
        const double lowered = std::exp(scoring.sqrt_c / 2 * (score - surface.top)) * (1 - surface.slack);
        return rounded_down(lowered < kLeastBound ? 0 : lowered);
    };
    std::vector<Contenders> contenders = contenders_of(surface, columns, candidates, panels, k, threads);
    const auto answer = [&](std::size_t number, std::size_t) {
        Chosen chosen(surface, columns, query_of(number), scoring, candidates);
        chosen.score_all(contenders[number].best());
        chosen.score_within_reach(contenders[number].others(in_bounds(chosen.reach(k))), k, in_bounds);
        found[number] = chosen.take_best(k, hits + number * k);
    };
    interruptible_ranges(queries.count, threads_for(threads, queries.count * k * columns.dim, kRescoreGrain),
                         1, answer);
    return true;
}

}  // namespace poincare
