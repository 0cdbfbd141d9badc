// Random draws of training: the generator, the order of the pairs, and the negatives of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu.hpp"
#include "huge_pages.hpp"
#include "interrupt.hpp"
#include "lanes.hpp"
#include "related_filter.hpp"
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

    std::vector<Pair, HugePages<Pair>> of;

  private:
    // Calls visit(pair) for each of them, always in the same order.
    template <typename Visit>
    static void each(const TrainingPairs& pairs, InterruptPoll& poll, Visit&& visit);
    // Into `bins` of about equal size, each pair into one at random; where they begin, and the end.
    std::vector<std::size_t> scatter(const TrainingPairs& pairs, std::size_t bins, RandomState& random,
                                     InterruptPoll& poll);
    void shuffle(std::size_t begin, std::size_t end, RandomState& random);
};

constexpr std::size_t kShortList = 32;  // up to here a look at every entry beats a binary search

POINCARE_INLINE std::int32_t count_at_most(const std::int32_t* sorted, std::size_t n, std::int32_t limit) {
    if (n > kShortList)
        return static_cast<std::int32_t>(std::upper_bound(sorted, sorted + n, limit) - sorted);
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

    POINCARE_INLINE std::int32_t entry(std::size_t i) const {
        return shifted[i] + static_cast<std::int32_t>(i);
    }

    POINCARE_INLINE bool holds(std::int32_t node) const {
        // The first entry that is not below `node`.
        std::size_t low = 0, high = length;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (entry(middle) < node)
                low = middle + 1;
            else
                high = middle;
        }
        return low < length && entry(low) == node;
    }
};

// Tells of most nodes at once that a list does not hold them: a bit for each remainder of its nodes by 64.
class ExcludedRemainders {
  public:
    explicit ExcludedRemainders(const ExcludedList& list) {
        if (list.length > kShortList)
            bits_ = ~std::uint64_t{0};
        else
            for (std::size_t i = 0; i < list.length; ++i) bits_ |= bit(list.entry(i));
    }
    POINCARE_INLINE bool may_hold(std::int32_t node) const { return (bits_ & bit(node)) != 0; }

  private:
    static std::uint64_t bit(std::int32_t node) { return std::uint64_t{1} << (node & 63); }
    std::uint64_t bits_ = 0;
};

// A few nodes, of which the negatives are drawn where the rows of all do not fit the cache. Every pair renews
// some, so that a node is drawn a few times while its row is in cache, and then makes room: any one draw is
// of a node as likely as without the pool.
class NegativePool {
  public:
    static constexpr std::size_t kNodes = 4096;
    static constexpr std::size_t kDrawsOfNode = 5;  // on average, before it makes room

    static constexpr std::size_t kDrawsOfNumber = 5;  // places out of one random number

    bool used() const { return !node_.empty(); }
    // The node at the place that the lowest bits tell.
    std::int32_t at(std::uint64_t bits) const { return node_[bits % kNodes]; }

    // `any` draws a node.
    template <typename Any>
    void fill(Any&& any) {
        node_.resize(kNodes);
        for (std::int32_t& node : node_) node = any();
    }

    template <typename Any>
    POINCARE_INLINE void renew(std::size_t negatives, Any&& any) {
        for (std::size_t drawn = 0; drawn < negatives; drawn += kDrawsOfNode) {
            node_[oldest_] = any();
            oldest_ = (oldest_ + 1) % kNodes;
        }
    }

  private:
    std::vector<std::int32_t> node_;
    std::size_t oldest_ = 0;
};

// Draws the negatives of a pair.
struct NegativeSampler {
    std::size_t nodes;
    const ExcludedNodes& excluded;
    const NodeWeights& weights;
    const IntruderTable& intruders;
    std::size_t negatives;
    std::uint32_t salt;  // of the filters

    std::size_t most_others() const { return 1 + negatives + intruders.drawn; }

    // `filter` of the list of u may hold everything.
    POINCARE_INLINE void draw(Sample& sample, std::int32_t u, std::int32_t v, const NegativePool& pool,
                              const RelatedFilter& filter, RandomState& random) const {
        sample.node = u;
        sample.other[0] = v;
        if (filter.holds_everything())
            draw_by_list(sample, pool, random);
        else
            draw_by_filter(sample, pool, filter, random);
        if (intruders.drawn == 0) return;
        const std::size_t known = static_cast<std::size_t>(intruders.count[u]);
        if (known == 0) return;
        const std::int32_t* const of_node = intruders.node + static_cast<std::size_t>(u) * intruders.width;
        for (std::size_t k = 0; k < std::min(intruders.drawn, known); ++k)
            sample.other[sample.others++] = of_node[random_below(random, known)];
    }

