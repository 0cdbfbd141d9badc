// A graph as bytes, and back.
//
// The bytes hold links and, for each node, a fingerprint of its row and the keys of its labels: names that
// stay the same from one process to the next. They do not hold the rows, which whoever loads has anyway; so a
// graph is tied to what it was built from, node by node. A label whose row is another by now is left out, to
// be added again. A node that has lost all its labels stands where its nearest neighbour stands, as a way
// through.
//
// Nothing that is read is trusted: each count, level, link and key is checked before it is used, whatever the
// checksum says.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph.hpp"

namespace poincare {

struct DamagedGraph : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What a graph is loaded for: rows that may be in it.
struct GraphRows {
    const std::int64_t* labels;
    const std::int64_t* keys;
    const float* directions;
    const double* radii;
    std::size_t count;
};

class GraphFile {
  public:
    // `keys[label]`, for every label of the graph.
    static std::string save(const Graph& graph, const std::int64_t* keys, std::size_t key_count) {
        const std::shared_lock<std::shared_mutex> hold(graph.guard_);
        if (graph.places_.size() > key_count)
            for (std::size_t label = key_count; label < graph.places_.size(); ++label)
                if (graph.places_[label].node >= 0)
                    throw std::invalid_argument("keys: one a label is expected");
        Writer out;
        out.bytes.append(kMagic, sizeof(kMagic));
        out.put(kVersion);
        out.put(kByteOrder);
        for (const std::uint64_t value : settings_of(graph)) out.put(value);
        out.put(static_cast<std::uint64_t>(graph.bands_.size()));
        for (const auto& [number, band] : graph.bands_) {
            out.put(static_cast<std::int32_t>(number));
            save_band(out, graph, *band, keys);
        }
        out.put(checksum(out.bytes.data(), out.bytes.size()));
        return std::move(out.bytes);
    }

    // Throws DamagedGraph where the bytes are no graph with the settings of `graph`, which is empty and stays
    // so.
    static void load(Graph& graph, const char* bytes, std::size_t size, const GraphRows& rows) {
        const std::unique_lock<std::shared_mutex> hold(graph.guard_);
        try {
            load_all(graph, bytes, size, rows);
        } catch (...) {
            graph.bands_.clear();
            graph.places_.clear();
            graph.count_ = 0;
            graph.band(0);
            throw;
        }
    }

  private:
    static constexpr char kMagic[8] = {'P', 'M', 'G', 'R', 'A', 'P', 'H', '\n'};
    static constexpr std::uint32_t kVersion = 1;
    static constexpr std::uint32_t kByteOrder = 0x01020304;
    static constexpr std::size_t kLeastKept = 5;      // at most one element in so many may have lost its row
    static constexpr std::size_t kLeastElement = 12;  // bytes that an element takes at least

    struct Writer {
        std::string bytes;
        template <typename T>
        void put(T value) {
            bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
        }
    };

    struct Reader {
        const char* at;
        const char* end;
        void expect(bool so, const char* what) const {
            if (!so) throw DamagedGraph(std::string("not a usable graph: ") + what);
        }
        template <typename T>
        T get() {
            expect(static_cast<std::size_t>(end - at) >= sizeof(T), "it ends too soon");
            T value;
            std::memcpy(&value, at, sizeof(T));
            at += sizeof(T);
            return value;
        }
    };

    struct Loading {
        Graph& graph;
        const GraphRows& rows;
        std::unordered_map<std::int64_t, std::size_t> by_key;  // to a position in rows
        std::size_t elements, lost;
    };

    static std::vector<std::uint64_t> settings_of(const Graph& graph) {
        return {graph.space_.dim(), static_cast<std::uint64_t>(graph.metric_), graph.parameters_.m,
                graph.parameters_.ef_construction, graph.parameters_.seed};
    }

