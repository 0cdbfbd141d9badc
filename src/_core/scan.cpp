#include "scan.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "interrupt.hpp"
#include "optimistic.hpp"
#include "scorer.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kScanGrain = 1 << 23;      // codes a thread at least
constexpr std::size_t kUninterrupted = 1 << 24;  // and between two looks for Ctrl-C

}  // namespace

std::size_t scan_top_k(const ScanColumns& columns, const ScanQuery& query, const ScanScoring& scoring,
                       const ScanCandidates& candidates, std::size_t k, ScanHit* hits, int threads) {
    const std::size_t count = candidates.count;
    if (k == 0 || count == 0) return 0;
    const Scorer scorer(columns, query, scoring, candidates);
    std::vector<ScanHit> scored;
    if (k >= count / 4 || !columns.coded.codes) {  // pruning would not pay
        scored = every_passing(scorer, count);
        rescore(scorer, columns.dim, scored.data(), scored.size(), threads);
    } else {
        const OptimisticScores optimistic_scores(columns, query, scoring, candidates);
        const std::unique_ptr<float[]> optimistic(new float[count]);
        interruptible_ranges(
            count, threads_for(threads, count * columns.dim, kScanGrain), kUninterrupted / (columns.dim + 1),
            [&](std::size_t begin, std::size_t end) { optimistic_scores(begin, end, optimistic.get()); });
        scored = all_within_reach(scorer, columns.dim, optimistic.get(), count,
                                  most_promising(optimistic.get(), count, k), threads,
                                  [](double reach) { return reach; });
    }
    return take_best(scorer, std::move(scored), k, hits);
}

}  // namespace poincare