    // Of the nodes that may not be a negative of u, where they are few.
    RelatedFilter filter_of(std::int32_t u) const {
        const ExcludedList list = list_of(u);
        if (list.length > RelatedFilter::kMost) return RelatedFilter();
        RelatedFilter filter = RelatedFilter::empty();
        for (std::size_t i = 0; i < list.length; ++i) filter.add(list.entry(i), salt);
        return filter;
    }

    // A node, excluded ones among them, as likely as its weight says.
    POINCARE_INLINE std::int32_t any(RandomState& random) const {
        const std::uint64_t bits = next_random(random);
        const std::size_t at = static_cast<std::size_t>(((bits >> 32) * nodes) >> 32);
        if (weights.threshold == nullptr) return static_cast<std::int32_t>(at);
        const bool own = static_cast<std::uint32_t>(bits) < weights.threshold[at];
        return own ? static_cast<std::int32_t>(at) : weights.alias[at];
    }

    POINCARE_INLINE static std::int32_t uniform(const ExcludedList& list, std::size_t allowed,
                                                RandomState& random) {
        const std::int32_t r = static_cast<std::int32_t>(random_below(random, allowed));
        return r + count_at_most(list.shifted, list.length, r);
    }

  private:
    static constexpr int kTries = 16;  // of a draw, until it is a uniform one of the allowed nodes

    POINCARE_INLINE void draw_by_list(Sample& sample, const NegativePool& pool, RandomState& random) const {
        const std::int32_t u = sample.node, v = sample.other[0];
        const std::int32_t pair_only[2] = {std::min(u, v), std::max(u, v) - 1};
        const ExcludedList list = excluded.start == nullptr ? ExcludedList{pair_only, 2} : list_of(u);
        const std::size_t allowed = nodes - list.length;
        sample.others = allowed == 0 ? 1 : 1 + negatives;
        if (!pool.used() && weights.threshold == nullptr) {
            for (std::size_t k = 1; k < sample.others; ++k) sample.other[k] = uniform(list, allowed, random);
            return;
        }
        const ExcludedRemainders remainders(list);
        const auto refused = [&](std::int32_t node) { return remainders.may_hold(node) && list.holds(node); };
        const auto spare = [&] { return uniform(list, allowed, random); };
        if (pool.used())
            draw_of_pool(sample, pool, random, refused, spare);
        else
            for (std::size_t k = 1; k < sample.others; ++k)
                sample.other[k] =
                    drawn_until_allowed(any(random), [&] { return any(random); }, refused, spare);
    }

    POINCARE_INLINE void draw_by_filter(Sample& sample, const NegativePool& pool, const RelatedFilter& filter,
                                        RandomState& random) const {
        const std::int32_t u = sample.node;
        sample.others = 1 + negatives;
        draw_of_pool(
            sample, pool, random, [&](std::int32_t node) { return filter.may_hold(node, salt); },
            [&] {
                const ExcludedList list = list_of(u);
                return uniform(list, nodes - list.length, random);
            });
    }

    template <typename Refused, typename Spare>
    POINCARE_INLINE static void draw_of_pool(Sample& sample, const NegativePool& pool, RandomState& random,
                                             Refused&& refused, Spare&& spare) {
        const auto draw = [&] { return pool.at(next_random(random)); };
        for (std::size_t begin = 1; begin < sample.others; begin += NegativePool::kDrawsOfNumber) {
            const std::size_t end = std::min(begin + NegativePool::kDrawsOfNumber, sample.others);
            std::uint64_t bits = next_random(random);
            for (std::size_t k = begin; k < end; ++k, bits /= NegativePool::kNodes)
                sample.other[k] = drawn_until_allowed(pool.at(bits), draw, refused, spare);
        }
    }

    template <typename Draw, typename Refused, typename Spare>
    POINCARE_INLINE static std::int32_t drawn_until_allowed(std::int32_t node, Draw&& draw, Refused&& refused,
                                                            Spare&& spare) {
        for (int tries = 1; refused(node); ++tries) {
            if (tries == kTries) return spare();
            node = draw();
        }
        return node;
    }

    POINCARE_INLINE ExcludedList list_of(std::int32_t u) const {
        return {excluded.shifted + excluded.start[u],
                static_cast<std::size_t>(excluded.start[u + 1] - excluded.start[u])};
    }
};

}  // namespace poincare
