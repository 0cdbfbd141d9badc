#include "reconstruction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu.hpp"
#include "interrupt.hpp"
#include "lanes.hpp"
#include "near_screen.hpp"
#include "numerics.hpp"
#include "sampling.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kFewRelated = 24;   // up to here comparing with each beats binary search
constexpr std::size_t kLooked = 64;       // blocks that are screened before any is searched
constexpr std::size_t kTogether = 4;      // queries that share one reading of it
constexpr std::size_t kGrain = 1u << 20;  // coordinates a thread should have to look at

// Candidates in blocks, within a block coordinate by coordinate: a distance is then a sum within one lane, in
// the order of the coordinates at every SIMD level. Rows past the end are NaN, which is never near.
struct Candidates {
    Candidates(const double* points, const double* scale_of, std::size_t n, std::size_t d)
        : dim(d),
          blocks((n + kScreenBlock - 1) / kScreenBlock),
          screen(points, scale_of, n, d),
          coordinate(blocks * kScreenBlock * d, std::numeric_limits<double>::quiet_NaN()),
          scale(blocks * kScreenBlock, 1.0) {
        for (std::size_t i = 0; i < n; ++i) {
            double* const column = &coordinate[i / kScreenBlock * kScreenBlock * d + i % kScreenBlock];
            for (std::size_t c = 0; c < d; ++c) column[c * kScreenBlock] = points[i * d + c];
            scale[i] = scale_of[i];
        }
    }
    std::size_t dim, blocks;
    NearScreen screen;
    std::vector<double> coordinate, scale;
};

// One query and what is known of its related nodes.
struct Query {
    const double* u = nullptr;
    std::vector<double> key;          // of the related nodes, sorted
    std::vector<std::int64_t> below;  // nodes that are at most as far
    std::vector<std::int64_t> below_lanes;
    double farthest = 0;  // a little above the last key
};

struct Block {
    double gap[kScreenBlock], key[kScreenBlock];
};

// Squared gaps of the candidates of a block from TOGETHER queries, which share the loads.
template <std::size_t N, std::size_t TOGETHER>
POINCARE_INLINE void block_gaps(const double* candidates, std::size_t dim, const Query* queries,
                                Block* blocks) {
    constexpr std::size_t parts = TOGETHER == 1 ? 4 : 2;
    for (std::size_t first = 0; first < kScreenBlock; first += parts * N) {
        Lanes<double, N> sum[TOGETHER][parts] = {}, coordinate, difference;
        for (std::size_t c = 0; c < dim; ++c) {
            for (std::size_t i = 0; i < parts; ++i) {
                load(coordinate, candidates + c * kScreenBlock + first + i * N);
                for (std::size_t q = 0; q < TOGETHER; ++q) {
                    difference = coordinate - queries[q].u[c];
                    sum[q][i] = sum[q][i] + difference * difference;
                }
            }
        }
        for (std::size_t q = 0; q < TOGETHER; ++q)
            for (std::size_t i = 0; i < parts; ++i) store(blocks[q].gap + first + i * N, sum[q][i]);
    }
}

POINCARE_INLINE double one_gap(const double* x, const double* u, std::size_t dim) {
    double sum = 0;
    for (std::size_t c = 0; c < dim; ++c) sum += (x[c] - u[c]) * (x[c] - u[c]);
    return sum;
}

// Number of keys in each lane that are at most `limit`, added to `count`.
template <std::size_t N>
POINCARE_INLINE void count_lanes(const double* key, double limit, std::int64_t* count) {
#ifdef POINCARE_VECTOR_TYPES
    Lanes<std::int64_t, N> sum;
    Lanes<double, N> keys;
    load(sum, count);
    for (std::size_t j = 0; j < kScreenBlock; j += N) {
        load(keys, key + j);
        sum = sum - (keys <= limit);  // true is -1
    }
    store(count, sum);
#else
    for (std::size_t j = 0; j < kScreenBlock; ++j) count[j % N] += key[j] <= limit;
#endif
}

