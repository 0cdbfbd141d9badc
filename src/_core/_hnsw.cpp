// Python's view of the graph (graph.hpp). Arguments are checked here; the GIL is released around all work.
// hnswlib's headers may be compiled into one translation unit only: this one.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph.hpp"
#include "graph_file.hpp"
#include "graph_nearest.hpp"
#include "interrupt.hpp"

namespace py = pybind11;
namespace {

using poincare::Graph;
using poincare::GraphHit;
using poincare::GraphMetric;
using Labels = py::array_t<std::int64_t, py::array::c_style>;
using Floats = py::array_t<float, py::array::c_style>;
using Doubles = py::array_t<double, py::array::c_style>;
using Mask = py::array_t<std::uint8_t, py::array::c_style>;

GraphMetric metric_named(const std::string& name) {
    if (name == "shell") return GraphMetric::shell;
    if (name == "hyperbolic") return GraphMetric::hyperbolic;
    throw py::value_error("metric: expected 'shell' or 'hyperbolic', got '" + name + "'");
}

void check_radius(double radius) {
    if (!(radius >= 0 && radius <= poincare::kGraphLargestRadius))
        throw py::value_error("radii: expected 0 to " + std::to_string(poincare::kGraphLargestRadius) +
                              ", got " + std::to_string(radius));
}

void add_rows(Graph& graph, const Labels& labels, const Floats& directions, const Doubles& radii,
              int threads) {
    if (labels.ndim() != 1 || radii.ndim() != 1 || directions.ndim() != 2 ||
        directions.shape(1) != static_cast<py::ssize_t>(graph.dim()) ||
        directions.shape(0) != labels.shape(0) || radii.shape(0) != labels.shape(0))
        throw py::value_error("expected labels (n,), directions (n, " + std::to_string(graph.dim()) +
                              "), radii (n,)");
    const auto n = static_cast<std::size_t>(labels.shape(0));
    const std::int64_t* label = labels.data();
    const double* radius = radii.data();
    for (std::size_t i = 0; i < n; ++i) {
        if (label[i] < 0 || label[i] > INT32_MAX)
            throw py::value_error("labels: expected rows of a store, got " + std::to_string(label[i]));
        check_radius(radius[i]);
    }
    std::vector<std::int64_t> sorted(label, label + n);
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        throw py::value_error("labels: one was given twice");
    const float* direction = directions.data();
    const py::gil_scoped_release nogil;
    graph.add(label, direction, radius, n, threads);
}

void remove_rows(Graph& graph, const Labels& labels) {
    const auto n = static_cast<std::size_t>(labels.size());
    const std::int64_t* label = labels.data();
    const py::gil_scoped_release nogil;
    graph.remove(label, n);
}

py::tuple search_graph(const Graph& graph, const Floats& direction, double radius, std::size_t k,
                       std::size_t ef, const py::object& allowed) {
    if (direction.ndim() != 1 || direction.shape(0) != static_cast<py::ssize_t>(graph.dim()))
        throw py::value_error("direction: expected shape (" + std::to_string(graph.dim()) + ",)");
    check_radius(radius);
    Mask mask;
    if (!allowed.is_none()) mask = allowed.cast<Mask>();
    const std::uint8_t* passing = allowed.is_none() ? nullptr : mask.data();
    const auto length = static_cast<std::size_t>(allowed.is_none() ? 0 : mask.size());
    const float* query = direction.data();
    std::vector<GraphHit> hits;
    {
        const py::gil_scoped_release nogil;
        hits = graph.search(query, radius, k, ef, passing, length);
    }
    Labels labels(static_cast<py::ssize_t>(hits.size()));
    Floats surrogates(static_cast<py::ssize_t>(hits.size()));
    std::int64_t* label = labels.mutable_data();
    float* surrogate = surrogates.mutable_data();
    for (std::size_t i = 0; i < hits.size(); ++i) {
        label[i] = hits[i].label;
        surrogate[i] = hits[i].surrogate;
    }
    return py::make_tuple(std::move(labels), std::move(surrogates));
}

py::tuple nearest_rows(const Graph& graph, const Doubles& direction, const Doubles& directions,
                       const Labels& order, double shell, double sqrt_c, std::size_t k, std::size_t asked,
                       std::size_t ef, const py::object& allowed) {
    const auto dim = static_cast<py::ssize_t>(graph.dim());
    if (direction.ndim() != 1 || direction.shape(0) != dim || directions.ndim() != 2 ||
        directions.shape(1) != dim || order.ndim() != 1 || order.shape(0) != directions.shape(0))
        throw py::value_error("expected direction (" + std::to_string(dim) + ",), directions (n, " +
                              std::to_string(dim) + "), order (n,)");
    if (graph.metric() != GraphMetric::shell)
        throw py::value_error("nearest: a graph on a shell is expected");
    if (k < 1) throw py::value_error("k: expected at least 1");
    Mask mask;
    if (!allowed.is_none()) mask = allowed.cast<Mask>();
    const poincare::NearestColumns columns{directions.data(), order.data(),
                                           static_cast<std::size_t>(directions.shape(0)), graph.dim()};
    const poincare::NearestQuery query{direction.data(),
                                       shell,
                                       sqrt_c,
                                       k,
                                       std::max(asked, k),
                                       ef,
                                       allowed.is_none() ? nullptr : mask.data(),
                                       static_cast<std::size_t>(allowed.is_none() ? 0 : mask.size())};
    poincare::NearestRows found;
    {
        const py::gil_scoped_release nogil;
        found = poincare::nearest_on_shell(graph, columns, query);
    }
    py::list hits(found.best.size());
    for (std::size_t i = 0; i < found.best.size(); ++i) {
        const poincare::NearestRow& hit = found.best[i];
        hits[i] = py::make_tuple(hit.row, 0.0 - hit.distance, hit.distance, 1.0);
    }
    return py::make_tuple(std::move(hits), found.reached);
}

Labels missing_labels(const Graph& graph, const Labels& labels) {
    const auto n = static_cast<std::size_t>(labels.size());
    const std::int64_t* label = labels.data();
    std::vector<std::int64_t> absent;
    {
        const py::gil_scoped_release nogil;
        absent = graph.missing(label, n);
    }
    return Labels(static_cast<py::ssize_t>(absent.size()), absent.data());
}

py::bytes save_graph(const Graph& graph, const Labels& keys) {
    const auto n = static_cast<std::size_t>(keys.size());
    const std::int64_t* key = keys.data();
    std::string bytes;
    {
        const py::gil_scoped_release nogil;
        bytes = poincare::GraphFile::save(graph, key, n);
    }
    return py::bytes(bytes);
}

void load_graph(Graph& graph, const py::buffer& bytes, const Labels& labels, const Labels& keys,
                const Floats& directions, const Doubles& radii) {
    const py::buffer_info info = bytes.request();
    if (info.ndim != 1 || info.itemsize != 1) throw py::type_error("expected bytes");
    if (graph.size() != 0) throw py::value_error("load: the graph is not empty");
    const auto n = static_cast<std::size_t>(labels.size());
    if (labels.ndim() != 1 || keys.ndim() != 1 || radii.ndim() != 1 || directions.ndim() != 2 ||
        directions.shape(1) != static_cast<py::ssize_t>(graph.dim()) ||
        directions.shape(0) != labels.shape(0) || radii.shape(0) != labels.shape(0) ||
        keys.shape(0) != labels.shape(0))
        throw py::value_error("expected labels (n,), keys (n,), directions (n, " +
                              std::to_string(graph.dim()) + "), radii (n,)");
    const poincare::GraphRows rows{labels.data(), keys.data(), directions.data(), radii.data(), n};
    for (std::size_t i = 0; i < n; ++i) {
        if (rows.labels[i] < 0 || rows.labels[i] > INT32_MAX)
            throw py::value_error("labels: expected rows of a store, got " + std::to_string(rows.labels[i]));
        check_radius(rows.radii[i]);
    }
    const py::gil_scoped_release nogil;
    poincare::GraphFile::load(graph, static_cast<const char*>(info.ptr), static_cast<std::size_t>(info.size),
                              rows);
}

// For long insertions: a signal's handler runs here, and what it raises stays set.
bool interrupted() {
    const py::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

void raise_what_is_set(std::exception_ptr thrown) {
    try {
        if (thrown) std::rethrow_exception(thrown);
    } catch (const poincare::Interrupted&) {
        if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
}

}  // namespace

PYBIND11_MODULE(_hnsw, module) {
    poincare::set_interrupt_check(&interrupted);
    py::register_local_exception_translator(&raise_what_is_set);
    module.doc() = "A graph over memories, on hnswlib: rows are directions and radii.";
    module.attr("LARGEST_RADIUS") = poincare::kGraphLargestRadius;
    py::register_exception<poincare::DamagedGraph>(module, "DamagedGraphError", PyExc_ValueError);
    py::class_<Graph>(module, "Graph")
        .def(py::init([](std::size_t dim, const std::string& metric, std::size_t m,
                         std::size_t ef_construction, std::uint64_t seed, std::size_t capacity) {
                 if (dim < 1) throw py::value_error("dim: expected at least 1");
                 if (m < 2 || m > 1024)
                     throw py::value_error("m: expected 2 to 1024, got " + std::to_string(m));
                 if (ef_construction < 1) throw py::value_error("ef_construction: expected at least 1");
                 return std::make_unique<Graph>(dim, metric_named(metric), m, ef_construction, seed,
                                                capacity);
             }),
             py::arg("dim"), py::kw_only(), py::arg("metric"), py::arg("m") = 16,
             py::arg("ef_construction") = 200, py::arg("seed") = 0, py::arg("capacity") = 0)
        .def("add", &add_rows, py::arg("labels"), py::arg("directions"), py::arg("radii"), py::kw_only(),
             py::arg("threads") = 1)
        .def("remove", &remove_rows, py::arg("labels"))
        .def("search", &search_graph, py::arg("direction"), py::arg("radius"), py::kw_only(), py::arg("k"),
             py::arg("ef"), py::arg("allowed") = py::none())
        .def("nearest", &nearest_rows, py::arg("direction"), py::arg("directions"), py::arg("order"),
             py::kw_only(), py::arg("shell"), py::arg("sqrt_c"), py::arg("k"), py::arg("asked"),
             py::arg("ef"), py::arg("allowed") = py::none())
        .def("missing", &missing_labels, py::arg("labels"))
        .def("save", &save_graph, py::arg("keys"))
        .def("load", &load_graph, py::arg("data"), py::kw_only(), py::arg("labels"), py::arg("keys"),
             py::arg("directions"), py::arg("radii"))
        .def("__contains__", &Graph::contains, py::arg("label"))
        .def("__len__", &Graph::size)
        .def_property_readonly("dim", &Graph::dim)
        .def_property_readonly("nodes", &Graph::nodes);
}
