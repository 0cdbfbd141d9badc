// A hierarchical navigable small-world graph (Malkov & Yashunin 2018) over memories, on hnswlib.
//
// Labels are the store's rows. One node stands for all labels with the same row of floats: many copies of a
// vector would otherwise fill each other's neighbour lists and cut the graph. A node whose last label has
// gone is marked deleted and reused by the next new vector.
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
#include <shared_mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph_space.hpp"

namespace poincare {

struct GraphHit {
    std::int64_t label;
    float surrogate;
};

class Graph {
  public:
    Graph(std::size_t dim, GraphMetric metric, std::size_t m, std::size_t ef_construction, std::uint64_t seed,
          std::size_t capacity)
        : dim_(dim), seed_(seed), level_scale_(1.0 / std::log(static_cast<double>(m))), space_(dim, metric) {
        graph_ = std::make_unique<Hnsw>(&space_, std::max<std::size_t>(capacity, 16), m, ef_construction,
                                        static_cast<std::size_t>(seed));
        // Levels are drawn in level_of(), from the node's number: the same graph whatever thread adds the
        // node.
        graph_->mult_ = 0.0;
        // hnswlib fetches the row behind the last link of a list ahead; in the lists above the base layer
        // that link would lie beyond the allocation. One more place a list, always zero.
        graph_->size_links_per_element_ += sizeof(hnswlib::tableint);
    }

    std::size_t dim() const { return dim_; }

    std::size_t size() const {
        const std::shared_lock<std::shared_mutex> hold(guard_);
        return count_;
    }

    std::size_t nodes() const {
        const std::shared_lock<std::shared_mutex> hold(guard_);
        return heads_.size() - free_nodes_.size();
    }

    bool contains(std::int64_t label) const {
        const std::shared_lock<std::shared_mutex> hold(guard_);
        return node_of(label) >= 0;
    }

    // Adds n labels, or moves those that are there already. One thread gives the same graph at each build.
    void add(const std::int64_t* labels, const float* directions, const double* radii, std::size_t n,
             int threads) {
        const std::unique_lock<std::shared_mutex> hold(guard_);
        const std::size_t width = space_.row_length();
        std::vector<float> rows(n * width);
        for (std::size_t i = 0; i < n; ++i)
            space_.write_row(directions + i * dim_, radii[i], rows.data() + i * width);
        Batch batch;
        for (std::size_t i = 0; i < n; ++i) unlink(labels[i]);
        for (std::size_t i = 0; i < n; ++i) link(labels[i], rows.data() + i * width, batch);
        insert(batch, threads);
    }

    void remove(const std::int64_t* labels, std::size_t n) {
        const std::unique_lock<std::shared_mutex> hold(guard_);
        for (std::size_t i = 0; i < n; ++i) unlink(labels[i]);
    }

    // Nearest nodes, nearest first, each with every label that it stands for and that `allowed` (one byte a
    // label, or null) lets through; stops after the node that brings the labels to k.
    std::vector<GraphHit> search(const float* direction, double radius, std::size_t k, std::size_t ef,
                                 const std::uint8_t* allowed, std::size_t allowed_length) const {
        const std::shared_lock<std::shared_mutex> hold(guard_);
        std::vector<GraphHit> hits;
        if (count_ == 0 || k == 0) return hits;
        std::vector<float> query(space_.row_length());
        space_.write_row(direction, radius, query.data());
        Allowed filter(*this, allowed, allowed_length);
        Nearest nearest(std::max(k, ef));
        const auto found =
            graph_->searchStopConditionClosest(query.data(), nearest, allowed ? &filter : nullptr);
        for (const auto& [surrogate, place] : found) {
            if (hits.size() >= k) break;
            // hnswlib 0.8.0 returns its internal ids here, whose order is that in which threads came.
            const std::size_t node = graph_->getExternalLabel(static_cast<hnswlib::tableint>(place));
            for (std::int32_t label = heads_[node]; label >= 0;
                 label = next_[static_cast<std::size_t>(label)])
                if (!allowed || filter.passes(label)) hits.push_back({label, surrogate});
        }
        return hits;
    }

  private:
    using Hnsw = hnswlib::HierarchicalNSW<float>;

