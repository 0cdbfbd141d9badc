#include "batch_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "batch_reach.hpp"
#include "batch_surface.hpp"
#include "interrupt.hpp"
#include "products.hpp"
#include "scorer.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = 1 << 25;     // multiplications a thread at least
constexpr std::size_t kProducts = 1 << 17;  // at a time: they stay in the second-level cache
constexpr std::size_t kWaiting = 32;        // candidates that wait before they are looked at more closely
constexpr std::size_t kPromising = 64;      // beside 2 k: so many are left before some are scored

// One query of a batch.
struct Asked {
    ScanQuery query;
    CodedQuery coded;
};

// What a pass works on.
struct Batch {
    const Surface& surface;
    const ScanColumns& columns;
    const ScanScoring& scoring;
    const ScanCandidates& candidates;
    const QueryPanels& panels;
    const std::vector<Asked>& asked;
    std::size_t k;
};

// Those who may be among the k best of one query, as candidates come by.
//
// The k best of those that were scored are real: who cannot reach the k-th of them is not among the k best of
// all, not even by a tie.
class Contenders {
  public:
    Contenders(const Batch& batch, const Asked& asked)
        : batch_(batch), asked_(asked), scorer_(batch.columns, asked.query, batch.scoring, batch.candidates) {
        waiting_.reserve(2 * kWaiting + kCandidatesAtOnce);
        promising_.reserve(std::min(batch.k, kPromising) + 2 * kPromising);
        scored_.reserve(std::min(batch.k, kPromising) + kPromising);
    }

    float cut() const { return cut_; }  // the bound that a candidate has to reach
    bool crowded() const { return waiting_.size() >= kWaiting; }
    void wait(std::size_t candidate) { waiting_.push_back(candidate); }

    void settle() {
        screen();
        if (promising_.size() >= 2 * batch_.k + kPromising) raise_cut();
    }

    // Scores the k most promising. Those that cannot reach the k-th best score drop out.
    void raise_cut() {
        screen();
        const std::size_t some = std::min(batch_.k, promising_.size());
        const auto rest = promising_.begin() + static_cast<std::ptrdiff_t>(some);
        std::nth_element(promising_.begin(), rest, promising_.end(),
                         [](const Bound& a, const Bound& b) { return a.value > b.value; });
        score(some);
        promising_.erase(promising_.begin(), rest);
        promising_.erase(std::remove_if(promising_.begin(), promising_.end(),
                                        [this](const Bound& one) { return one.value < cut_; }),
                         promising_.end());
    }

    // The k best, in no order.
    const std::vector<ScanHit>& finish() {
        raise_cut();
        score(promising_.size());
        promising_.clear();
        return scored_;
    }

  private:
    struct Bound {
        float value;
        std::size_t candidate;
    };

    // Those waiting whose bound reaches the cut, from the query in sixteen bits: narrower than from eight.
    void screen() {
        std::int32_t rows[kCodeBlock];
        float above[kCodeBlock];
        for (std::size_t start = 0; start < waiting_.size(); start += kCodeBlock) {
            const std::size_t here = std::min(kCodeBlock, waiting_.size() - start);
            for (std::size_t i = 0; i < here; ++i)
                rows[i] = static_cast<std::int32_t>(scorer_.row(waiting_[start + i]));
            products_from_above(batch_.columns.coded, asked_.coded, rows, 0, here, above);
            for (std::size_t i = 0; i < here; ++i) {
                const std::size_t candidate = waiting_[start + i];
                const float product = batch_.columns.directed[rows[i]] ? above[i] : -1.0f;
                const float near = batch_.surface.nearest[candidate];
                const float bound = bound_of(batch_.surface, near, product, candidate);
                if (bound >= cut_) promising_.push_back({bound, candidate});
            }
        }
        waiting_.clear();
    }

    // The first `count` of the promising, where they reach the cut.
    void score(std::size_t count) {
        const std::size_t before = scored_.size(), k = batch_.k;
        for (std::size_t i = 0; i < count; ++i)
            if (promising_[i].value >= cut_) scored_.push_back(unscored(promising_[i].candidate));
        if (scored_.size() == before) return;
        rescore(scorer_, batch_.columns.dim, scored_.data() + before, scored_.size() - before, 1);
        if (scored_.size() < k) return;
        const auto last = scored_.begin() + static_cast<std::ptrdiff_t>(k) - 1;
        std::nth_element(scored_.begin(), last, scored_.end(), better);
        scored_.resize(k);
        cut_ = std::max(cut_, batch_.surface.standing_for(scored_.back().score));
    }

    const Batch& batch_;
    const Asked& asked_;
    Scorer scorer_;
    float cut_ = 0;
    std::vector<std::size_t> waiting_;
    std::vector<Bound> promising_;
    std::vector<ScanHit> scored_;  // the k best
};

// The pass of one thread over its candidates.
class Pass {
  public:
    // `most` candidates at a time.
    Pass(const Batch& batch, std::size_t most)
        : batch_(batch),
          queries_(batch.panels.count()),
          products_(new float[most * queries_]),
          cuts_(queries_, 0.0f),
          inverse_(queries_, std::numeric_limits<float>::infinity()) {
        contenders.reserve(queries_);
        for (const Asked& one : batch.asked) contenders.emplace_back(batch, one);
    }

    std::vector<Contenders> contenders;  // of each query

    void operator()(std::size_t begin, std::size_t end) {
        multiply(begin, end);
        if (first_) {
            start(begin, end);
        } else {
            meet(begin, end, [this](const Block& block, std::size_t query) {
                reach_of(block, inverse_.data() + query, within_);
            });
        }
        first_ = false;
    }

