// The graph under threads that add, move, remove and search at once: every answer names labels that may be
// there, each once, nearest first; in the end exactly those are in it that the writers left.
#include "graph.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <set>
#include <vector>

#include "checking.hpp"

namespace {

std::atomic<long> allocations_left{-1};  // before one fails; negative: none fails

void* allocate(std::size_t size) {
    if (allocations_left.load() >= 0 && allocations_left.fetch_sub(1) == 0) throw std::bad_alloc();
    if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
    return allocate(size);
}
void* operator new[](std::size_t size) {
    return allocate(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return std::malloc(size > 0 ? size : 1);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

// hnswlib 0.8.0 loses the list of visited nodes of a search that an exception ends.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:hnswlib::VisitedListPool";
}

namespace {

using checking::below;
using checking::Random;
using checking::uniform;
using poincare::Graph;
using poincare::GraphHit;
using poincare::GraphMetric;

constexpr std::size_t kWriters = 2;
constexpr std::size_t kReaders = 3;

struct Rows {
    std::vector<std::int64_t> labels;
    std::vector<float> directions;
    std::vector<double> radii;
};

// Vectors from a small pool now and then, so that labels share nodes.
std::vector<float> direction_of(Random& random, std::size_t dim) {
    if (below(random, 3) == 0) {
        std::vector<float> axis(dim, 0.0f);
        axis[below(random, dim)] = below(random, 2) == 0 ? 1.0f : -1.0f;
        return axis;
    }
    const std::vector<double> unit = checking::unit_vector(random, dim);
    return std::vector<float>(unit.begin(), unit.end());
}

double radius_of(Random& random, GraphMetric metric) {
    return metric == GraphMetric::shell ? 1.0 : uniform(random, 0.0, 8.0);
}

Rows rows_of(Random& random, std::size_t dim, GraphMetric metric, const std::vector<std::int64_t>& labels) {
    Rows rows{labels, {}, {}};
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const std::vector<float> direction = direction_of(random, dim);
        rows.directions.insert(rows.directions.end(), direction.begin(), direction.end());
        rows.radii.push_back(radius_of(random, metric));
    }
    return rows;
}

// Labels t, t + kWriters, t + 2·kWriters … belong to writer t; so each writer knows which of its own are in.
void write(Graph& graph, GraphMetric metric, std::size_t t, int rounds, std::set<std::int64_t>& mine) {
    Random random(100 + t);
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::int64_t> chosen;
        const std::size_t count = 1 + below(random, 40);
        for (std::size_t i = 0; i < count; ++i)
            chosen.push_back(static_cast<std::int64_t>(below(random, 400) * kWriters + t));
        std::sort(chosen.begin(), chosen.end());
        chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
        if (below(random, 3) != 0) {
            const Rows rows = rows_of(random, graph.dim(), metric, chosen);
            graph.add(rows.labels.data(), rows.directions.data(), rows.radii.data(), chosen.size(),
                      1 + static_cast<int>(below(random, 3)));
            mine.insert(chosen.begin(), chosen.end());
        } else {
            graph.remove(chosen.data(), chosen.size());
            for (const std::int64_t label : chosen) mine.erase(label);
        }
        for (const std::int64_t label : chosen) CHECK(graph.contains(label) == (mine.count(label) == 1));
    }
}

void check_hits(const std::vector<GraphHit>& hits, std::size_t k, const std::vector<std::uint8_t>* allowed) {
    // The last node is given with all of its labels.
    CHECK(std::count_if(hits.begin(), hits.end(), [&](const GraphHit& hit) {
              return hit.surrogate < hits.back().surrogate;
          }) < static_cast<std::ptrdiff_t>(k));
    std::set<std::int64_t> seen;
    for (std::size_t i = 0; i < hits.size(); ++i) {
        CHECK(hits[i].label >= 0 && hits[i].label < static_cast<std::int64_t>(400 * kWriters));
        CHECK(seen.insert(hits[i].label).second);
        CHECK(std::isfinite(hits[i].surrogate));
        CHECK(i == 0 || hits[i - 1].surrogate <= hits[i].surrogate);
        if (allowed) {
            const std::size_t label = static_cast<std::size_t>(hits[i].label);
            CHECK(label < allowed->size() && (*allowed)[label] != 0);
        }
    }
}

void read(const Graph& graph, GraphMetric metric, std::size_t t, const std::atomic<bool>& done) {
    Random random(200 + t);
    do {
        const std::vector<float> query = direction_of(random, graph.dim());
        const std::size_t k = 1 + below(random, 30);
        std::vector<std::uint8_t> allowed(1 + below(random, 1000));
        for (std::uint8_t& flag : allowed) flag = below(random, 4) == 0;
        const bool masked = below(random, 2) == 0;
        const std::vector<GraphHit> hits =
            graph.search(query.data(), radius_of(random, metric), k, 1 + below(random, 80),
                         masked ? allowed.data() : nullptr, masked ? allowed.size() : 0);
        check_hits(hits, k, masked ? &allowed : nullptr);
        CHECK(graph.size() <= 400 * kWriters);
        CHECK(graph.nodes() <= 400 * kWriters);
    } while (!done.load());
}

void stress(GraphMetric metric, std::size_t dim, std::size_t m, int rounds) {
    Graph graph(dim, metric, m, 40, 7, 0);  // no capacity: it grows under the readers
    std::vector<std::set<std::int64_t>> owned(kWriters);
    std::atomic<bool> done{false};
    std::atomic<std::size_t> writing{kWriters};
    checking::in_threads(kWriters + kReaders, [&](std::size_t t) {
        if (t >= kWriters) return read(graph, metric, t, done);
        write(graph, metric, t, rounds, owned[t]);
        if (--writing == 0) done.store(true);
    });
    std::size_t expected = 0;
    for (std::size_t t = 0; t < kWriters; ++t) {
        expected += owned[t].size();
        for (std::size_t i = 0; i < 400; ++i) {
            const auto label = static_cast<std::int64_t>(i * kWriters + t);
            CHECK(graph.contains(label) == (owned[t].count(label) == 1));
        }
    }
    CHECK(graph.size() == expected);
    Random random(5);
    const std::vector<float> query = direction_of(random, dim);
    const auto all = graph.search(query.data(), 1.0, 1000, 2000, nullptr, 0);
    check_hits(all, 1000, nullptr);
    // A graph may lose sight of a few labels, never invent one.
    CHECK(all.size() >= expected * 95 / 100);
    for (const GraphHit& hit : all) CHECK(graph.contains(hit.label));
}

// The same graph, whatever thread adds a node, as far as one thread adds it.
void determined() {
    Random random(3);
    std::vector<std::int64_t> labels(300);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i);
    const Rows rows = rows_of(random, 6, GraphMetric::hyperbolic, labels);
    std::vector<GraphHit> first;
    for (int build = 0; build < 2; ++build) {
        Graph graph(6, GraphMetric::hyperbolic, 8, 50, 1, 300);
        graph.add(labels.data(), rows.directions.data(), rows.radii.data(), labels.size(), 1);
        const auto hits = graph.search(rows.directions.data(), 1.0, 20, 50, nullptr, 0);
        if (build == 0) first = hits;
        CHECK(hits.size() == first.size());
        for (std::size_t i = 0; i < hits.size(); ++i)
            CHECK(hits[i].label == first[i].label && hits[i].surrogate == first[i].surrogate);
    }
}