    struct NewNode {
        std::size_t node;
        const float* row;
    };

    // Nodes that a call to add() brings, not yet in the graph.
    struct Batch {
        std::vector<NewNode> nodes;
        std::unordered_multimap<std::uint64_t, std::size_t> by_hash;  // to a position in nodes
    };

    class Allowed final : public hnswlib::BaseFilterFunctor {
      public:
        Allowed(const Graph& graph, const std::uint8_t* mask, std::size_t length)
            : graph_(graph), mask_(mask), length_(length) {}
        bool passes(std::int32_t label) const {
            return static_cast<std::size_t>(label) < length_ && mask_[label] != 0;
        }
        bool operator()(hnswlib::labeltype node) override {
            for (std::int32_t label = graph_.heads_[node]; label >= 0;
                 label = graph_.next_[static_cast<std::size_t>(label)])
                if (passes(label)) return true;
            return false;
        }

      private:
        const Graph& graph_;
        const std::uint8_t* mask_;
        std::size_t length_;
    };

    // hnswlib's plain rule with ef given by the call: setEf is shared state that threads would fight over.
    class Nearest final : public hnswlib::BaseSearchStopCondition<float> {
      public:
        explicit Nearest(std::size_t ef) : ef_(ef) {}
        void add_point_to_result(hnswlib::labeltype, const void*, float) override { ++held_; }
        void remove_point_from_result(hnswlib::labeltype, const void*, float) override { --held_; }
        bool should_stop_search(float candidate, float worst) override {
            return candidate > worst && held_ == ef_;
        }
        bool should_consider_candidate(float candidate, float worst) override {
            return held_ < ef_ || worst > candidate;
        }
        bool should_remove_extra() override { return held_ > ef_; }
        void filter_results(std::vector<std::pair<float, hnswlib::labeltype>>&) override {}

      private:
        std::size_t ef_;
        std::size_t held_ = 0;
    };

