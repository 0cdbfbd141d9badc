// Best-first search over the lists of an hnswlib graph (Malkov & Yashunin 2018, algorithms 2 and 5).
//
// hnswlib's own search fetches one row ahead and computes one distance at a time; most of its time is spent
// waiting for memory. Here the neighbours of a node that were not seen yet are gathered first, their rows are
// on their way while those before them are computed, and several distances are computed at once: the same
// nodes are looked at in the same order, two to three times faster.
#pragma once

#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu.hpp"
#include "graph_space.hpp"

namespace poincare {

using Hnsw = hnswlib::HierarchicalNSW<float>;
using NodeId = hnswlib::tableint;  // hnswlib's number of a node

struct NearNode {
    float surrogate;
    NodeId id;
};

inline bool operator<(const NearNode& x, const NearNode& y) {
    return x.surrogate < y.surrogate || (x.surrogate == y.surrogate && x.id < y.id);
}
inline bool operator>(const NearNode& x, const NearNode& y) {
    return y < x;
}

// What a search works with. Each thread keeps its own from one search to the next.
struct SearchScratch {
    std::vector<std::uint16_t> seen;  // by node: `tag` where this search came by
    std::uint16_t tag = 0;
    std::vector<NearNode> frontier;  // heap, the nearest on top
    std::vector<NearNode> nearest;   // heap, the farthest on top
    std::vector<char> expanded;      // of `nearest`, where it is a sorted pool
    std::vector<NodeId> fresh;
    std::vector<const float*> rows;
    std::vector<float> surrogates;

    void start(std::size_t nodes, std::size_t links) {
        if (seen.size() < nodes) seen.resize(nodes + nodes / 2, 0);
        if (++tag == 0) {
            std::fill(seen.begin(), seen.end(), std::uint16_t{0});
            tag = 1;
        }
        frontier.clear();
        nearest.clear();
        fresh.resize(links + 1);
        rows.resize(links + 1);
        surrogates.resize(links);
    }

    static SearchScratch& of_this_thread() {
        static thread_local SearchScratch scratch;
        return scratch;
    }
};

inline void fetch_ahead(const void* from, std::size_t bytes) {
#ifdef POINCARE_VECTOR_TYPES
    const char* at = static_cast<const char*>(from);
    for (std::size_t offset = 0; offset < bytes; offset += 64) __builtin_prefetch(at + offset);
#else
    static_cast<void>(from);
    static_cast<void>(bytes);
#endif
}

class GraphSearch {
  public:
    GraphSearch(const Hnsw& graph, const GraphSpace& space, const float* query)
        : graph_(graph), space_(space), query_(query), scratch_(SearchScratch::of_this_thread()) {}

    // How far a search goes: to the `ef` nearest; once it has `least` of them, no farther than `limit`.
    struct Effort {
        std::size_t ef;
        std::size_t least;
        float limit;
        bool spent(std::size_t found, float next) const { return found >= least && next > limit; }
    };

    // The nearest nodes, in no order; valid until this thread searches again.
    std::vector<NearNode>& run(const Effort& effort) {
        const std::size_t ef = effort.ef;
        start();
        std::vector<NearNode>& pool = scratch_.nearest;  // sorted; what is not expanded yet is the frontier
        if (graph_.maxlevel_ < 0) return pool;
        std::vector<char>& expanded = scratch_.expanded;
        expanded.clear();
        enter(pool, ef, descend());
        for (std::size_t next = 0; next < pool.size();) {
            if (effort.spent(next, pool[next].surrogate)) break;
            expanded[next] = 1;
            const std::size_t count = gather(graph_.get_linklist0(pool[next].id));
            compare(count);
            for (std::size_t i = 0; i < count; ++i)
                next = std::min(next, enter(pool, ef, {scratch_.surrogates[i], scratch_.fresh[i]}));
            while (next < pool.size() && expanded[next]) ++next;
            if (next < pool.size()) fetch_links(pool[next].id);
        }
        return pool;
    }

    // The nearest nodes that `passes`. Others are passed through.
    template <typename Passes>
    std::vector<NearNode>& run(const Effort& effort, const Passes& passes) {
        const std::size_t ef = effort.ef;
        start();
        if (graph_.maxlevel_ < 0) return scratch_.nearest;
        consider(descend(), ef, passes);
        while (!scratch_.frontier.empty()) {
            const NearNode closest = scratch_.frontier.front();
            if (scratch_.nearest.size() >= ef && closest.surrogate > scratch_.nearest.front().surrogate)
                break;
            if (closest.surrogate > effort.limit && effort.spent(nearer_than(closest), closest.surrogate))
                break;
            std::pop_heap(scratch_.frontier.begin(), scratch_.frontier.end(), std::greater<NearNode>());
            scratch_.frontier.pop_back();
            const std::size_t count = gather(graph_.get_linklist0(closest.id));
            compare(count);
            for (std::size_t i = 0; i < count; ++i)
                consider({scratch_.surrogates[i], scratch_.fresh[i]}, ef, passes);
            if (!scratch_.frontier.empty()) fetch_links(scratch_.frontier.front().id);
        }
        return scratch_.nearest;
    }