  private:
    void multiply(std::size_t begin, std::size_t end) {
        const ScanCandidates& candidates = batch_.candidates;
        batch_.panels.multiply(batch_.columns.coded, candidates.rows, begin, end - begin, products_.get());
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t row = candidates.rows ? static_cast<std::size_t>(candidates.rows[i]) : i;
            if (batch_.columns.directed[row]) continue;
            float* const products = products_.get() + (i - begin) * queries_;
            std::fill_n(products, queries_, -1.0f);  // no direction counts as the opposite one
        }
    }

    // Without cuts yet: k candidates or more reach the k-th largest of the groups' largest bounds. They are
    // scored, and the others meet the cut that follows.
    void start(std::size_t begin, std::size_t end) {
        const std::size_t count = end - begin;
        const std::size_t group = std::clamp<std::size_t>(count / (4 * batch_.k), 1, kLargestGroup);
        const std::size_t groups = (count + group - 1) / group;
        std::vector<float> largest(groups * queries_);
        make_bounds({batch_.surface, begin, count, products_.get(), queries_, queries_}, group,
                    largest.data());
        std::vector<float> high(queries_, 0.0f), of_query(groups);
        for (std::size_t j = 0; j < queries_ && batch_.k <= groups; ++j) {
            for (std::size_t i = 0; i < groups; ++i) of_query[i] = largest[i * queries_ + j];
            const auto kth = of_query.begin() + static_cast<std::ptrdiff_t>(batch_.k) - 1;
            std::nth_element(of_query.begin(), kth, of_query.end(), std::greater<float>());
            high[j] = *kth;
        }
        const std::vector<float> none(queries_, std::numeric_limits<float>::infinity());
        meet(begin, end, [&](const Block& block, std::size_t query) {
            between(block, high.data() + query, none.data() + query, within_);
        });
        for (std::size_t j = 0; j < queries_; ++j) {
            contenders[j].raise_cut();
            note_cut(j);
        }
        meet(begin, end, [&](const Block& block, std::size_t query) {
            between(block, cuts_.data() + query, high.data() + query, within_);
        });
    }

    // Candidates begin … end − 1 with every query; `test` tells who waits.
    template <typename Test>
    void meet(std::size_t begin, std::size_t end, Test&& test) {
        for (std::size_t query = 0; query < queries_; query += kQueriesAtOnce)
            for (std::size_t candidate = begin; candidate < end; candidate += kCandidatesAtOnce) {
                const std::size_t count = std::min(kCandidatesAtOnce, end - candidate);
                const std::size_t queries = std::min(kQueriesAtOnce, queries_ - query);
                float* const products = products_.get() + (candidate - begin) * queries_ + query;
                test({batch_.surface, candidate, count, products, queries_, queries}, query);
                for (std::size_t i = 0; i < count; ++i)
                    if (within_.any[i])
                        within_.visit(i, queries,
                                      [&](std::size_t j) { contenders[query + j].wait(candidate + i); });
                for (std::size_t j = query; j < query + queries; ++j)
                    if (contenders[j].crowded()) {
                        contenders[j].settle();
                        note_cut(j);
                    }
            }
    }

    void note_cut(std::size_t query) {
        cuts_[query] = contenders[query].cut();
        inverse_[query] = 1 / cuts_[query];
    }

    static constexpr std::size_t kLargestGroup = 16;

    const Batch& batch_;
    std::size_t queries_;
    const std::unique_ptr<float[]> products_;
    bool first_ = true;
    std::vector<float> cuts_, inverse_;  // of each query
    Within within_{};
};

// Of every query, the best scored ones of every thread.
std::vector<std::vector<ScanHit>> best_of_passes(const Batch& batch, int threads) {
    const std::size_t queries = batch.panels.count(), count = batch.candidates.count;
    const std::size_t block = std::max(kCandidatesAtOnce, kProducts / queries);
    std::vector<std::vector<ScanHit>> best(queries);
    std::mutex guard;
    InterruptPoll poll;
    parallel_ranges(count, threads_for(threads, count * queries * batch.columns.dim, kGrain),
                    [&](std::size_t begin, std::size_t end) {
                        Pass pass(batch, std::min(block, end - begin));
                        for (std::size_t start = begin; start < end; start += block) {
                            poll();
                            pass(start, std::min(end, start + block));
                        }
                        const std::lock_guard<std::mutex> hold(guard);
                        for (std::size_t j = 0; j < queries; ++j) {
                            const std::vector<ScanHit>& scored = pass.contenders[j].finish();
                            best[j].insert(best[j].end(), scored.begin(), scored.end());
                        }
                    });
    return best;
}

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
                                 std::vector<ScanHit> scored = every_one(count);
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
    std::vector<Asked> asked;
    asked.reserve(queries.count);
    for (std::size_t number = 0; number < queries.count; ++number) {
        const ScanQuery query = query_of(number);
        asked.push_back({query, CodedQuery(query.direction, columns.dim)});
    }
    std::vector<std::vector<ScanHit>> best =
        best_of_passes({surface, columns, scoring, candidates, panels, asked, k}, threads);
    for (std::size_t number = 0; number < queries.count; ++number) {
        const Scorer scorer(columns, asked[number].query, scoring, candidates);
        found[number] = take_best(scorer, std::move(best[number]), k, hits + number * k);
    }
    return true;
}

}  // namespace poincare