// Counts the candidates of a block at the related keys that they do not exceed.
template <std::size_t N>
POINCARE_INLINE void count_block(const double* scale, Block& block, Query& query) {
    const std::size_t m = query.key.size();
    for (std::size_t j = 0; j < kScreenBlock; ++j) block.key[j] = block.gap[j] / scale[j];
    if (m <= kFewRelated) {
        for (std::size_t i = 0; i < m; ++i)
            count_lanes<N>(block.key, query.key[i], &query.below_lanes[i * N]);
        return;
    }
    for (std::size_t j = 0; j < kScreenBlock; ++j) {
        if (!(block.key[j] <= query.key[m - 1])) continue;
        const auto at = std::lower_bound(query.key.begin(), query.key.end(), block.key[j]);
        ++query.below[static_cast<std::size_t>(at - query.key.begin())];  // made a running sum afterwards
    }
}

// Calls visit(block number, scale, block, query in the tile) where a candidate is about as near as the
// farthest related node.
template <std::size_t N, typename Visit>
struct NearSearch {
    const Candidates& all;
    const Query* tile;
    const Visit& visit;
    InterruptPoll& poll;

    POINCARE_INLINE void run(ScreenedTile& screened) const {
        for (std::size_t q = 0; q < kTile; ++q) all.screen.set(screened, q, tile[q].u, tile[q].farthest);
        std::uint32_t near[kLooked];
        for (std::size_t begin = 0; begin < all.blocks; begin += kLooked) {
            const std::size_t end = std::min(all.blocks, begin + kLooked);
            poll();
            all.screen.look(screened, begin, end, near);
            for (std::size_t b = begin; b < end; ++b)
                for (std::size_t first = 0; near[b - begin] != 0; first += kTogether) {
                    search(b, first, near[b - begin] & ((1u << kTogether) - 1));
                    near[b - begin] >>= kTogether;
                }
        }
    }

    // Of kTogether queries those that `asked` has a bit of.
    POINCARE_INLINE void search(std::size_t b, std::size_t first, std::uint32_t asked) const {
        const double* const candidates = &all.coordinate[b * kScreenBlock * all.dim];
        Block blocks[kTogether];
        if (asked == 0) return;
        const bool several = (asked & (asked - 1)) != 0;
        if (several) block_gaps<N, kTogether>(candidates, all.dim, tile + first, blocks);
        for (std::size_t q = 0; q < kTogether; ++q) {
            if (!(asked >> q & 1)) continue;
            if (!several) block_gaps<N, 1>(candidates, all.dim, tile + first + q, blocks + q);
            report(b, first + q, blocks[q]);
        }
    }

    POINCARE_INLINE void report(std::size_t b, std::size_t q, Block& block) const {
        const double* const scale = &all.scale[b * kScreenBlock];
        const double farthest = tile[q].farthest;
        int near = 0;
        for (std::size_t j = 0; j < kScreenBlock; ++j) near |= block.gap[j] <= farthest * scale[j];
        if (near) visit(b, scale, block, q);
    }
};

template <std::size_t N>
struct CountingVisit {
    Query* tile;
    POINCARE_INLINE void operator()(std::size_t, const double* scale, Block& block, std::size_t q) const {
        count_block<N>(scale, block, tile[q]);
    }
};

