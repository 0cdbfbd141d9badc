// Which candidates may be among the best of which queries of a batch: tests over blocks of products, at every
// SIMD level the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "batch_surface.hpp"

namespace poincare {

constexpr std::size_t kQueriesAtOnce = 64;
constexpr std::size_t kCandidatesAtOnce = 64;

// Products of some candidates with some queries, or the bounds that took their place.
struct Block {
    const Surface& surface;
    std::size_t first, count;  // candidates
    float* products;           // of candidate `first` and the first query
    std::size_t stride;        // from one candidate to the next
    std::size_t queries;
};

// Of kCandidatesAtOnce candidates with kQueriesAtOnce queries, 1 or 0 each.
struct Within {
    alignas(64) std::uint8_t of[kCandidatesAtOnce * kQueriesAtOnce];
    std::uint8_t any[kCandidatesAtOnce];  // of each candidate: whether there is a query

    // Calls visit(query) for those of the first `queries` that are 1; most are 0.
    template <typename Visit>
    void visit(std::size_t candidate, std::size_t queries, Visit&& call) const {
        const std::uint8_t* const flags = of + candidate * kQueriesAtOnce;
        for (std::size_t begin = 0; begin < queries; begin += sizeof(std::uint64_t)) {
            std::uint64_t word;
            std::memcpy(&word, flags + begin, sizeof word);
            if (word == 0) continue;
            const std::size_t end = std::min(begin + sizeof word, queries);
            for (std::size_t query = begin; query < end; ++query)
                if (flags[query]) call(query);
        }
    }
};

// Whether candidates reach the cut of each query; `inverse` is 1 / cut.
void reach_of(const Block& block, const float* inverse, Within& within);

// Bounds in the place of products; of every `group` candidates the largest, a row of `queries` a group.
void make_bounds(const Block& block, std::size_t group, float* largest);

// Whether bounds lie in [least, below), of each query.
void between(const Block& block, const float* least, const float* below, Within& within);

}  // namespace poincare
