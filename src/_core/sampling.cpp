#include "sampling.hpp"

#include <utility>
#include <vector>

namespace poincare {
namespace {

constexpr std::size_t kInCache = std::size_t{1} << 14;  // pairs that are shuffled without a cache miss
constexpr std::size_t kMostBins = 1024;                 // that are written to side by side
constexpr std::size_t kBetweenPolls = 1 << 16;

// Uniform numbers below a bound, two out of each random one.
class HalfDraws {
  public:
    HalfDraws(RandomState& random, std::uint64_t bound) : random_(random), bound_(bound) {}
    POINCARE_INLINE std::size_t next() {
        bits_ = half_ ? bits_ << 32 : next_random(random_);
        half_ = !half_;
        return static_cast<std::size_t>(((bits_ >> 32) * bound_) >> 32);
    }

  private:
    RandomState& random_;
    std::uint64_t bound_, bits_ = 0;
    bool half_ = false;
};

}  // namespace

template <typename Visit>
void ShuffledPairs::each(const TrainingPairs& pairs, InterruptPoll& poll, Visit&& visit) {
    if (pairs.source != nullptr) {
        for (std::size_t i = 0; i < pairs.count; ++i) {
            if (i % kBetweenPolls == 0) poll();
            visit(Pair{pairs.source[i], pairs.target[i]});
        }
        return;
    }
    for (std::size_t u = 0; u < pairs.nodes; ++u) {
        if (u % kBetweenPolls == 0) poll();
        const std::int32_t* const list = pairs.listed.shifted + pairs.listed.start[u];
        const std::int32_t node = static_cast<std::int32_t>(u);
        const std::int32_t length =
            static_cast<std::int32_t>(pairs.listed.start[u + 1] - pairs.listed.start[u]);
        for (std::int32_t place = 0; place < length; ++place)
            if (list[place] + place != node) visit(Pair{node, list[place] + place});
    }
}

// Pairs thrown into bins, and then shuffled within each, are shuffled (Rao 1961; Sandelius 1962). Each pair
// is moved twice, once into one of a few lines in cache and once within it, however many there are.
ShuffledPairs::ShuffledPairs(const TrainingPairs& pairs, RandomState& random, InterruptPoll& poll)
    : of(pairs.count) {
    const std::size_t bins = std::min(kMostBins, (2 * pairs.count + kInCache - 1) / kInCache);
    if (pairs.count <= kInCache) {
        std::size_t at = 0;
        each(pairs, poll, [&](const Pair& pair) { of[at++] = pair; });
        shuffle(0, pairs.count, random);
        return;
    }
    const std::vector<std::size_t> begin = scatter(pairs, bins, random, poll);
    for (std::size_t b = 0; b < bins; ++b) {
        poll();
        shuffle(begin[b], begin[b + 1], random);
    }
}

std::vector<std::size_t> ShuffledPairs::scatter(const TrainingPairs& pairs, std::size_t bins,
                                                RandomState& random, InterruptPoll& poll) {
    std::vector<std::size_t> begin(bins + 1), next(bins);
    RandomState again = random;
    HalfDraws counted(again, bins), thrown(random, bins);
    for (std::size_t i = 0; i < pairs.count; ++i) {
        if (i % kBetweenPolls == 0) poll();
        ++begin[counted.next() + 1];
    }
    for (std::size_t b = 0; b < bins; ++b) {
        begin[b + 1] += begin[b];
        next[b] = begin[b];
    }
    each(pairs, poll, [&](const Pair& pair) { of[next[thrown.next()]++] = pair; });
    return begin;
}

// Fisher-Yates. Partners are drawn some steps ahead, so that they are in cache when they are swapped.
void ShuffledPairs::shuffle(std::size_t begin, std::size_t end, RandomState& random) {
    constexpr std::size_t kDrawn = 16;
    std::size_t partner[kDrawn];
    for (std::size_t left = end - begin; left > 1;) {
        const std::size_t drawn = std::min(kDrawn, left - 1);
        for (std::size_t k = 0; k < drawn; ++k) {
            partner[k] = begin + random_below(random, left - k);
            prefetch(&of[partner[k]]);
        }
        for (std::size_t k = 0; k < drawn; ++k, --left) std::swap(of[begin + left - 1], of[partner[k]]);
    }
}

void alias_table(const double* weight, std::size_t nodes, std::uint32_t* threshold, std::int32_t* alias) {
    constexpr double kWhole = 4294967296.0;
    double sum = 0;
    for (std::size_t i = 0; i < nodes; ++i) sum += weight[i];
    // Each node has a column of height 1, filled with its own share; what is missing comes from a node that
    // has too much.
    std::vector<double> share(nodes);
    std::vector<std::size_t> poor, rich;
    for (std::size_t i = 0; i < nodes; ++i) {
        share[i] = weight[i] / sum * static_cast<double>(nodes);
        threshold[i] = UINT32_MAX;
        alias[i] = static_cast<std::int32_t>(i);
        (share[i] < 1 ? poor : rich).push_back(i);
    }
    while (!poor.empty() && !rich.empty()) {
        const std::size_t i = poor.back();
        const std::size_t donor = rich.back();
        poor.pop_back();
        threshold[i] = static_cast<std::uint32_t>(std::min(share[i] * kWhole, kWhole - 1));
        alias[i] = static_cast<std::int32_t>(donor);
        share[donor] -= 1 - share[i];
        if (share[donor] < 1) {
            rich.pop_back();
            poor.push_back(donor);
        }
    }
}

}  // namespace poincare
