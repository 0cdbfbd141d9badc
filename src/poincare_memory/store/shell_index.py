"""The index that a `Memory` builds over its own columns, and that takes in every write before it answers."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from .._core import _hnsw, _kernels
from ..arguments import integer
from ..geometry.numerics import FloatArray
from ..index import (
    EF_CONSTRUCTION,
    GRAPH_FROM,
    GRAPH_SEED,
    Backend,
    Indices,
    MIPSIndex,
    checked_query,
    finds_itself,
    smallest,
)
from ..progress import Progress, checked_progress, metered
from ..threads import available_threads
from .faiss_rows import FaissRows

if TYPE_CHECKING:
    from .state import Store

logger = logging.getLogger("poincare_memory")

GraphMetric = Literal["shell", "hyperbolic"]
Rows = NDArray[np.int32]
ADDED_AT_ONCE = 1024  # memories between two reports of progress
MOST_UNDIRECTED = (
    1_000  # rows without direction that an indexed search still adds to its candidates one by one
)


@dataclass(frozen=True)
class SavedGraphs:
    """Graphs as bytes, with the backend they belong to and the `structure_version` they stand for."""

    backend: Backend
    graphs: dict[GraphMetric, bytes]
    version: int


class ShellIndex(MIPSIndex):
    """A :class:`~poincare_memory.MIPSIndex` over the memories of one store, moved to the shell of the roots.

    Backends ``auto`` (below 50,000 memories) and ``numpy`` hold no structure of their own: the exact scan over the
    store's columns is their answer. A graph holds the directions; a second one, with the true depths, is built at
    the first indexed search with ``metric="hyperbolic"``, and used where it finds what it holds. Graphs that were
    `saved` are loaded at the first indexed search, in place of being built.
    """

    def __init__(
        self,
        store: Store,
        backend: Backend = "auto",
        *,
        n_threads: int | None = None,
        saved: SavedGraphs | None = None,
        progress: Progress = None,
    ) -> None:
        super().__init__(store.ball, backend, n_threads=n_threads)
        self._progress = checked_progress(progress)
        self._store = store
        self._graphs: dict[GraphMetric, _hnsw.Graph] = {}
        self._unfit: set[GraphMetric] = set()
        self._building = threading.Lock()
        self._version = -1
        self._of_faiss = FaissRows(store, self._built_faiss)
        self._saved = saved
        self._on_disk: tuple[int, set[GraphMetric]] = (
            -1,
            set(),
        )  # version and metrics of what was saved last
        if saved is None:
            self.rebuild()
        self._progress = None  # later, the index keeps up in silence

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "an index follows its Memory and is neither pickled nor copied: pickle or copy the Memory, and call "
            "build_index() of the one that this gives"
        )

    def _metrics(self) -> list[str]:
        return sorted(self._graphs if self._saved is None else self._saved.graphs)

    @property
    def size(self) -> int:
        """Number of memories."""
        return self._store.columns.n

    def rebuild(self) -> None:
        """Build again what the backend keeps."""
        with self._store.lock.read():
            self._unfit.clear()
            self._saved = None
            self._graphs = self._new_graphs(["shell"]) if self._wants_graph() else {}
            self._version = self._store.columns.structure_version
            if self.backend == "faiss":
                self._of_faiss.refresh()

    def _wants_graph(self) -> bool:
        if self.backend == "hnsw":
            return True
        return self.backend == "auto" and self._store.columns.n >= GRAPH_FROM

    def _catch_up(self) -> None:
        """Take in what changed since the last call; under the store's shared lock."""
        columns = self._store.columns
        if self._version == columns.structure_version:
            return
        with self._building:
            if self._version == columns.structure_version:
                return
            if self._saved is not None:
                self._graphs = self._loaded_graphs(self._saved) if self._wants_graph() else {}
                self._version, self._saved = columns.structure_version, None
                return
            changed = columns.changed_rows(self._version)
            if changed is None:
                self._graphs = self._new_graphs(list(self._graphs))
            else:
                present = (columns.order[changed] >= 0) & (columns.directed[changed] == 1)
                for metric, graph in list(self._graphs.items()):
                    if self._fits(metric, columns.radius[changed[present]]):
                        graph.remove(changed[~present].astype(np.int64))
                        self._put(graph, metric, changed[present])
                    else:
                        del self._graphs[metric]
            self._version = columns.structure_version

    # --- searches, under the shared lock --------------------------------------------------------------------

    def nearest_rows(
        self,
        metric: GraphMetric,
        direction: NDArray[np.float64],
        radius: float,
        k: int,
        allowed: NDArray[np.uint8] | None = None,
    ) -> tuple[Indices, int] | None:
        """Rows of the k memories nearest to a query but for the graph's recall; None where a scan must answer.

        So many of them, as the second value tells, come nearest first. Rows without direction are not in a graph:
        they are added at the end. `radius` is hyperbolic, unscaled.
        """
        if self.backend == "faiss":
            if metric != "shell" or allowed is not None:
                return None
            rows, directed = self._of_faiss.nearest(direction, max(self.ef_search, k)), len(self._of_faiss)
        else:
            scaled = radius * self.ball.sqrt_c
            graph = self._graph_of(metric)
            if graph is None or scaled > _hnsw.LARGEST_RADIUS:
                return None
            ef = max(self.looked_at(len(graph), len(direction)), k)
            rows, _ = graph.search(direction.astype(np.float32), scaled, k=k, ef=ef, allowed=allowed)
            directed = len(graph)
        undirected = self._undirected_rows(directed, allowed)
        if undirected is None or len(rows) + len(undirected) < min(k, self.size):
            return None
        return (np.concatenate([rows, undirected]) if len(undirected) else rows), len(rows)

    def nearest_on_shell(
        self,
        direction: NDArray[np.float64],
        radius: float,
        k: int,
        asked: int,
        allowed: NDArray[np.uint8] | None = None,
    ) -> tuple[list[tuple[int, float, float, float]], float] | None:
        """The k nearest on the shell of this radius as ``(row, -distance, distance, 1.0)``, ties by age.

        Beside them, the distance that the `asked` nearest reach. None where they do not come from a graph that holds
        every memory.
        """
        columns = self._store.columns
        graph = None if self.backend == "faiss" else self._graph_of("shell")
        if graph is None or len(graph) != columns.n:
            return None
        sqrt_c = self.ball.sqrt_c
        ef = max(self.looked_at(len(graph), len(direction)), asked)
        return graph.nearest(
            direction, columns.direction, columns.order,
            shell=radius * sqrt_c, sqrt_c=sqrt_c, k=k, asked=asked, ef=ef, allowed=allowed,
        )  # fmt: skip

    def _undirected_rows(self, directed: int, allowed: NDArray[np.uint8] | None) -> Indices | None:
        columns = self._store.columns
        if directed == columns.n:
            return np.zeros(0, np.int64)
        if columns.n - directed > MOST_UNDIRECTED:
            return None
        used = slice(0, columns.high_water)
        missing = (columns.directed[used] == 0) & (columns.order[used] >= 0)
        if allowed is not None:
            missing &= allowed[: columns.high_water].astype(bool)
        return np.flatnonzero(missing)

    def _graph_of(self, metric: GraphMetric) -> _hnsw.Graph | None:
        if not self._graphs and self._saved is None:
            return None
        self._catch_up()
        found = self._graphs.get(metric)
        columns = self._store.columns
        if found is not None or not self._fits(metric, columns.radius[: columns.high_water]):
            return found
        if metric in self._unfit:
            return None
        with self._building:
            if metric not in self._graphs and metric not in self._unfit:
                self._graphs.update(self._new_graphs([metric]))
            return self._graphs.get(metric)

    def _fits(self, metric: GraphMetric, depths: FloatArray) -> bool:
        """Whether a graph can hold memories so deep; where it cannot, the exact scan serves its metric."""
        deepest = float(depths.max(initial=0.0)) * self.ball.sqrt_c
        return metric == "shell" or deepest <= _hnsw.LARGEST_RADIUS

    def _new_graphs(self, metrics: list[GraphMetric]) -> dict[GraphMetric, _hnsw.Graph]:
        """Graphs over all memories, one a metric that they fit."""
        columns = self._store.columns
        live = columns.live_rows()
        rows = live[columns.directed[live].astype(bool)]
        depths = columns.radius[rows]
        graphs = {metric: self._new_graph(metric, rows) for metric in metrics if self._fits(metric, depths)}
        hyperbolic = graphs.get("hyperbolic")
        if hyperbolic is not None and not self._finds_itself(hyperbolic, rows):
            self._unfit.add("hyperbolic")  # until the index is built again, the exact scan serves that metric
            del graphs["hyperbolic"]
        return graphs

    def _finds_itself(self, graph: _hnsw.Graph, rows: Rows) -> bool:
        if len(rows) == 0:
            return True
        columns = self._store.columns
        radii = columns.radius[rows] * self.ball.sqrt_c
        return finds_itself(graph, rows.astype(np.int64), columns.rounded(rows), radii, self.ef_search)

    def _new_graph(self, metric: GraphMetric, rows: Rows) -> _hnsw.Graph:
        graph = self._empty_graph(metric)
        self._put(graph, metric, rows)
        return graph

    def _empty_graph(self, metric: GraphMetric) -> _hnsw.Graph:
        columns = self._store.columns
        return _hnsw.Graph(
            columns.dim,
            metric=metric,
            m=self.hnsw_m,
            ef_construction=EF_CONSTRUCTION,
            seed=GRAPH_SEED,
            capacity=columns.n,
        )

    def _radii(self, metric: GraphMetric, rows: Rows) -> NDArray[np.float64]:
        if metric == "shell":
            return np.zeros(len(rows))
        scaled: NDArray[np.float64] = self._store.columns.radius[rows] * self.ball.sqrt_c
        return scaled

    def _put(self, graph: _hnsw.Graph, metric: GraphMetric, rows: Rows) -> None:
        if len(rows) == 0:
            return
        at_once = ADDED_AT_ONCE if self._progress else len(rows)
        with metered(self._progress, len(rows), "building the index", "memory") as meter:
            for start in range(0, len(rows), at_once):
                part = rows[start : start + at_once]
                graph.add(
                    part.astype(np.int64),
                    self._store.columns.rounded(part),
                    self._radii(metric, part),
                    threads=self._threads or available_threads(),
                )
                meter.update(len(part))

    # --- graphs as bytes ------------------------------------------------------------------------------------

    def saved_graphs(self) -> SavedGraphs | None:
        """The graphs, up to date, as bytes; None where they are what was saved last, or were never asked.

        A graph names its memories by their serial numbers (`Columns.order`), which a live store's file keeps.
        """
        columns = self._store.columns
        with self._store.lock.read():
            if self._saved is not None:
                return None
            if self._graphs:
                self._catch_up()
            if (self._version, set(self._graphs)) == self._on_disk:
                return None
            keys = columns.order[: columns.high_water]
            graphs = {metric: graph.save(keys) for metric, graph in self._graphs.items()}
            return SavedGraphs(self.backend, graphs, columns.structure_version)

    def note_saved(self, saved: SavedGraphs) -> None:
        """These are on disk."""
        self._on_disk = saved.version, set(saved.graphs)

    def _loaded_graphs(self, saved: SavedGraphs) -> dict[GraphMetric, _hnsw.Graph]:
        """What was saved, brought up to date; built again where it is damaged or too much has changed."""
        columns = self._store.columns
        live = columns.live_rows()
        rows = live[columns.directed[live].astype(bool)]
        graphs: dict[GraphMetric, _hnsw.Graph] = {}
        complete = True
        for metric, data in saved.graphs.items():
            if not self._fits(metric, columns.radius[rows]):
                continue
            graph = self._empty_graph(metric)
            labels = rows.astype(np.int64)
            try:
                graph.load(
                    data,
                    labels=labels,
                    keys=columns.order[rows],
                    directions=columns.rounded(rows),
                    radii=self._radii(metric, rows),
                )
            except _hnsw.DamagedGraphError as error:
                logger.warning("the %s graph of the index is built again: %s", metric, error)
                graphs.update(self._new_graphs([metric]))
                complete = False
                continue
            missing = graph.missing(labels)
            self._put(graph, metric, missing.astype(np.int32))
            graphs[metric], complete = graph, complete and len(missing) == 0
        if complete:
            self._on_disk = columns.structure_version, set(graphs)
        return graphs

    # --- the contract of MIPSIndex --------------------------------------------------------------------------

    def build(self, points: FloatArray) -> MIPSIndex:
        raise TypeError("this index follows its Memory: use Memory.build_index(), or a MIPSIndex of your own")

    def query(self, point: FloatArray, k: int) -> tuple[Indices, FloatArray]:
        """As :meth:`MIPSIndex.query`; indices are positions in ``Memory.ids``."""
        columns = self._store.columns
        query, scaled = checked_query(point, self.ball, columns.dim)
        direction = np.empty(len(query))
        directed = _kernels.unit_direction(query, direction)
        with self._store.lock.read():
            wanted = min(integer("k", k), columns.n)
            if wanted < 1:
                return np.zeros(0, np.int64), np.zeros(0)
            positions, rows = self._positions(direction, scaled, wanted)
            distances = self._shell_distances(direction if directed else None, scaled, rows)
        best = smallest(distances, wanted)
        return positions[best], -np.cosh(self.ball.sqrt_c * distances[best]) / self.ball.c

    def _positions(self, direction: NDArray[np.float64], scaled: float, k: int) -> tuple[Indices, Rows]:
        """Candidates, ascending, as positions in order of insertion and as rows."""
        columns = self._store.columns
        radius = scaled / self.ball.sqrt_c
        nearest = self.nearest_rows("shell", direction, radius, max(self.ef_search, 2 * k))
        live = columns.live_rows()
        if nearest is None:
            return np.arange(len(live)), live
        if columns.dense():
            rows = np.sort(nearest[0])
            return rows, rows.astype(np.int32)
        positions = np.sort(np.searchsorted(columns.order[live], columns.order[nearest[0]]))
        return positions, live[positions]

    def _shell_distances(
        self, direction: NDArray[np.float64] | None, scaled: float, rows: Rows
    ) -> NDArray[np.float64]:
        """Distances of a query to memories on the shell; without a direction it is opposite to everything."""
        columns = self._store.columns
        shell = self._store.base_depth * self.ball.sqrt_c
        chords = np.full(len(rows), 4.0)
        if direction is not None:
            gaps = columns.direction[rows] - direction
            chords = np.einsum("ij,ij->i", gaps, gaps)
            chords[columns.directed[rows] == 0] = 4.0
        distances = np.empty(len(rows))
        _kernels.polar_distances(np.full(len(rows), scaled), np.full(len(rows), shell), chords, distances)
        distances /= self.ball.sqrt_c
        return distances