    std::int32_t node_of(std::int64_t label) const {
        if (label < 0 || static_cast<std::size_t>(label) >= node_of_label_.size()) return -1;
        return node_of_label_[static_cast<std::size_t>(label)];
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

    const float* row_of(std::size_t node) const {
        return reinterpret_cast<const float*>(graph_->getDataByInternalId(graph_->label_lookup_.at(node)));
    }

    bool same_row(const float* x, const float* y) const { return std::equal(x, x + space_.row_length(), y); }

    std::int64_t find_node(std::uint64_t hash, const float* row, const Batch& batch) const {
        const auto known = nodes_by_hash_.equal_range(hash);
        for (auto it = known.first; it != known.second; ++it)
            if (same_row(row, row_of(it->second))) return static_cast<std::int64_t>(it->second);
        const auto pending = batch.by_hash.equal_range(hash);
        for (auto it = pending.first; it != pending.second; ++it)
            if (same_row(row, batch.nodes[it->second].row))
                return static_cast<std::int64_t>(batch.nodes[it->second].node);
        return -1;
    }

    std::size_t take_node() {
        if (free_nodes_.empty()) {
            heads_.push_back(-1);
            return heads_.size() - 1;
        }
        const std::size_t node = free_nodes_.back();
        free_nodes_.pop_back();
        return node;
    }

    void link(std::int64_t label, const float* row, Batch& batch) {
        const std::size_t at = static_cast<std::size_t>(label);
        if (at >= node_of_label_.size()) {
            node_of_label_.resize(at + 1, -1);
            next_.resize(at + 1, -1);
            previous_.resize(at + 1, -1);
        }
        const std::uint64_t hash = fingerprint(row);
        std::int64_t node = find_node(hash, row, batch);
        if (node < 0) {
            node = static_cast<std::int64_t>(take_node());
            batch.by_hash.emplace(hash, batch.nodes.size());
            batch.nodes.push_back({static_cast<std::size_t>(node), row});
        }
        const std::int32_t head = heads_[static_cast<std::size_t>(node)];
        next_[at] = head;
        previous_[at] = -1;
        if (head >= 0) previous_[static_cast<std::size_t>(head)] = static_cast<std::int32_t>(label);
        heads_[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(label);
        node_of_label_[at] = static_cast<std::int32_t>(node);
        ++count_;
    }

    // Takes a label out, if it is in; a node without labels is marked deleted and becomes free.
    void unlink(std::int64_t label) {
        const std::int32_t node = node_of(label);
        if (node < 0) return;
        const std::size_t at = static_cast<std::size_t>(label);
        if (next_[at] >= 0) previous_[static_cast<std::size_t>(next_[at])] = previous_[at];
        if (previous_[at] >= 0)
            next_[static_cast<std::size_t>(previous_[at])] = next_[at];
        else
            heads_[static_cast<std::size_t>(node)] = next_[at];
        node_of_label_[at] = -1;
        --count_;
        if (heads_[static_cast<std::size_t>(node)] < 0) retire(static_cast<std::size_t>(node));
    }

    void retire(std::size_t node) {
        const auto range = nodes_by_hash_.equal_range(fingerprint(row_of(node)));
        for (auto it = range.first; it != range.second; ++it)
            if (it->second == node) {
                nodes_by_hash_.erase(it);
                break;
            }
        graph_->markDelete(node);
        free_nodes_.push_back(node);
    }

    // The node's top level: exponential with scale 1/ln m, drawn from the seed and the node's number.
    int level_of(std::size_t node) const {
        std::uint64_t z = seed_ + (static_cast<std::uint64_t>(node) + 1) * 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        z ^= z >> 31;
        const double uniform = (static_cast<double>(z >> 11) + 1.0) * 0x1p-53;
        return static_cast<int>(-std::log(uniform) * level_scale_);
    }

    void grow_for(std::size_t nodes) {
        if (nodes > graph_->getMaxElements())
            graph_->resizeIndex(std::max(nodes, graph_->getMaxElements() + graph_->getMaxElements() / 2));
    }

    void insert(const Batch& batch, int threads) {
        grow_for(heads_.size());
        std::vector<NewNode> fresh;
        for (const NewNode& added : batch.nodes) {
            if (graph_->label_lookup_.count(added.node) != 0)  // reuse rewires neighbours: never in parallel
                graph_->addPoint(added.row, added.node, level_of(added.node));
            else
                fresh.push_back(added);
        }
        insert_fresh(fresh, threads);
        for (const NewNode& added : batch.nodes) nodes_by_hash_.emplace(fingerprint(added.row), added.node);
    }

    void insert_fresh(const std::vector<NewNode>& fresh, int threads) {
        const auto add_one = [&](std::size_t i) {
            graph_->addPoint(fresh[i].row, fresh[i].node, level_of(fresh[i].node));
        };
        // The first nodes are linked by one thread: many that start on an empty graph would miss each other.
        const std::size_t serial = threads <= 1 ? fresh.size() : std::min<std::size_t>(fresh.size(), 256);
        for (std::size_t i = 0; i < serial; ++i) add_one(i);
        if (serial == fresh.size()) return;
        std::atomic<std::size_t> next{serial};
        std::exception_ptr first;
        std::mutex keep;
        const auto work = [&] {
            try {
                for (std::size_t i = next++; i < fresh.size(); i = next++) add_one(i);
            } catch (...) {
                const std::lock_guard<std::mutex> hold(keep);
                if (!first) first = std::current_exception();
                next = fresh.size();
            }
        };
        std::vector<std::thread> workers;
        workers.reserve(static_cast<std::size_t>(threads));
        try {
            for (int t = 1; t < threads; ++t) workers.emplace_back(work);
        } catch (const std::system_error&) {  // no more threads to be had: those that there are do it
        }
        work();
        for (std::thread& worker : workers) worker.join();
        if (first) std::rethrow_exception(first);
    }

    std::size_t dim_;
    std::uint64_t seed_;
    double level_scale_;
    mutable GraphSpace space_;
    std::unique_ptr<Hnsw> graph_;
    mutable std::shared_mutex guard_;
    std::size_t count_ = 0;
    std::unordered_multimap<std::uint64_t, std::size_t> nodes_by_hash_;
    std::vector<std::int32_t> node_of_label_, next_, previous_;  // by label: the chain of a node's labels
    std::vector<std::int32_t> heads_;                            // by node: its first label
    std::vector<std::size_t> free_nodes_;
};

}  // namespace poincare
