#include "scan.hpp"

#include <algorithm>
#include <cstring>
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

std::vector<std::int32_t> positions_of(const std::uint8_t* mask, std::size_t count) {
    std::size_t passing = 0;
    for (std::size_t i = 0; i < count; ++i) passing += mask[i] != 0;
    std::vector<std::int32_t> positions(passing + 1);  // the next place is written to before it is taken
    std::size_t taken = 0;
    for (std::size_t begin = 0; begin < count; begin += sizeof(std::uint64_t)) {
        const std::size_t end = std::min(count, begin + sizeof(std::uint64_t));
        std::uint64_t any = 0;
        std::memcpy(&any, mask + begin, end - begin);
        if (any == 0) continue;
        for (std::size_t i = begin; i < end; ++i) {
            positions[taken] = static_cast<std::int32_t>(i);
            taken += mask[i] != 0;
        }
    }
    positions.pop_back();
    return positions;
}

std::vector<double> gathered(const double* values, const std::vector<std::int32_t>& positions) {
    std::vector<double> chosen;
    if (!values) return chosen;
    chosen.reserve(positions.size());
    for (const std::int32_t position : positions) chosen.push_back(values[position]);
    return chosen;
}

}  // namespace

std::size_t scan_top_k(const ScanColumns& columns, const ScanQuery& query, const ScanScoring& scoring,
                       const ScanCandidates& candidates, std::size_t k, ScanHit* hits, int threads) {
    const std::size_t count = candidates.count;
    if (k == 0 || count == 0) return 0;
    const Scorer scorer(columns, query, scoring, candidates);
    std::vector<ScanHit> scored;
    if (k >= count / 4 || !columns.coded.codes) {  // pruning would not pay
        scored = every_one(count);
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

std::size_t scan_top_k_of_passing(const ScanColumns& columns, const ScanQuery& query,
                                  const ScanScoring& scoring, const ScanCandidates& candidates,
                                  const std::uint8_t* mask, std::size_t k, ScanHit* hits, int threads) {
    const std::vector<std::int32_t> positions = positions_of(mask, candidates.count);
    std::vector<std::int32_t> rows = positions;
    if (candidates.rows)
        for (std::int32_t& row : rows) row = candidates.rows[row];
    const std::vector<double> log_weights = gathered(scoring.log_weights, positions);
    const std::vector<double> bonus = gathered(scoring.bonus, positions);
    ScanScoring of_passing = scoring;
    of_passing.log_weights = scoring.log_weights ? log_weights.data() : nullptr;
    of_passing.bonus = scoring.bonus ? bonus.data() : nullptr;
    const std::size_t found =
        scan_top_k(columns, query, of_passing, {rows.data(), rows.size()}, k, hits, threads);
    for (std::size_t i = 0; i < found; ++i)
        hits[i].position = positions[static_cast<std::size_t>(hits[i].position)];
    return found;
}

}  // namespace poincare
