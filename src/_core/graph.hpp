// A graph over memories: labels are the store's rows, distances those of the ball or of one shell.
//
// One hnswlib graph (Malkov & Yashunin 2018) serves a shell. Where radii differ, one graph a band of radii
// does: in hyperbolic space a few points near the centre are closer to all others than those are to each
// other, so in one graph every link leads to them and most of a tree cannot be reached (measured: 8 % of its
// nodes). Within a band no point is in the middle of the others. A search asks the bands, nearest first, and
// skips those that cannot hold anything nearer than what it has; in the others it goes no farther than that,
// once it has seen a few.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "graph_band.hpp"
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
        : parameters_{m, ef_construction, seed}, metric_(metric), capacity_(capacity), space_(dim, metric) {
        band(0);
    }

    std::size_t dim() const { return space_.dim(); }
    GraphMetric metric() const { return metric_; }
    const GraphParameters& parameters() const { return parameters_; }

    std::size_t size() const {
        const std::shared_lock<std::shared_mutex> hold(guard_);
        return count_;
    }

    std::size_t nodes() const {
        const std::shared_lock<std::shared_mutex> hold(guard_);
        std::size_t sum = 0;
        for (const auto& [number, band] : bands_) sum += band->nodes();
        return sum;
    }

    bool contains(std::int64_t label) const {
        const std::shared_lock<std::shared_mutex> hold(guard_);
        return holds(label);
    }

    // The labels that are not in.
    std::vector<std::int64_t> missing(const std::int64_t* labels, std::size_t n) const {
        const std::shared_lock<std::shared_mutex> hold(guard_);
        std::vector<std::int64_t> absent;
        for (std::size_t i = 0; i < n; ++i)
            if (!holds(labels[i])) absent.push_back(labels[i]);
        return absent;
    }

    // Adds n different labels, or moves those that are there already. One thread gives the same graph at each
    // build. Where it throws, each of the labels is in at its new place, or not in at all; all others are as
    // before.
    void add(const std::int64_t* labels, const float* directions, const double* radii, std::size_t n,
             int threads) {
        const std::unique_lock<std::shared_mutex> hold(guard_);
        const std::size_t width = space_.row_length();
        std::vector<float> rows(n * width);
        std::map<int, GraphBand::Batch> batches;
        std::int64_t last = -1;
        for (std::size_t i = 0; i < n; ++i) {
            space_.write_row(directions + i * space_.dim(), radii[i], rows.data() + i * width);
            batches[band_number(radii[i])];
            last = std::max(last, labels[i]);
        }
        for (const auto& [number, batch] : batches) band(number);
        if (static_cast<std::size_t>(last + 1) > places_.size())
            places_.resize(static_cast<std::size_t>(last + 1));
        try {
            for (std::size_t i = 0; i < n; ++i) unlink(labels[i]);
            for (std::size_t i = 0; i < n; ++i) {
                const int number = band_number(radii[i]);
                GraphBand& its_band = band(number);
                link(labels[i], number, its_band,
                     its_band.node_for(rows.data() + i * width, batches[number]));
            }
            for (auto& [number, batch] : batches) band(number).insert(batch, threads);
        } catch (...) {
            for (auto& [number, batch] : batches) {
                GraphBand& its_band = band(number);
                for (const GraphBand::NewNode& added : batch.nodes)
                    if (!added.inserted) unlink_all(its_band, added.node);
                its_band.give_up(batch);
            }
            throw;
        }
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
        const Mask mask{allowed, allowed_length};
        std::vector<Found> nearest;
        for (const auto& [bound, number] : bands_by_nearness(radius)) {
            const bool full = nearest.size() >= k;
            if (full && bound > nearest[k - 1].surrogate) break;
            const float limit = full ? nearest[k - 1].surrogate : std::numeric_limits<float>::infinity();
            look_into(number, query.data(), {std::max(k, ef), kGraphLeastOfBand, limit}, mask, nearest);
        }
        for (const Found& found : nearest) {
            if (hits.size() >= k) break;
            for (std::int32_t label = found.head; label >= 0; label = place(label).next)
                if (mask.passes(label)) hits.push_back({label, found.surrogate});
        }
        return hits;
    }

  private:
    friend class GraphFile;

    // Where a label is: the band, its node there, its neighbours in the chain of that node's labels.
    struct Place {
        std::int32_t node = -1, next = -1, previous = -1;
        std::int16_t band = 0;
    };

    struct Found {
        float surrogate;
        std::int32_t head;  // first label of the node
    };

    struct Mask {
        const std::uint8_t* flags;
        std::size_t length;
        bool passes(std::int32_t label) const {
            return flags == nullptr || (static_cast<std::size_t>(label) < length && flags[label] != 0);
        }
    };

    Place& place(std::int64_t label) { return places_[static_cast<std::size_t>(label)]; }
    const Place& place(std::int64_t label) const { return places_[static_cast<std::size_t>(label)]; }

    bool holds(std::int64_t label) const {
        return label >= 0 && static_cast<std::size_t>(label) < places_.size() && place(label).node >= 0;
    }

    // --- bands -----------------------------------------------------------------------------------------

    int band_number(double radius) const {
        return metric_ == GraphMetric::shell ? 0 : static_cast<int>(radius / kGraphBandWidth);
    }

    GraphBand& band(int number) {
        std::unique_ptr<GraphBand>& found = bands_[number];
        if (!found) {
            const std::size_t room = metric_ == GraphMetric::shell ? capacity_ : 0;
            found = std::make_unique<GraphBand>(space_, parameters_, room);
        }
        return *found;
    }

    // Each band with the least surrogate that anything in it can have, nearest first.
    std::vector<std::pair<float, int>> bands_by_nearness(double radius) const {
        std::vector<std::pair<float, int>> order;
        order.reserve(bands_.size());
        for (const auto& [number, band] : bands_) {
            if (band->nodes() == 0) continue;
            const float bound = metric_ == GraphMetric::shell
                                    ? 0.0f
                                    : GraphSpace::least_surrogate(radius, number * kGraphBandWidth,
                                                                  (number + 1) * kGraphBandWidth);
            order.emplace_back(bound, number);
        }
        std::sort(order.begin(), order.end());
        return order;
    }

    void look_into(int number, const float* query, const GraphBand::Effort& effort, const Mask& mask,
                   std::vector<Found>& nearest) const {
        const std::size_t ef = effort.ef;
        const GraphBand& band = *bands_.at(number);
        const auto passes = [&](std::size_t node) {
            for (std::int32_t label = band.head(node); label >= 0; label = place(label).next)
                if (mask.passes(label)) return true;
            return false;
        };
        std::vector<NearNode>& found =
            mask.flags == nullptr ? band.search(query, effort) : band.search(query, effort, passes);
        const std::size_t kept = std::min(found.size(), ef);
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end());
        const std::size_t before = nearest.size();
        for (std::size_t i = 0; i < kept; ++i)
            nearest.push_back({found[i].surrogate, band.head(band.node_at(found[i].id))});
        const auto nearer = [](const Found& x, const Found& y) { return x.surrogate < y.surrogate; };
        std::inplace_merge(nearest.begin(), nearest.begin() + static_cast<std::ptrdiff_t>(before),
                           nearest.end(), nearer);
        if (nearest.size() > ef) nearest.resize(ef);
    }

    // --- labels ----------------------------------------------------------------------------------------

    void link(std::int64_t label, int number, GraphBand& band, std::size_t node) noexcept {
        const std::int32_t head = band.head(node);
        Place& its_place = place(label);
        its_place = {static_cast<std::int32_t>(node), head, -1, static_cast<std::int16_t>(number)};
        if (head >= 0) place(head).previous = static_cast<std::int32_t>(label);
        band.set_head(node, static_cast<std::int32_t>(label));
        ++count_;
    }

    // Takes a label out of its chain; true where that was the node's last one.
    bool unchain(std::int64_t label, GraphBand& band) noexcept {
        const Place gone = place(label);
        if (gone.next >= 0) place(gone.next).previous = gone.previous;
        if (gone.previous >= 0)
            place(gone.previous).next = gone.next;
        else
            band.set_head(static_cast<std::size_t>(gone.node), gone.next);
        place(label) = Place{};
        --count_;
        return band.head(static_cast<std::size_t>(gone.node)) < 0;
    }

    // Takes a label out, if it is in; a node without labels becomes free.
    void unlink(std::int64_t label) {
        if (!holds(label)) return;
        const std::size_t node = static_cast<std::size_t>(place(label).node);
        GraphBand& its_band = band(place(label).band);
        if (unchain(label, its_band)) its_band.retire(node);
    }

    // The labels of a node that never got into the graph.
    void unlink_all(GraphBand& band, std::size_t node) noexcept {
        while (band.head(node) >= 0) unchain(band.head(node), band);
    }

    GraphParameters parameters_;
    GraphMetric metric_;
    std::size_t capacity_;
    GraphSpace space_;
    std::map<int, std::unique_ptr<GraphBand>> bands_;
    mutable std::shared_mutex guard_;
    std::size_t count_ = 0;
    std::vector<Place> places_;  // by label
};

}  // namespace poincare