    // All nodes that pass, whatever their links.
    template <typename Passes>
    std::vector<NearNode>& look_at_all(const Passes& passes) {
        start();
        const std::size_t count = graph_.cur_element_count;
        for (NodeId id = 0; id < count; ++id) {
            if (!passes(id)) continue;
            scratch_.rows[0] = row(id);
            space_.surrogates(query_, scratch_.rows.data(), 1, scratch_.surrogates.data());
            scratch_.nearest.push_back({scratch_.surrogates[0], id});
        }
        return scratch_.nearest;
    }

  private:
    static constexpr std::size_t kRowsAhead = 4;
    static constexpr std::size_t kBytesAhead = 1024;  // of a row; the processor goes on by itself

    const float* row(NodeId id) const {
        return reinterpret_cast<const float*>(graph_.getDataByInternalId(id));
    }

    void fetch_links(NodeId id) const { fetch_ahead(graph_.get_linklist0(id), graph_.size_links_level0_); }

    void start() { scratch_.start(graph_.cur_element_count, std::max(graph_.maxM0_, graph_.maxM_)); }

    // Puts a node into its place in the pool of the `ef` nearest; where, or SIZE_MAX where it is farther.
    std::size_t enter(std::vector<NearNode>& pool, std::size_t ef, NearNode node) {
        if (pool.size() >= ef) {
            if (!(node.surrogate < pool.back().surrogate)) return SIZE_MAX;
            pool.pop_back();
            scratch_.expanded.pop_back();
        }
        const auto place = std::upper_bound(pool.begin(), pool.end(), node);
        const std::ptrdiff_t at = place - pool.begin();
        pool.insert(place, node);
        scratch_.expanded.insert(scratch_.expanded.begin() + at, 0);
        return static_cast<std::size_t>(at);
    }

    // How many of those found lie before a node: all of them have been expanded where it is the next.
    std::size_t nearer_than(const NearNode& node) const {
        return static_cast<std::size_t>(std::count_if(scratch_.nearest.begin(), scratch_.nearest.end(),
                                                      [&](const NearNode& found) { return found < node; }));
    }

    template <typename Passes>
    void consider(NearNode node, std::size_t ef, const Passes& passes) {
        std::vector<NearNode>& nearest = scratch_.nearest;
        if (nearest.size() >= ef && !(node.surrogate < nearest.front().surrogate)) return;
        scratch_.frontier.push_back(node);
        std::push_heap(scratch_.frontier.begin(), scratch_.frontier.end(), std::greater<NearNode>());
        if (!passes(node.id)) return;
        if (nearest.size() >= ef) {
            std::pop_heap(nearest.begin(), nearest.end());
            nearest.back() = node;
        } else {
            nearest.push_back(node);
        }
        std::push_heap(nearest.begin(), nearest.end());
    }

    // Neighbours that this search did not come by yet go to `fresh`.
    std::size_t gather(const hnswlib::linklistsizeint* list) {
        const std::size_t size = graph_.getListCount(const_cast<hnswlib::linklistsizeint*>(list));
        const NodeId* neighbours = list + 1;
        std::size_t count = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const NodeId id = neighbours[i];
            scratch_.fresh[count] = id;
            scratch_.rows[count] = row(id);
            count += scratch_.seen[id] != scratch_.tag;  // no branch: it would be guessed wrong half the time
            scratch_.seen[id] = scratch_.tag;
        }
        return count;
    }

    void compare(std::size_t count) {
        const std::size_t bytes = std::min(graph_.data_size_, kBytesAhead);
        for (std::size_t i = 0; i < std::min(count, kRowsAhead); ++i) fetch_ahead(scratch_.rows[i], bytes);
        for (std::size_t begin = 0; begin < count; begin += kRowsAhead) {
            const std::size_t end = std::min(begin + kRowsAhead, count);
            for (std::size_t i = end; i < std::min(end + kRowsAhead, count); ++i)
                fetch_ahead(scratch_.rows[i], bytes);
            space_.surrogates(query_, scratch_.rows.data() + begin, end - begin,
                              scratch_.surrogates.data() + begin);
        }
    }

    // Where the base layer is entered: the nearest that greedy steps through the layers above find.
    NearNode descend() {
        NearNode best{0, graph_.enterpoint_node_};
        scratch_.rows[0] = row(best.id);
        space_.surrogates(query_, scratch_.rows.data(), 1, &best.surrogate);
        for (int level = graph_.maxlevel_; level > 0; --level)
            for (bool moved = true; moved;) {
                moved = false;
                const hnswlib::linklistsizeint* list = graph_.get_linklist(best.id, level);
                const std::size_t count = graph_.getListCount(const_cast<hnswlib::linklistsizeint*>(list));
                for (std::size_t i = 0; i < count; ++i) {
                    scratch_.fresh[i] = list[i + 1];
                    scratch_.rows[i] = row(list[i + 1]);
                }
                compare(count);
                for (std::size_t i = 0; i < count; ++i)
                    if (scratch_.surrogates[i] < best.surrogate) {
                        best = {scratch_.surrogates[i], scratch_.fresh[i]};
                        moved = true;
                    }
            }
        scratch_.seen[best.id] = scratch_.tag;
        return best;
    }

    const Hnsw& graph_;
    const GraphSpace& space_;
    const float* query_;
    SearchScratch& scratch_;
};

}  // namespace poincare