// Average precision and sum of ranks. The query itself (key 0) is below every key.
template <std::size_t N>
void rank_related(Query& query, double& average_precision, std::int64_t& rank_sum) {
    const std::size_t m = query.key.size();
    if (m <= kFewRelated) {
        for (std::size_t i = 0; i < m * N; ++i) query.below[i / N] += query.below_lanes[i];
    } else {
        for (std::size_t i = 1; i < m; ++i) query.below[i] += query.below[i - 1];
    }
    double precision = 0;
    rank_sum = 0;
    std::size_t tied_to = 0;  // related nodes at most as far as the i-th
    for (std::size_t i = 0; i < m; ++i) {
        while (tied_to < m && query.key[tied_to] <= query.key[i]) ++tied_to;
        const std::int64_t unrelated = query.below[i] - 1 - static_cast<std::int64_t>(tied_to);
        const std::int64_t place = static_cast<std::int64_t>(i) + 1;
        precision += static_cast<double>(place) / static_cast<double>(place + unrelated);
        rank_sum += 1 + unrelated;
    }
    average_precision = precision / static_cast<double>(m);
}

struct Ranking {
    const double* points;
    const double* scale;
    const Candidates& all;
    const RelatedNodes& related;
    InterruptPoll& poll;
    double* average_precision;
    std::int64_t* rank_sum;

    template <std::size_t N>
    POINCARE_INLINE void run(std::size_t begin, std::size_t end) const {
        std::vector<Query> tile(kTile);
        ScreenedTile screened(all.dim);
        const CountingVisit<N> visit{tile.data()};
        for (std::size_t first = begin; first < end; first += kTile) {
            // The last tile is filled up with its last query.
            for (std::size_t i = 0; i < kTile; ++i) prepare(tile[i], std::min(first + i, end - 1), N);
            NearSearch<N, CountingVisit<N>>{all, tile.data(), visit, poll}.run(screened);
            for (std::size_t i = 0; i < kTile && first + i < end; ++i)
                rank_related<N>(tile[i], average_precision[first + i], rank_sum[first + i]);
        }
    }

    void prepare(Query& query, std::size_t q, std::size_t lanes) const {
        query.u = points + static_cast<std::size_t>(related.query[q]) * all.dim;
        query.key.clear();
        for (std::int64_t i = related.start[q]; i < related.start[q + 1]; ++i) {
            const std::size_t node = static_cast<std::size_t>(related.related[i]);
            query.key.push_back(one_gap(points + node * all.dim, query.u, all.dim) / scale[node]);
        }
        std::sort(query.key.begin(), query.key.end());
        query.farthest = query.key.back() * kRankRounding;
        query.below.assign(query.key.size(), 0);
        query.below_lanes.assign(kFewRelated * lanes, 0);
    }
};

// What of the unrelated nodes that are nearer than the farthest related one is kept of each query.
struct Reservoir {
    std::int32_t* node = nullptr;
    std::int64_t seen = 0;
    RandomState random{};
};

struct CollectingVisit {
    const RelatedNodes& related;
    std::size_t most, first, end;  // queries of the tile
    const Query* tile;
    Reservoir* reservoir;

    POINCARE_INLINE void operator()(std::size_t b, const double* scale, const Block& block,
                                    std::size_t i) const {
        if (first + i >= end) return;
        const double farthest = tile[i].key.back();
        for (std::size_t j = 0; j < kScreenBlock; ++j)
            if (block.gap[j] / scale[j] <= farthest)
                collect(static_cast<std::int32_t>(b * kScreenBlock + j), first + i, reservoir[i]);
    }

    void collect(std::int32_t node, std::size_t q, Reservoir& kept) const {
        const std::int32_t* const begin = related.related + related.start[q];
        const std::int32_t* const stop = related.related + related.start[q + 1];
        if (node == related.query[q] || std::binary_search(begin, stop, node)) return;
        std::size_t place = static_cast<std::size_t>(kept.seen++);
        if (place >= most) place = random_below(kept.random, static_cast<std::uint64_t>(kept.seen));
        if (place < most) kept.node[place] = node;
    }
};

struct IntruderSearch {
    const Ranking& ranking;
    std::size_t most;
    std::uint64_t seed;
    std::int32_t* intruder;
    std::int32_t* found;