// --- memory that runs out ---------------------------------------------------------------------------

std::vector<std::int64_t> numbers(std::size_t first, std::size_t n) {
    std::vector<std::int64_t> labels(n);
    for (std::size_t i = 0; i < n; ++i) labels[i] = static_cast<std::int64_t>(first + i);
    return labels;
}

// What the graph says of itself agrees with what a search finds.
void check_whole(const Graph& graph, std::size_t labels) {
    std::size_t inside = 0;
    for (std::size_t label = 0; label < labels; ++label)
        inside += graph.contains(static_cast<std::int64_t>(label)) ? 1 : 0;
    CHECK(graph.size() == inside);
    CHECK(graph.nodes() <= inside);
    const std::vector<float> query(graph.dim(), 0.1f);
    const auto hits = graph.search(query.data(), 1.0, labels, 2 * labels, nullptr, 0);
    std::set<std::int64_t> seen;
    for (const GraphHit& hit : hits) {
        CHECK(graph.contains(hit.label));
        CHECK(seen.insert(hit.label).second);
    }
    CHECK(hits.size() >= inside * 9 / 10);
}

// An add whose n-th allocation fails, for every n: what was there stays, what came is in or not in.
void out_of_memory(GraphMetric metric, int threads) {
    Random random(11);
    const Rows rows = rows_of(random, 5, metric, numbers(0, 400));
    bool failed = true;
    for (long after = 0; failed; after += 1 + after / 16) {
        Graph graph(5, metric, 4, 20, 1, 0);
        graph.add(rows.labels.data(), rows.directions.data(), rows.radii.data(), 200, 1);
        const std::vector<std::int64_t> gone = numbers(50, 40);
        graph.remove(gone.data(), gone.size());
        failed = false;
        allocations_left = after;
        try {  // new labels, freed nodes used again, labels that move
            graph.add(rows.labels.data() + 50, rows.directions.data() + 5 * 100, rows.radii.data() + 100, 250,
                      threads);
        } catch (const std::exception&) {
            failed = true;
        }
        allocations_left = -1;
        for (const std::int64_t label : numbers(0, 50)) CHECK(graph.contains(label));
        check_whole(graph, 400);
        graph.add(rows.labels.data(), rows.directions.data(), rows.radii.data(), 400, threads);
        CHECK(graph.size() == 400);
        check_whole(graph, 400);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = 12 * checking::effort(argc, argv);
    determined();
    for (const GraphMetric metric : {GraphMetric::shell, GraphMetric::hyperbolic})
        for (const int threads : {1, 3}) out_of_memory(metric, threads);
    for (const std::size_t dim : {std::size_t{1}, std::size_t{7}, std::size_t{33}})
        for (const GraphMetric metric : {GraphMetric::shell, GraphMetric::hyperbolic})
            stress(metric, dim, dim == 1 ? 2 : 8, rounds);
    std::puts("graph: ok");
    return 0;
}
