// Ranks of related nodes among all others, by distance from each query (reconstruction of Nickel & Kiela
// 2017).
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

struct RelatedNodes {
    const std::int32_t* query = nullptr;    // node of each query
    const std::int64_t* start = nullptr;    // where its related nodes begin; one entry more than queries
    const std::int32_t* related = nullptr;  // without the query itself, each once
    std::size_t queries = 0;
};

// For each query the average precision, and the sum over its related nodes of 1 + the number of unrelated
// nodes that are at most as far. The key |u−x|² / scale[x] grows with the distance from u: with
// scale = 1 − c|x|² that in the ball, with scale = 1 the Euclidean one.
void reconstruction_ranks(const double* points, const double* scale, std::size_t nodes, std::size_t dim,
                          const RelatedNodes& related, int threads, double* average_precision,
                          std::int64_t* rank_sum);

// For each query up to `most` of the unrelated nodes that are at most as far as its farthest related node, a
// uniform sample of these: the first `found[node]` entries of row `node` of `intruder`. Lists of related
// nodes are sorted.
void find_intruders(const double* points, const double* scale, std::size_t nodes, std::size_t dim,
                    const RelatedNodes& related, std::size_t most, std::uint64_t seed, int threads,
                    std::int32_t* intruder, std::int32_t* found);

}  // namespace poincare