    template <std::size_t N>
    POINCARE_INLINE void run(std::size_t begin, std::size_t end) const {
        std::vector<Query> tile(kTile);
        ScreenedTile screened(ranking.all.dim);
        std::vector<Reservoir> reservoir(kTile);
        const std::int32_t* const node = ranking.related.query;
        for (std::size_t first = begin; first < end; first += kTile) {
            for (std::size_t i = 0; i < kTile; ++i) {
                const std::size_t q = std::min(first + i, end - 1);
                ranking.prepare(tile[i], q, N);
                reservoir[i] = {intruder + static_cast<std::size_t>(node[q]) * most, 0, state_of(q)};
            }
            const CollectingVisit visit{ranking.related, most, first, end, tile.data(), reservoir.data()};
            NearSearch<N, CollectingVisit>{ranking.all, tile.data(), visit, ranking.poll}.run(screened);
            for (std::size_t i = 0; i < kTile && first + i < end; ++i)
                found[node[first + i]] =
                    static_cast<std::int32_t>(std::min(reservoir[i].seen, static_cast<std::int64_t>(most)));
        }
    }

    // A query's draws are its own, however the queries are shared out.
    RandomState state_of(std::size_t q) const {
        RandomState random{{seed, q, 0x9E3779B97F4A7C15u, 1}};
        constexpr int kMixing = 20;
        for (int i = 0; i < kMixing; ++i) next_random(random);
        return random;
    }
};

void rank_baseline(const Ranking& ranking, std::size_t begin, std::size_t end) {
    ranking.run<2>(begin, end);
}
#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2 void rank_avx2(const Ranking& ranking, std::size_t begin, std::size_t end) {
    ranking.run<4>(begin, end);
}
POINCARE_AVX512 void rank_avx512(const Ranking& ranking, std::size_t begin, std::size_t end) {
    ranking.run<8>(begin, end);
}
#endif

void rank(const Ranking& ranking, std::size_t begin, std::size_t end) {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return rank_avx512(ranking, begin, end);
    if (simd_level() == SimdLevel::avx2) return rank_avx2(ranking, begin, end);
#endif
    rank_baseline(ranking, begin, end);
}

#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2 void intrude_avx2(const IntruderSearch& search, std::size_t begin, std::size_t end) {
    search.run<4>(begin, end);
}
POINCARE_AVX512 void intrude_avx512(const IntruderSearch& search, std::size_t begin, std::size_t end) {
    search.run<8>(begin, end);
}
#endif

void intrude(const IntruderSearch& search, std::size_t begin, std::size_t end) {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return intrude_avx512(search, begin, end);
    if (simd_level() == SimdLevel::avx2) return intrude_avx2(search, begin, end);
#endif
    search.run<2>(begin, end);
}

}  // namespace

void find_intruders(const double* points, const double* scale, std::size_t nodes, std::size_t dim,
                    const RelatedNodes& related, std::size_t most, std::uint64_t seed, int threads,
                    std::int32_t* intruder, std::int32_t* found) {
    const Candidates all(points, scale, nodes, dim);
    InterruptPoll poll;
    const Ranking ranking{points, scale, all, related, poll, nullptr, nullptr};
    const IntruderSearch search{ranking, most, seed, intruder, found};
    const int used = threads_for(threads, related.queries * nodes * dim, kGrain);
    parallel_ranges(related.queries, used,
                    [&](std::size_t begin, std::size_t end) { intrude(search, begin, end); });
}

void reconstruction_ranks(const double* points, const double* scale, std::size_t nodes, std::size_t dim,
                          const RelatedNodes& related, int threads, double* average_precision,
                          std::int64_t* rank_sum) {
    const Candidates all(points, scale, nodes, dim);
    InterruptPoll poll;
    const Ranking ranking{points, scale, all, related, poll, average_precision, rank_sum};
    const int used = threads_for(threads, related.queries * nodes * dim, kGrain);
    parallel_ranges(related.queries, used,
                    [&](std::size_t begin, std::size_t end) { rank(ranking, begin, end); });
}

}  // namespace poincare
