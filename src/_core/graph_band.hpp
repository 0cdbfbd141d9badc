// The nodes of one band of radii: one hnswlib graph, one node a different row.
//
// Many copies of a vector would fill each other's neighbour lists and cut the graph, so they share a node. A
// node whose last label has gone is dead: searches pass through it, and the next new row uses it again.
// hnswlib's own mark for that is not used: where all that an insertion finds is marked, hnswlib 0.8.0 takes
// the last of no neighbours.
#pragma once

#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "graph_search.hpp"
#include "graph_space.hpp"
#include "interrupt.hpp"

namespace poincare {

struct GraphParameters {
    std::size_t m;                // links a node makes; it keeps twice as many in the base layer
    std::size_t ef_construction;  // candidates a new node's links are chosen from
    std::uint64_t seed;
};

class GraphBand {
  public:
    GraphBand(GraphSpace& space, const GraphParameters& parameters, std::size_t capacity)
        : space_(space),
          seed_(parameters.seed),
          level_scale_(1.0 / std::log(static_cast<double>(parameters.m))) {
        graph_ = std::make_unique<Hnsw>(&space_, std::max<std::size_t>(capacity, 16), parameters.m,
                                        parameters.ef_construction, 0);
        // Levels are drawn in level_of(), from the node's number: the same graph whatever thread adds the
        // node.
        graph_->mult_ = 0.0;
        // hnswlib fetches the row behind the last link of a list ahead; in the lists above the base layer
        // that link would lie beyond the allocation. One more place a list, always zero.
        graph_->size_links_per_element_ += sizeof(hnswlib::tableint);
        // These 65,536 mutexes (2.6 MB) serve calls that are not made here.
        std::vector<std::mutex>().swap(graph_->label_op_locks_);
        align_rows();
        dead_.resize(graph_->getMaxElements(), 0);
    }

    // --- nodes and their labels ------------------------------------------------------------------------

    std::size_t nodes() const { return heads_.size() - free_nodes_.size() - abandoned_; }
    std::int32_t head(std::size_t node) const { return heads_[node]; }
    void set_head(std::size_t node, std::int32_t label) { heads_[node] = label; }

    // Nodes that a call brings, not yet in the graph.
    struct NewNode {
        std::size_t node;
        const float* row;
        bool inserted;
    };
    struct Batch {
        std::vector<NewNode> nodes;
        std::unordered_multimap<std::uint64_t, std::size_t> by_hash;  // to a position in nodes
        std::size_t whole_before = SIZE_MAX;  // elements of the graph before an insert() that failed
    };

    // The node of a row: one that is there, or one that `batch` has or gets.
    std::size_t node_for(const float* row, Batch& batch) {
        const std::uint64_t hash = fingerprint(row);
        const auto known = nodes_by_hash_.equal_range(hash);
        for (auto it = known.first; it != known.second; ++it)
            if (same_row(row, row_of(it->second))) return it->second;
        const auto pending = batch.by_hash.equal_range(hash);
        for (auto it = pending.first; it != pending.second; ++it)
            if (same_row(row, batch.nodes[it->second].row)) return batch.nodes[it->second].node;
        batch.nodes.reserve(next_size(batch.nodes.capacity(), batch.nodes.size() + 1));
        const std::size_t node = take_node();
        batch.nodes.push_back({node, row, false});
        batch.by_hash.emplace(hash, batch.nodes.size() - 1);
        return node;
    }

    // A node without labels is dead, and free.
    void retire(std::size_t node) {
        const auto range = nodes_by_hash_.equal_range(fingerprint(row_of(node)));
        for (auto it = range.first; it != range.second; ++it)
            if (it->second == node) {
                nodes_by_hash_.erase(it);
                break;
            }
        set_dead(graph_->label_lookup_.at(node), true);
        free_nodes_.push_back(node);  // never grows: see take_node()
    }

    // Puts the batch into the graph. Where that fails half-way, `inserted` tells which nodes are in, and
    // give_up() is due for the others.
    void insert(Batch& batch, int threads) {
        heads_.reserve(heads_.size() + batch.nodes.size());  // for what is abandoned
        nodes_by_hash_.reserve(nodes_by_hash_.size() + batch.nodes.size());
        grow_for(heads_.size());
        const std::size_t before = graph_->cur_element_count;
        std::vector<char> known(batch.nodes.size(), 0);
        try {
            std::vector<NewNode*> fresh;
            InterruptPoll poll;
            for (NewNode& added : batch.nodes) {
                if (graph_->label_lookup_.count(added.node) == 0)
                    fresh.push_back(&added);
                else  // reuse rewires neighbours: never in parallel
                {
                    poll();
                    insert_one(added);
                }
            }
            insert_fresh(fresh, threads, poll);
            for (const NewNode& added : batch.nodes)
                nodes_by_hash_.emplace(fingerprint(added.row), added.node);
        } catch (...) {
            abandon_from(before, batch, known);
            throw;
        }
    }