    static std::uint64_t checksum(const char* bytes, std::size_t size) {
        std::uint64_t hash = 0x9e3779b97f4a7c15ull ^ size;
        for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes + at, std::min(sizeof(word), size - at));
            hash = (hash ^ word) * 0xff51afd7ed558ccdull;
            hash ^= hash >> 32;
        }
        return hash;
    }

    static void load_all(Graph& graph, const char* bytes, std::size_t size, const GraphRows& rows) {
        Reader in{bytes, bytes + size};
        in.expect(size >= sizeof(kMagic) + sizeof(std::uint64_t), "too short");
        in.end -= sizeof(std::uint64_t);
        std::uint64_t sum;
        std::memcpy(&sum, in.end, sizeof(sum));
        in.expect(std::memcmp(in.at, kMagic, sizeof(kMagic)) == 0, "not a graph");
        in.expect(sum == checksum(bytes, size - sizeof(sum)), "checksum");
        in.at += sizeof(kMagic);
        in.expect(in.get<std::uint32_t>() == kVersion, "another version");
        in.expect(in.get<std::uint32_t>() == kByteOrder, "another byte order");
        for (const std::uint64_t value : settings_of(graph))
            in.expect(in.get<std::uint64_t>() == value, "other settings");
        Loading loading{graph, rows, {}, 0, 0};
        loading.by_key.reserve(rows.count);
        std::int64_t last = -1;
        for (std::size_t i = 0; i < rows.count; ++i) {
            loading.by_key.emplace(rows.keys[i], i);
            last = std::max(last, rows.labels[i]);
        }
        graph.places_.assign(static_cast<std::size_t>(last + 1), {});
        graph.bands_.clear();
        const std::uint64_t bands = in.get<std::uint64_t>();
        for (std::uint64_t i = 0; i < bands; ++i) {
            const auto number = in.get<std::int32_t>();
            in.expect(number >= 0 && number <= graph.band_number(kGraphLargestRadius), "band");
            in.expect(graph.bands_.count(number) == 0, "band twice");
            load_band(in, loading, number);
        }
        in.expect(in.at == in.end, "too long");
        in.expect(loading.lost * kLeastKept <= loading.elements, "it is of another state");
        graph.band(0);
    }

    // --- one band --------------------------------------------------------------------------------------

    static void save_band(Writer& out, const Graph& graph, const GraphBand& band, const std::int64_t* keys) {
        const Hnsw& hnsw = *band.graph_;
        const std::size_t count = hnsw.cur_element_count;
        out.put(static_cast<std::uint64_t>(count));
        out.put(static_cast<std::int32_t>(hnsw.maxlevel_));
        out.put(static_cast<std::uint32_t>(hnsw.enterpoint_node_));
        for (NodeId id = 0; id < count; ++id) {
            const int levels = hnsw.element_levels_[id];
            out.put(static_cast<std::uint8_t>(levels));
            for (int level = 0; level <= levels; ++level) {
                const hnswlib::linklistsizeint* list = hnsw.get_linklist_at_level(id, level);
                const std::uint16_t links = hnsw.getListCount(const_cast<hnswlib::linklistsizeint*>(list));
                out.put(links);
                out.bytes.append(reinterpret_cast<const char*>(list + 1), links * sizeof(NodeId));
            }
            const float* row = band.row_at(id);
            const std::size_t labels_at = out.bytes.size();
            std::uint32_t labels = 0;
            out.put(labels);
            if (band.dead_[id]) {
                out.bytes.append(reinterpret_cast<const char*>(row), hnsw.data_size_);
                continue;
            }
            out.put(band.fingerprint(row));
            for (std::int32_t label = band.head(band.node_at(id)); label >= 0;
                 label = graph.place(label).next) {
                out.put(keys[label]);
                ++labels;
            }
            std::memcpy(&out.bytes[labels_at], &labels, sizeof(labels));
        }
    }

    static void load_band(Reader& in, Loading& loading, int number) {
        Graph& graph = loading.graph;
        const auto count = in.get<std::uint64_t>();
        in.expect(count <= static_cast<std::uint64_t>(in.end - in.at) / kLeastElement, "count of nodes");
        const auto top = in.get<std::int32_t>();
        const auto entry = in.get<std::uint32_t>();
        in.expect(count == 0 ? top == -1 : (top >= 0 && top <= GraphBand::kHighestLevel && entry < count),
                  "entry");
        const std::size_t elements = static_cast<std::size_t>(count);
        std::unique_ptr<GraphBand>& band = graph.bands_[number];
        band = std::make_unique<GraphBand>(graph.space_, graph.parameters_, elements);
        band->heads_.assign(elements, -1);
        band->free_nodes_.reserve(elements);
        band->nodes_by_hash_.reserve(elements);
        std::vector<NodeId> lost;
        for (NodeId id = 0; id < elements; ++id) {
            load_links(in, *band->graph_, id, elements);
            if (!load_labels(in, loading, *band, number, id)) lost.push_back(id);
        }
        if (elements > 0) check_levels(in, *band->graph_, top, entry);
        for (const NodeId id : lost) stand_in(*band, id);
        loading.elements += elements;
        loading.lost += lost.size();
    }

    // An element with its links; it counts as the graph's own at once, so that it is given back with it.
    static void load_links(Reader& in, Hnsw& hnsw, NodeId id, std::size_t elements) {
        const int levels = in.get<std::uint8_t>();
        in.expect(levels <= GraphBand::kHighestLevel, "level");
        std::memset(hnsw.data_level0_memory_ + id * hnsw.size_data_per_element_, 0,
                    hnsw.size_data_per_element_);
        if (levels > 0) {
            const std::size_t bytes = hnsw.size_links_per_element_ * static_cast<std::size_t>(levels) + 1;
            hnsw.linkLists_[id] = static_cast<char*>(std::calloc(bytes, 1));
            if (hnsw.linkLists_[id] == nullptr) throw std::bad_alloc();
        }
        hnsw.element_levels_[id] = levels;
        hnsw.cur_element_count = id + 1;
        hnsw.setExternalLabel(id, id);
        hnsw.label_lookup_[id] = id;
        for (int level = 0; level <= levels; ++level) {
            const auto links = in.get<std::uint16_t>();
            in.expect(links <= (level == 0 ? hnsw.maxM0_ : hnsw.maxM_), "count of links");
            hnswlib::linklistsizeint* list = hnsw.get_linklist_at_level(id, level);
            hnsw.setListCount(list, links);
            for (std::size_t i = 1; i <= links; ++i) {
                list[i] = in.get<NodeId>();
                in.expect(list[i] < elements && list[i] != id, "link");
            }
        }
    }

    // False where none of the element's labels is among the rows any more; it has no row then.
    static bool load_labels(Reader& in, Loading& loading, GraphBand& band, int number, NodeId id) {
        Graph& graph = loading.graph;
        float* row = reinterpret_cast<float*>(band.graph_->getDataByInternalId(id));
        const auto labels = in.get<std::uint32_t>();
        if (labels == 0) {
            for (std::size_t i = 0; i < graph.space_.row_length(); ++i) {
                row[i] = in.get<float>();
                in.expect(std::isfinite(row[i]), "row");
            }
            band.set_dead(id, true);
            band.free_nodes_.push_back(id);
            return true;
        }
        const auto fingerprint = in.get<std::uint64_t>();
        std::vector<float> now(graph.space_.row_length());
        bool any = false;
        for (std::uint32_t i = 0; i < labels; ++i) {
            const auto found = loading.by_key.find(in.get<std::int64_t>());
            if (found == loading.by_key.end()) continue;
            const std::size_t at = found->second;
            const std::int64_t label = loading.rows.labels[at];
            if (graph.band_number(loading.rows.radii[at]) != number) continue;
            graph.space_.write_row(loading.rows.directions + at * graph.space_.dim(), loading.rows.radii[at],
                                   now.data());
            if (band.fingerprint(now.data()) != fingerprint) continue;
            if (any && !band.same_row(now.data(), row)) continue;
            in.expect(!graph.holds(label), "label twice");
            std::copy(now.begin(), now.end(), row);
            graph.link(label, number, band, id);
            any = true;
        }
        if (any) band.nodes_by_hash_.emplace(fingerprint, id);
        return any;
    }

    static void check_levels(const Reader& in, Hnsw& hnsw, int top, NodeId entry) {
        in.expect(hnsw.element_levels_[entry] == top, "entry's level");
        for (NodeId id = 0; id < hnsw.cur_element_count; ++id) {
            in.expect(hnsw.element_levels_[id] <= top, "level above the entry's");
            for (int level = 1; level <= hnsw.element_levels_[id]; ++level) {
                hnswlib::linklistsizeint* list = hnsw.get_linklist(id, level);
                for (std::size_t i = 1; i <= hnsw.getListCount(list); ++i)
                    in.expect(hnsw.element_levels_[list[i]] >= level, "link to a level that is not there");
            }
        }
        hnsw.maxlevel_ = top;
        hnsw.enterpoint_node_ = entry;
    }

    // An element without a row takes that of a neighbour.
    static void stand_in(GraphBand& band, NodeId id) {
        Hnsw& hnsw = *band.graph_;
        hnswlib::linklistsizeint* list = hnsw.get_linklist0(id);
        const std::size_t links = hnsw.getListCount(list);
        for (std::size_t i = 1; i <= links; ++i)
            if (band.head(list[i]) >= 0) {
                std::memcpy(hnsw.getDataByInternalId(id), hnsw.getDataByInternalId(list[i]), hnsw.data_size_);
                break;
            }
        band.set_dead(id, true);
        band.free_nodes_.push_back(id);
    }
};

}  // namespace poincare
