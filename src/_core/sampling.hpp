// Random draws of training: the generator, the order of the pairs, and the negatives of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

template <typename T>
POINCARE_INLINE void prefetch(const T* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address, 1);
#else
    (void)address;
#endif
}

// Fisher-Yates. Partners are drawn some steps ahead, so that they are in cache when they are swapped.
inline void shuffle(const TrainingPairs& pairs, RandomState& random) {
    constexpr std::size_t kDrawn = 16;
    std::size_t partner[kDrawn];
    for (std::size_t left = pairs.count; left > 1;) {
        const std::size_t drawn = std::min(kDrawn, left - 1);
        for (std::size_t k = 0; k < drawn; ++k) {
            partner[k] = random_below(random, left - k);
            prefetch(pairs.source + partner[k]);
            prefetch(pairs.target + partner[k]);
        }
        for (std::size_t k = 0; k < drawn; ++k, --left) {
            std::swap(pairs.source[left - 1], pairs.source[partner[k]]);
            std::swap(pairs.target[left - 1], pairs.target[partner[k]]);
        }
    }
}

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

POINCARE_INLINE void draw_sample(Sample& sample, std::int32_t u, std::int32_t v, std::size_t nodes,
                                 const ExcludedNodes& excluded, std::size_t negatives, RandomState& random) {
    sample.node = u;
    sample.other[0] = v;
    std::int32_t pair_only[2] = {std::min(u, v), std::max(u, v) - 1};
    const std::int32_t* list = pair_only;
    std::size_t length = 2;
    if (excluded.start != nullptr) {
        list = excluded.shifted + excluded.start[u];
        length = static_cast<std::size_t>(excluded.start[u + 1] - excluded.start[u]);
    }
    const std::size_t allowed = nodes - length;
    if (allowed == 0) negatives = 0;
    for (std::size_t k = 1; k <= negatives; ++k) {
        const std::int32_t r = static_cast<std::int32_t>(random_below(random, allowed));
        sample.other[k] = r + count_at_most(list, length, r);
    }
    sample.others = 1 + negatives;
}

}  // namespace poincare