    // After a failed insert(), once no label points to what is not inserted.
    void give_up(const Batch& batch) {
        for (const NewNode& added : batch.nodes) {
            if (added.inserted) continue;
            const auto in = graph_->label_lookup_.find(added.node);
            if (in == graph_->label_lookup_.end()) {
                free_nodes_.push_back(added.node);
            } else if (in->second < batch.whole_before) {  // it was there, and free
                set_dead(in->second, true);
                free_nodes_.push_back(added.node);
            } else {
                ++abandoned_;
            }
        }
    }

    // --- search ----------------------------------------------------------------------------------------

    using Effort = GraphSearch::Effort;

    // The nearest nodes that `passes`, in no order; `id` is that of hnswlib, node_at() makes it ours.
    std::vector<NearNode>& search(const float* query, const Effort& effort) const {
        if (dead_count_ > 0) return search(query, effort, [](std::size_t) { return true; });
        GraphSearch search(*graph_, space_, query);
        const auto all = [](NodeId) { return true; };
        return graph_->cur_element_count <= kAllBelow ? search.look_at_all(all) : search.run(effort);
    }
    template <typename Passes>
    std::vector<NearNode>& search(const float* query, const Effort& effort, const Passes& passes) const {
        GraphSearch search(*graph_, space_, query);
        const auto passing = [&](NodeId id) { return dead_[id] == 0 && passes(node_at(id)); };
        return graph_->cur_element_count <= kAllBelow ? search.look_at_all(passing)
                                                      : search.run(effort, passing);
    }

    std::size_t node_at(NodeId id) const { return graph_->getExternalLabel(id); }

  private:
    friend class GraphFile;

    static constexpr std::size_t kAllBelow = 128;  // nodes that are as quickly looked at one by one

    // Rows begin at a cache line where the allocator gives a large block its usual place, 16 bytes into a
    // page.
    void align_rows() {
        constexpr std::size_t line = 64, header = 16;
        const auto round_up = [](std::size_t size) { return (size + line - 1) / line * line; };
        graph_->offsetData_ = round_up(graph_->size_links_level0_ + header) - header;
        graph_->label_offset_ = graph_->offsetData_ + graph_->data_size_;
        graph_->size_data_per_element_ = round_up(graph_->label_offset_ + sizeof(hnswlib::labeltype));
        const std::size_t bytes = graph_->max_elements_ * graph_->size_data_per_element_;
        char* wider = static_cast<char*>(std::realloc(graph_->data_level0_memory_, bytes));
        if (wider == nullptr) throw std::bad_alloc();
        graph_->data_level0_memory_ = wider;
        ask_for_large_pages();
    }

    // A search touches rows all over the place: with pages of 4 kB most of them miss the TLB.
    void ask_for_large_pages() {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        constexpr std::uintptr_t page = 4096;
        const std::size_t bytes = graph_->max_elements_ * graph_->size_data_per_element_;
        if (bytes < std::size_t{4} << 20) return;
        const auto begin = reinterpret_cast<std::uintptr_t>(graph_->data_level0_memory_);
        const std::uintptr_t first = (begin + page - 1) / page * page;
        madvise(reinterpret_cast<void*>(first), begin + bytes - first, MADV_HUGEPAGE);
#endif
    }

    std::uint64_t fingerprint(const float* row) const {
        std::uint64_t hash = 1469598103934665603ull;
        for (std::size_t i = 0; i < space_.row_length(); ++i) {
            std::uint32_t bits;
            const float value = row[i] + 0.0f;  // −0 and +0 are one direction
            std::memcpy(&bits, &value, sizeof(bits));
            hash = (hash ^ bits) * 1099511628211ull;
            hash ^= hash >> 29;
        }
        return hash;
    }

    const float* row_at(NodeId id) const {
        return reinterpret_cast<const float*>(graph_->getDataByInternalId(id));
    }
    const float* row_of(std::size_t node) const { return row_at(graph_->label_lookup_.at(node)); }
    bool same_row(const float* x, const float* y) const { return std::equal(x, x + space_.row_length(), y); }

    std::size_t take_node() {
        if (!free_nodes_.empty()) {
            const std::size_t node = free_nodes_.back();
            free_nodes_.pop_back();
            return node;
        }
        free_nodes_.reserve(next_size(free_nodes_.capacity(), heads_.size() + 1));  // retire() must not fail
        heads_.push_back(-1);
        return heads_.size() - 1;
    }

    static std::size_t next_size(std::size_t now, std::size_t least) {
        return least <= now ? now : std::max(least, now + now / 2);
    }

