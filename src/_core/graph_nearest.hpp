// The k memories nearest to a query on one shell, by exact distance: what a search whose score is distance
// alone asks of a graph. One call in place of a search of the graph and a scan of what it found, for after
// the graph the processor's caches hold nothing else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "graph.hpp"
#include "polar.hpp"
#include "rows.hpp"

namespace poincare {

// The store's columns; a label of the graph is a row. `order` breaks ties.
struct NearestColumns {
    const double* direction;
    const std::int64_t* order;
    std::size_t rows, dim;
};

struct NearestQuery {
    const double* direction;
    double shell;  // radius of the shell times √c
    double sqrt_c;
    std::size_t k;      // wanted
    std::size_t asked;  // of the graph, at least k
    std::size_t ef;
    const std::uint8_t* allowed;
    std::size_t allowed_length;
};

struct NearestRow {
    std::int64_t row, order;
    double distance;
};

struct NearestRows {
    std::vector<NearestRow> best;  // nearest first
    double reached = 0;            // no row that the graph passed over is nearer, but for its recall
};

// What a chord may be at most and at least, from the squared one in float32.
inline double longest_chord(float squared) {
    return std::sqrt(static_cast<double>(squared)) * (1 + 1e-5) + 1e-6;
}
inline double shortest_chord(float squared) {
    return std::max(0.0, std::sqrt(static_cast<double>(squared)) * (1 - 1e-5) - 1e-6);
}

inline NearestRows nearest_on_shell(const Graph& graph, const NearestColumns& columns,
                                    const NearestQuery& query) {
    std::vector<float> narrow(columns.dim);
    for (std::size_t i = 0; i < columns.dim; ++i) narrow[i] = static_cast<float>(query.direction[i]);
    const std::vector<GraphHit> hits =
        graph.search(narrow.data(), 0, query.asked, query.ef, query.allowed, query.allowed_length);
    NearestRows found;
    if (hits.empty()) return found;
    const auto distance = [&](double chord_squared) {
        return polar_distance(query.shell, query.shell, chord_squared) / query.sqrt_c;
    };
    const double reach = longest_chord(hits[std::min(query.k, hits.size()) - 1].surrogate);
    const auto end = std::find_if(hits.begin(), hits.end(), [&](const GraphHit& hit) {
        return static_cast<double>(hit.surrogate) > reach * reach;
    });
    for (auto hit = hits.begin(); hit != end; ++hit) {
        const auto row = static_cast<std::size_t>(hit->label);
        if (row >= columns.rows) throw std::out_of_range("columns: fewer rows than the graph has labels");
        fetch_ahead(columns.direction + row * columns.dim, columns.dim * sizeof(double));
    }
    for (auto hit = hits.begin(); hit != end; ++hit) {
        const auto row = static_cast<std::size_t>(hit->label);
        const double gap = squared_gap(query.direction, columns.direction + row * columns.dim, columns.dim);
        found.best.push_back({hit->label, columns.order[row], distance(gap)});
    }
    std::sort(found.best.begin(), found.best.end(), [](const NearestRow& x, const NearestRow& y) {
        return x.distance < y.distance || (x.distance == y.distance && x.order < y.order);
    });
    if (found.best.size() > query.k) found.best.resize(query.k);
    const double chord = shortest_chord(hits.back().surrogate);
    found.reached = distance(chord * chord);
    return found;
}

}  // namespace poincare
