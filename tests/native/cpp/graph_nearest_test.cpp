// The nearest on a shell, and among mixed radii, beside brute force: over deletions, reuse, ties and masks.
#include "graph_nearest.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "checking.hpp"

namespace {

using checking::below;
using checking::Random;
using checking::uniform;
using poincare::Graph;
using poincare::GraphHit;
using poincare::GraphMetric;
using poincare::NearestColumns;
using poincare::NearestQuery;
using poincare::NearestRows;

struct Store {
    std::size_t dim;
    std::vector<double> directions, radii;
    std::vector<std::int64_t> order;
    std::vector<std::uint8_t> present;

    Store(Random& random, std::size_t rows, std::size_t width, double low, double high) : dim(width) {
        for (std::size_t i = 0; i < rows; ++i) {
            const bool copy = i > 0 && below(random, 8) == 0;  // ties
            const std::vector<double> unit = checking::unit_vector(random, dim);
            for (std::size_t d = 0; d < dim; ++d) directions.push_back(copy ? directions[d] : unit[d]);
            radii.push_back(copy ? radii[0] : uniform(random, low, high));
        }
        order.resize(rows);
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::shuffle(order.begin(), order.end(), random);
        present.assign(rows, 0);
    }

    std::size_t rows() const { return radii.size(); }

    void put(Graph& graph, const std::vector<std::int64_t>& labels) {
        std::vector<float> narrow;
        std::vector<double> depths;
        for (const std::int64_t label : labels) {
            const std::size_t row = static_cast<std::size_t>(label);
            for (std::size_t d = 0; d < dim; ++d)
                narrow.push_back(static_cast<float>(directions[row * dim + d]));
            depths.push_back(graph.metric() == GraphMetric::shell ? 0 : radii[row]);
            present[row] = 1;
        }
        graph.add(labels.data(), narrow.data(), depths.data(), labels.size(), 1);
    }

    void take(Graph& graph, const std::vector<std::int64_t>& labels) {
        graph.remove(labels.data(), labels.size());
        for (const std::int64_t label : labels) present[static_cast<std::size_t>(label)] = 0;
    }