    // The node's top level: exponential with scale 1/ln m, drawn from the seed and the node's number.
    int level_of(std::size_t node) const {
        std::uint64_t z = seed_ + (static_cast<std::uint64_t>(node) + 1) * 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        z ^= z >> 31;
        const double uniform = (static_cast<double>(z >> 11) + 1.0) * 0x1p-53;
        return std::min(static_cast<int>(-std::log(uniform) * level_scale_), kHighestLevel);
    }

    void set_dead(NodeId id, bool dead) noexcept {
        dead_count_ += static_cast<std::size_t>(dead) - dead_[id];
        dead_[id] = dead ? 1 : 0;
    }

    void grow_for(std::size_t nodes) {
        if (nodes <= graph_->getMaxElements()) return;
        const std::size_t room = next_size(graph_->getMaxElements(), nodes);
        dead_.resize(room, 0);
        graph_->resizeIndex(room);
        ask_for_large_pages();
    }

    void insert_one(NewNode& added) {
        const NodeId id = graph_->addPoint(added.row, added.node, level_of(added.node));
        if (dead_[id]) set_dead(id, false);
        added.inserted = true;
    }

    void insert_fresh(const std::vector<NewNode*>& fresh, int threads, InterruptPoll& poll) {
        // The first nodes are linked by one thread: many that start on an empty graph would miss each other.
        const std::size_t serial = threads <= 1 ? fresh.size() : std::min<std::size_t>(fresh.size(), 256);
        for (std::size_t i = 0; i < serial; ++i) {
            poll();
            insert_one(*fresh[i]);
        }
        if (serial == fresh.size()) return;
        std::atomic<std::size_t> next{serial};
        std::exception_ptr first;
        std::mutex keep;
        const auto work = [&] {
            try {
                for (std::size_t i = next++; i < fresh.size(); i = next++) {
                    poll();
                    insert_one(*fresh[i]);
                }
            } catch (...) {
                const std::lock_guard<std::mutex> hold(keep);
                if (!first) first = std::current_exception();
                next = fresh.size();
            }
        };
        std::vector<std::thread> workers;
        try {
            workers.reserve(static_cast<std::size_t>(threads));
            for (int t = 1; t < threads; ++t) workers.emplace_back(work);
        } catch (const std::exception&) {  // no more threads to be had: those that there are do it
        }
        work();
        for (std::thread& worker : workers) worker.join();
        if (first) std::rethrow_exception(first);
    }

    // hnswlib counts an element before all of it is there. What it left unfinished from `first` on is dead
    // for ever; of what may be linked to, every list leads on. No allocation here.
    void abandon_from(std::size_t first, Batch& batch, std::vector<char>& known) noexcept {
        batch.whole_before = first;
        for (const NewNode& added : batch.nodes) {
            const auto in = graph_->label_lookup_.find(added.node);
            if (in == graph_->label_lookup_.end() || in->second < first) continue;
            known[in->second - first] = 1;
            if (!added.inserted) abandon(in->second);
        }
        for (std::size_t id = first; id < graph_->cur_element_count; ++id) {
            if (known[id - first]) continue;
            char* record = graph_->data_level0_memory_ + id * graph_->size_data_per_element_;
            std::memset(record, 0, graph_->size_data_per_element_);
            graph_->setExternalLabel(static_cast<NodeId>(id), heads_.size());
            heads_.push_back(-1);  // reserved
            ++abandoned_;
            abandon(static_cast<NodeId>(id));
        }
    }

    void abandon(NodeId id) noexcept {
        set_dead(id, true);
        int& levels = graph_->element_levels_[id];
        if (levels > 0 && graph_->linkLists_[id] == nullptr) levels = 0;
        for (int level = levels; level > 0; --level) {  // from the top, as hnswlib links it
            hnswlib::linklistsizeint* below = graph_->get_linklist_at_level(id, level - 1);
            const hnswlib::linklistsizeint* list = graph_->get_linklist(id, level);
            if (graph_->getListCount(below) > 0) break;
            const unsigned short count = graph_->getListCount(const_cast<hnswlib::linklistsizeint*>(list));
            graph_->setListCount(below, count);
            std::copy(list + 1, list + 1 + count, below + 1);
        }
    }

    static constexpr int kHighestLevel = 60;

    GraphSpace& space_;
    std::uint64_t seed_;
    double level_scale_;
    std::unique_ptr<Hnsw> graph_;
    std::unordered_multimap<std::uint64_t, std::size_t> nodes_by_hash_;
    std::vector<std::int32_t> heads_;  // by node: its first label, -1 where it has none
    std::vector<std::size_t> free_nodes_;
    std::vector<std::uint8_t> dead_;  // by hnswlib's id
    std::size_t dead_count_ = 0;
    std::size_t abandoned_ = 0;  // nodes that nothing will ever use
};

}  // namespace poincare
