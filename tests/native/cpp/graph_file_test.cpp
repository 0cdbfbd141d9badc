// A graph as bytes: what comes back, and bytes that are no graph, whatever their checksum says.
#include "graph_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "checking.hpp"
#include "graph.hpp"

// hnswlib 0.8.0 loses the list of visited nodes of a search that an exception ends.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:hnswlib::VisitedListPool";
}

namespace {

using checking::below;
using checking::Random;
using checking::uniform;
using poincare::DamagedGraph;
using poincare::Graph;
using poincare::GraphFile;
using poincare::GraphHit;
using poincare::GraphMetric;
using poincare::GraphRows;

constexpr std::size_t kDim = 7;
constexpr std::size_t kRows = 300;

struct Rows {
    std::vector<std::int64_t> labels, keys;
    std::vector<float> directions;
    std::vector<double> radii;

    Rows(Random& random, GraphMetric metric) {
        for (std::size_t i = 0; i < kRows; ++i) {
            labels.push_back(static_cast<std::int64_t>(i));
            keys.push_back(static_cast<std::int64_t>(5'000'000'000 + (i * 7919) % kRows));
            const std::vector<double> unit = checking::unit_vector(random, kDim);
            for (std::size_t d = 0; d < kDim; ++d)  // ten labels share a node
                directions.push_back(i > 10 && i < 20 ? directions[10 * kDim + d]
                                                      : static_cast<float>(unit[d]));
            const double radius = metric == GraphMetric::shell ? 1.0 : uniform(random, 0.5, 6.0);
            radii.push_back(i > 10 && i < 20 ? radii[10] : radius);
        }
    }

    GraphRows view() const {
        return {labels.data(), keys.data(), directions.data(), radii.data(), labels.size()};
    }
    const float* direction(std::size_t i) const { return directions.data() + i * kDim; }
};

Graph empty(GraphMetric metric) {
    return Graph(kDim, metric, 6, 40, 3, 0);
}

void put(Graph& graph, const Rows& rows, std::size_t first, std::size_t count) {
    graph.add(rows.labels.data() + first, rows.direction(first), rows.radii.data() + first, count, 1);
}

double surrogate(GraphMetric metric, const Rows& rows, std::size_t i, std::size_t j) {
    double chord = 0;
    for (std::size_t d = 0; d < kDim; ++d) {
        const double gap =
            static_cast<double>(rows.direction(i)[d]) - static_cast<double>(rows.direction(j)[d]);
        chord += gap * gap;
    }
    if (metric == GraphMetric::shell) return chord;
    const double half = std::sinh((rows.radii[i] - rows.radii[j]) / 2);
    return half * half + std::sinh(rows.radii[i]) * std::sinh(rows.radii[j]) * chord / 4;
}

// Share of the ten nearest, by brute force, that searches find, and that all they find is in the graph.
double recall(const Graph& graph, GraphMetric metric, const Rows& rows) {
    constexpr std::size_t k = 10;
    std::size_t found = 0, wanted = 0;
    for (std::size_t query = 0; query < kRows; query += 5) {
        std::vector<double> distances;
        for (std::size_t i = 0; i < kRows; ++i)
            if (graph.contains(static_cast<std::int64_t>(i)))
                distances.push_back(surrogate(metric, rows, query, i));
        std::sort(distances.begin(), distances.end());
        const double reach = distances[k - 1] * (1 + 1e-4) + 1e-6;
        const auto hits = graph.search(rows.direction(query), rows.radii[query], k, 64, nullptr, 0);
        for (std::size_t i = 0; i < std::min(k, hits.size()); ++i) {
            CHECK(graph.contains(hits[i].label));
            found += surrogate(metric, rows, query, static_cast<std::size_t>(hits[i].label)) <= reach ? 1 : 0;
        }
        wanted += k;
    }
    return static_cast<double>(found) / static_cast<double>(wanted);
}

// The checksum of the format, in the test's own words.
std::string with_checksum(std::string bytes) {
    bytes.resize(bytes.size() - sizeof(std::uint64_t));
    std::uint64_t hash = 0x9e3779b97f4a7c15ull ^ bytes.size();
    std::string padded = bytes;
    padded.resize((bytes.size() + 7) / 8 * 8, '\0');
    for (std::size_t at = 0; at < padded.size(); at += 8) {
        std::uint64_t word;
        std::memcpy(&word, padded.data() + at, sizeof(word));
        hash = (hash ^ word) * 0xff51afd7ed558ccdull;
        hash ^= hash >> 32;
    }
    bytes.append(reinterpret_cast<const char*>(&hash), sizeof(hash));
    return bytes;
}

bool loads(const std::string& bytes, GraphMetric metric, const Rows& rows) {
    Graph graph = empty(metric);
    bool loaded = true;
    try {
        GraphFile::load(graph, bytes.data(), bytes.size(), rows.view());
    } catch (const DamagedGraph&) {
        loaded = false;
    }
    if (!loaded) {
        CHECK(graph.size() == 0);  // and it can be used
        put(graph, rows, 0, 20);
        CHECK(graph.size() == 20);
        return false;
    }
    for (std::size_t query = 0; query < kRows; query += 29)
        for (const GraphHit& hit :
             graph.search(rows.direction(query), rows.radii[query], 20, 40, nullptr, 0)) {
            CHECK(graph.contains(hit.label));
            CHECK(!std::isnan(hit.surrogate));
        }
    put(graph, rows, 0, kRows);  // what is missing is added, what is there moves
    CHECK(graph.size() == kRows);
    return true;
}

void round_trip(GraphMetric metric, const Rows& rows) {
    Graph graph = empty(metric);
    put(graph, rows, 0, kRows);
    std::vector<std::int64_t> gone;
    for (std::int64_t label = 100; label < 160; ++label) gone.push_back(label);
    graph.remove(gone.data(), gone.size());
    put(graph, rows, 100, 20);  // freed nodes are used again
    const std::string bytes = GraphFile::save(graph, rows.keys.data(), rows.keys.size());
    CHECK(bytes == GraphFile::save(graph, rows.keys.data(), rows.keys.size()));
    CHECK(bytes == with_checksum(bytes));
    Graph again = empty(metric);
    GraphFile::load(again, bytes.data(), bytes.size(), rows.view());
    CHECK(again.size() == graph.size() && again.nodes() == graph.nodes());
    for (const std::int64_t label : rows.labels) CHECK(again.contains(label) == graph.contains(label));
    for (std::size_t query = 0; query < kRows; query += 3) {
        const auto before = graph.search(rows.direction(query), rows.radii[query], 10, 40, nullptr, 0);
        const auto after = again.search(rows.direction(query), rows.radii[query], 10, 40, nullptr, 0);
        CHECK(before.size() == after.size());
        for (std::size_t i = 0; i < before.size(); ++i) CHECK(before[i].surrogate == after[i].surrogate);
    }
    CHECK(recall(again, metric, rows) >= 0.97);
    put(again, rows, 0, kRows);
    again.remove(rows.labels.data(), 30);
    CHECK(again.size() == kRows - 30);
    CHECK(recall(again, metric, rows) >= 0.97);
}

struct Field {
    const char* name;
    std::size_t at, size;
};

void damaged(GraphMetric metric, const Rows& rows, int effort) {
    Graph graph = empty(metric);
    put(graph, rows, 0, kRows);
    graph.remove(rows.labels.data() + 40, 10);
    const std::string bytes = GraphFile::save(graph, rows.keys.data(), rows.keys.size());
    CHECK(loads(bytes, metric, rows));
    const Field header[] = {{"magic", 0, 8},          {"version", 8, 4},         {"byte order", 12, 4},
                            {"dimension", 16, 8},     {"metric", 24, 8},         {"m", 32, 8},
                            {"construction", 40, 8},  {"seed", 48, 8},           {"bands", 56, 8},
                            {"band's number", 64, 4}, {"count of nodes", 68, 8}, {"top level", 76, 4},
                            {"entry", 80, 4}};
    for (const Field& field : header)
        for (std::size_t i = 0; i < field.size; ++i)
            for (const int value : {0, 1, 2, 127, 128, 255}) {
                std::string other = bytes;
                if (static_cast<unsigned char>(other[field.at + i]) == value) continue;
                other[field.at + i] = static_cast<char>(value);
                CHECK(!loads(other, metric, rows));  // by the checksum
                const bool loaded = loads(with_checksum(other), metric, rows);
                // Another entry node of the same level, or another band's number where no radius belongs to
                // it, is still a graph; nothing else is.
                const bool may =
                    std::strcmp(field.name, "entry") == 0 || std::strcmp(field.name, "band's number") == 0;
                CHECK(!loaded || may);
            }
    for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 8) {
        CHECK(!loads(bytes.substr(0, size), metric, rows));
        if (size > 8) CHECK(!loads(with_checksum(bytes.substr(0, size)), metric, rows));
    }
    CHECK(!loads(with_checksum(bytes + std::string(8, '\0')), metric, rows));
    Random random(17);
    for (int attempt = 0; attempt < 150 * effort; ++attempt) {
        std::string other = bytes;
        for (std::size_t i = 0; i <= below(random, 4); ++i)
            other[84 + below(random, other.size() - 92)] = static_cast<char>(below(random, 256));
        static_cast<void>(loads(with_checksum(other), metric, rows));  // refused, or a graph that can be used
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int effort = checking::effort(argc, argv);
    for (const GraphMetric metric : {GraphMetric::shell, GraphMetric::hyperbolic}) {
        Random random(9);
        const Rows rows(random, metric);
        round_trip(metric, rows);
        damaged(metric, rows, effort);
    }
    std::puts("graph file: ok");
    return 0;
}
