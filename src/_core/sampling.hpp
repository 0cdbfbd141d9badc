// Random draws of training: the generator, the order of the pairs, and the negatives of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu.hpp"
#include "interrupt.hpp"
#include "lanes.hpp"
#include "training.hpp"

namespace poincare {

POINCARE_INLINE std::uint64_t rotate_left(std::uint64_t x, int by) {
    return (x << by) | (x >> (64 - by));
}

POINCARE_INLINE std::uint64_t next_random(RandomState& state) {
    std::uint64_t* s = state.word;
    const std::uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

// Uniform in [0, bound), bound at most 2^32 (bias below bound / 2^32).
POINCARE_INLINE std::uint32_t random_below(RandomState& state, std::uint64_t bound) {
    return static_cast<std::uint32_t>(((next_random(state) >> 32) * bound) >> 32);
}

// The pairs in the order of one epoch, each order as likely as any other.
class ShuffledPairs {
  public:
    struct Pair {
        std::int32_t source, target;
    };

    ShuffledPairs(const TrainingPairs& pairs, RandomState& random, InterruptPoll& poll);

    std::vector<Pair> of;

  private:
    // Calls visit(pair) for each of them, always in the same order.
    template <typename Visit>
    static void each(const TrainingPairs& pairs, InterruptPoll& poll, Visit&& visit);
    // Into `bins` of about equal size, each pair into one at random; where they begin, and the end.
    std::vector<std::size_t> scatter(const TrainingPairs& pairs, std::size_t bins, RandomState& random,
                                     InterruptPoll& poll);
    void shuffle(std::size_t begin, std::size_t end, RandomState& random);
};

POINCARE_INLINE std::int32_t count_at_most(const std::int32_t* sorted, std::size_t n, std::int32_t limit) {
    constexpr std::size_t kShort = 32;
    if (n > kShort) return static_cast<std::int32_t>(std::upper_bound(sorted, sorted + n, limit) - sorted);
    std::int32_t count = 0;
    for (std::size_t i = 0; i < n; ++i) count += sorted[i] <= limit;
    return count;
}

// One pair with its negatives: other[0] is the related node.
struct Sample {
    std::int32_t node = 0;
    std::size_t others = 0;
    std::vector<std::int32_t> other;
};

// A list of excluded nodes, in the form of ExcludedNodes.
struct ExcludedList {
    const std::int32_t* shifted;
    std::size_t length;

    POINCARE_INLINE bool holds(std::int32_t node) const {
        // Entry i is node shifted[i] + i: the first one that is not below `node`.
        std::size_t low = 0, high = length;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (shifted[middle] + static_cast<std::int32_t>(middle) < node)
                low = middle + 1;
            else
                high = middle;
        }
        return low < length && shifted[low] + static_cast<std::int32_t>(low) == node;
    }
};

// Draws the negatives of a pair.
struct NegativeSampler {
    std::size_t nodes;
    const ExcludedNodes& excluded;
    const NodeWeights& weights;
    const IntruderTable& intruders;
    std::size_t negatives;

    std::size_t most_others() const { return 1 + negatives + intruders.drawn; }

    POINCARE_INLINE void draw(Sample& sample, std::int32_t u, std::int32_t v, RandomState& random) const {
        sample.node = u;
        sample.other[0] = v;
        const std::int32_t pair_only[2] = {std::min(u, v), std::max(u, v) - 1};
        ExcludedList list{pair_only, 2};
        if (excluded.start != nullptr)
            list = {excluded.shifted + excluded.start[u],
                    static_cast<std::size_t>(excluded.start[u + 1] - excluded.start[u])};
        const std::size_t allowed = nodes - list.length;
        sample.others = allowed == 0 ? 1 : 1 + negatives;
        if (weights.threshold == nullptr) {
            for (std::size_t k = 1; k < sample.others; ++k) sample.other[k] = uniform(list, allowed, random);
        } else {
            for (std::size_t k = 1; k < sample.others; ++k) sample.other[k] = weighted(list, allowed, random);
        }
        if (intruders.drawn == 0) return;
        const std::size_t known = static_cast<std::size_t>(intruders.count[u]);
        if (known == 0) return;
        const std::int32_t* const of_node = intruders.node + static_cast<std::size_t>(u) * intruders.width;
        for (std::size_t k = 0; k < std::min(intruders.drawn, known); ++k)
            sample.other[sample.others++] = of_node[random_below(random, known)];
    }

    POINCARE_INLINE static std::int32_t uniform(const ExcludedList& list, std::size_t allowed,
                                                RandomState& random) {
        const std::int32_t r = static_cast<std::int32_t>(random_below(random, allowed));
        return r + count_at_most(list.shifted, list.length, r);
    }

    // Where nearly all weight lies on excluded nodes, a uniform one of the others.
    POINCARE_INLINE std::int32_t weighted(const ExcludedList& list, std::size_t allowed,
                                          RandomState& random) const {
        constexpr int kTries = 16;
        for (int i = 0; i < kTries; ++i) {
            const std::uint64_t bits = next_random(random);
            const std::size_t at = static_cast<std::size_t>(((bits >> 32) * nodes) >> 32);
            const bool own = static_cast<std::uint32_t>(bits) < weights.threshold[at];
            const std::int32_t node = own ? static_cast<std::int32_t>(at) : weights.alias[at];
            if (!list.holds(node)) return node;
        }
        return uniform(list, allowed, random);
    }
};

}  // namespace poincare