    double distance(const double* query, double r, std::size_t row, double s) const {
        const double gap = poincare::squared_gap(query, directions.data() + row * dim, dim);
        return poincare::polar_distance(r, s, gap);
    }
};

std::vector<std::int64_t> some(Random& random, std::size_t rows, std::size_t every) {
    std::vector<std::int64_t> labels;
    for (std::size_t i = 0; i < rows; ++i)
        if (below(random, every) == 0) labels.push_back(static_cast<std::int64_t>(i));
    return labels;
}

// Counts how many of the k nearest rows that pass are among those found; both by exact distance.
void compare(const Store& store, const Graph& graph, const double* query, double shell, std::size_t k,
             const std::vector<std::uint8_t>* allowed, std::size_t& found, std::size_t& wanted) {
    const double sqrt_c = 1.5;
    const NearestColumns columns{store.directions.data(), store.order.data(), store.rows(), store.dim};
    const NearestRows nearest =
        poincare::nearest_on_shell(graph, columns,
                                   {query, shell, sqrt_c, k, 4 * k, 80, allowed ? allowed->data() : nullptr,
                                    allowed ? allowed->size() : 0});
    struct Row {
        double distance;
        std::int64_t order, row;
    };
    std::vector<Row> truth;
    for (std::size_t row = 0; row < store.rows(); ++row)
        if (store.present[row] && (!allowed || (*allowed)[row]))
            truth.push_back({store.distance(query, shell, row, shell) / sqrt_c, store.order[row],
                             static_cast<std::int64_t>(row)});
    std::sort(truth.begin(), truth.end(), [](const Row& x, const Row& y) {
        return x.distance < y.distance || (x.distance == y.distance && x.order < y.order);
    });
    CHECK(nearest.best.size() <= std::min(k, truth.size()));
    for (std::size_t i = 0; i < nearest.best.size(); ++i) {
        const auto& hit = nearest.best[i];
        const std::size_t row = static_cast<std::size_t>(hit.row);
        CHECK(store.present[row] && (!allowed || (*allowed)[row]));
        // A compiler that knows the radius rounds its sinh better than the library does.
        CHECK(std::fabs(hit.distance - store.distance(query, shell, row, shell) / sqrt_c) <=
              1e-14 * (1 + hit.distance));
        CHECK(hit.order == store.order[row]);
        CHECK(i == 0 || nearest.best[i - 1].distance <= hit.distance);
    }
    for (std::size_t i = 0; i < std::min(k, truth.size()); ++i) {
        ++wanted;
        for (const auto& hit : nearest.best) found += hit.row == truth[i].row ? 1 : 0;
    }
}

void on_a_shell(std::size_t dim, int rounds) {
    Random random(dim);
    Store store(random, 1200, dim, 1.0, 1.0);
    Graph graph(dim, GraphMetric::shell, 16, 100, 1, 0);
    const NearestColumns columns{store.directions.data(), store.order.data(), store.rows(), dim};
    const std::vector<double> somewhere = checking::unit_vector(random, dim);
    CHECK(poincare::nearest_on_shell(graph, columns, {somewhere.data(), 1, 1, 3, 12, 20, nullptr, 0})
              .best.empty());
    std::vector<std::int64_t> every(store.rows());
    std::iota(every.begin(), every.end(), std::int64_t{0});
    store.put(graph, every);
    std::size_t found = 0, wanted = 0;
    for (int round = 0; round < rounds; ++round) {
        store.take(graph, some(random, store.rows(), 5));
        store.put(graph, some(random, store.rows(), 8));  // freed nodes are used again
        std::vector<std::uint8_t> allowed(store.rows());
        for (std::uint8_t& flag : allowed) flag = below(random, 3) == 0;
        for (int i = 0; i < 20; ++i) {
            const std::vector<double> query = checking::unit_vector(random, dim);
            compare(store, graph, query.data(), 2.0, 1 + below(random, 12), i % 2 ? &allowed : nullptr, found,
                    wanted);
        }
    }
    CHECK(static_cast<double>(found) >= 0.97 * static_cast<double>(wanted));
    const NearestColumns short_columns{store.directions.data(), store.order.data(), 1, dim};
    bool refused = false;
    try {
        poincare::nearest_on_shell(graph, short_columns, {somewhere.data(), 1, 1, 3, 12, 20, nullptr, 0});
    } catch (const std::out_of_range&) {
        refused = true;
    }
    CHECK(refused);
}

void among_mixed_radii(std::size_t dim, int rounds) {
    Random random(100 + dim);
    Store store(random, 1500, dim, 0.0, 8.0);
    Graph graph(dim, GraphMetric::hyperbolic, 16, 100, 1, 0);
    std::vector<std::int64_t> every(store.rows());
    std::iota(every.begin(), every.end(), std::int64_t{0});
    store.put(graph, every);
    std::size_t found = 0, wanted = 0;
    for (int round = 0; round < rounds; ++round) {
        store.take(graph, some(random, store.rows(), 5));
        store.put(graph, some(random, store.rows(), 8));
        for (int i = 0; i < 20; ++i) {
            constexpr std::size_t k = 10;
            const std::vector<double> query = checking::unit_vector(random, dim);
            const double radius = uniform(random, 0.0, 8.0);
            std::vector<double> distances;
            for (std::size_t row = 0; row < store.rows(); ++row)
                if (store.present[row])
                    distances.push_back(store.distance(query.data(), radius, row, store.radii[row]));
            std::sort(distances.begin(), distances.end());
            const std::vector<float> narrow(query.begin(), query.end());
            const std::vector<GraphHit> hits = graph.search(narrow.data(), radius, k, 80, nullptr, 0);
            CHECK(hits.size() >= k);
            for (std::size_t j = 0; j < k; ++j) {
                const std::size_t row = static_cast<std::size_t>(hits[j].label);
                CHECK(store.present[row]);
                const double distance = store.distance(query.data(), radius, row, store.radii[row]);
                found += distance <= distances[k - 1] * (1 + 1e-4) + 1e-6 ? 1 : 0;
            }
            wanted += k;
        }
    }
    CHECK(static_cast<double>(found) >= 0.97 * static_cast<double>(wanted));
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = 3 * checking::effort(argc, argv);
    for (const std::size_t dim : {std::size_t{3}, std::size_t{24}}) {
        on_a_shell(dim, rounds);
        among_mixed_radii(dim, rounds);
    }
    std::puts("graph nearest: ok");
    return 0;
}
