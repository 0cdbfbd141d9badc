"""Nearest-neighbour indexes over points of the ball.

Points are mapped to the Lorentz model and their time coordinate is negated
(:func:`~poincare_memory.geometry.lorentz.to_mips_vectors`); the inner product with a query's Lorentz vector is
then the Lorentzian inner product, a decreasing function of the hyperbolic distance
(Nickel & Kiela 2018), so the largest products belong to the nearest points.

``numpy``
    Exact: every distance is computed, natively.
``hnsw``
    A graph (Malkov & Yashunin 2018) whose own metric is the hyperbolic one. The scores are those inner products;
    the candidates do not come from them, because a graph links stored points to each other and the negated time
    coordinate makes that product the wrong one between two stored points.
``faiss``
    The vectors handed to faiss as they are (``pip install "poincare-memory[ann]"``): its HNSW where all points
    lie on one shell, its exact flat index where they do not, for the reason just given.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ._core import _hnsw, _kernels
from .arguments import integer
from .geometry.lorentz import to_mips_vectors
from .geometry.numerics import FloatArray
from .geometry.poincare import PoincareBall
from .geometry.polar import ball_to_polar
from .threads import available_threads, resolve_threads

__all__ = ["Backend", "MIPSIndex"]

Backend = Literal["auto", "numpy", "faiss", "hnsw"]

GRAPH_FROM = (
    50_000  # points; below, "auto" stays exact: a scan is quick and an empty graph already weighs 2.7 MB
)
EF_CONSTRUCTION = 200
GRAPH_SEED = 0
FEW_DIMENSIONS = 64
MORE_DIMENSIONS = (
    8  # beyond those few, for so many a graph search looks at one candidate more: they are about as near
)
MANY_POINTS = 100_000  # beyond, candidates grow with the root of their number
SPARE = 6  # candidates beyond 2 k that a graph in bands is asked for
SORTED_WHOLE = 512  # values that are sorted sooner than parted
ASKED_OF_A_GRAPH = 64  # points that a new graph must find again ...
LEAST_FOUND_AGAIN = 0.95  # ... this share of, or the exact scan serves in its place

Indices = NDArray[np.int64]


class MIPSIndex:
    """Index of points of the ball; answers with inner products of their Lorentz vectors.

    Parameters
    ----------
    ball : PoincareBall
        The ball that the points live in.
    backend : {"auto", "numpy", "faiss", "hnsw"}, default "auto"
        See the module. ``auto`` is exact below 50,000 points and a graph from there on.
    hnsw_m : int, default 32
        Links a node in the graph backends.
    ef_search : int, default 64
        Candidates looked at by a graph search; more is slower and finds more. One is added for each 8 dimensions
        beyond 64, and from 100,000 points on all grow with the root of the number of points.
    n_threads : int or None, default None
        Threads that build a graph; None: all processors. One thread builds the same graph at each run.

    Examples
    --------
    >>> import numpy as np
    >>> ball = PoincareBall()
    >>> index = MIPSIndex(ball).build(np.array([[0.1, 0.1], [0.5, 0.5], [-0.4, 0.2]]))
    >>> indices, scores = index.query(np.array([0.45, 0.5]), k=2)
    >>> indices.tolist(), scores.round(3).tolist()
    ([1, 0], [-1.018, -2.053])
    """

    def __init__(
        self,
        ball: PoincareBall,
        backend: Backend = "auto",
        hnsw_m: int = 32,
        ef_search: int = 64,
        *,
        n_threads: int | None = None,
    ) -> None:
        if backend not in get_args(Backend):
            raise ValueError(f"backend: expected one of {', '.join(get_args(Backend))}, got {backend!r}")
        self.ball = ball
        self.backend: Backend = backend
        self.hnsw_m = integer("hnsw_m", hnsw_m, least=2)
        self.ef_search = integer("ef_search", ef_search, least=1)
        self.n_threads = n_threads
        self._threads = resolve_threads(n_threads)
        self._points: FloatArray = np.zeros((0, 0))
        self._graph: _hnsw.Graph | None = None
        self._on_shell = False  # of the graph's points: its surrogates are squared chords
        self._faiss: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: a graph is built again from the points."""
        return {**self.__dict__, "_graph": None, "has_graph": self._graph is not None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        has_graph = state.pop("has_graph")
        self.__dict__.update(state)
        if has_graph:
            self._graph = self._built_graph(self._points)

    def __repr__(self) -> str:
        told = f"{type(self).__name__}(backend={self.backend!r}, size={self.size}, graphs={self._metrics()!r}"
        if not self._metrics():
            return told + ")"
        return told + (
            f", hnsw_m={self.hnsw_m}, ef_construction={EF_CONSTRUCTION}, ef_search={self.ef_search})"
        )

    def _metrics(self) -> list[str]:
        """What distances the graphs that there are search by."""
        if self._graph is None:
            return []
        return ["shell" if self._on_shell else "hyperbolic"]

    @property
    def size(self) -> int:
        """Number of points in the index."""
        return len(self._points)

    def build(self, points: FloatArray) -> MIPSIndex:
        """Index these points, in place of any earlier ones; the index keeps a copy.

        Parameters
        ----------
        points : array (n, d)
            Points strictly inside the ball.

        Returns
        -------
        MIPSIndex
            Itself.

        Raises
        ------
        ValueError
            If a point is not finite or not inside the ball, or the shape is another; the message names the row.
        ImportError
            If the backend is ``faiss`` and faiss is not installed.
        """
        kept = checked_points(points, self.ball)
        graph, faiss_index = None, None
        if self.backend == "hnsw" or (self.backend == "auto" and len(kept) >= GRAPH_FROM):
            graph = self._built_graph(kept)
        elif self.backend == "faiss":
            faiss_index = self._built_faiss(kept)
        self._points, self._graph, self._faiss = kept, graph, faiss_index
        return self

    def query(self, point: FloatArray, k: int) -> tuple[Indices, FloatArray]:
        """Return the k points nearest to a point of the ball.

        Parameters
        ----------
        point : array (d,)
            A point strictly inside the ball.
        k : int
            How many; fewer come back when the index holds fewer.

        Returns
        -------
        indices : int64 array (k,)
            Rows of the built array, nearest first, equal distances in row order.
        scores : float64 array (k,)
            Lorentzian inner products ``-cosh(√c·d)/c``, at most ``-1/c``.

        Raises
        ------
        ValueError
            If the query has another shape, is not finite, or is not inside the ball.
        """
        wanted = min(integer("k", k), self.size)
        if wanted < 1:
            return np.zeros(0, np.int64), np.zeros(0)
        query, scaled = checked_query(point, self.ball, self._points.shape[1])
        rows = self._candidates(query, scaled, wanted)
        if rows is None:
            distances = self.ball.distance(query[None], self._points)
        else:
            distances = np.empty(len(rows))
            _kernels.ball_distances(query[None], self._points[rows], self.ball.c, distances, 1)
        best = smallest(distances, wanted)
        indices = best if rows is None else rows[best]
        return indices, -np.cosh(self.ball.sqrt_c * distances[best]) / self.ball.c

    def _candidates(self, query: NDArray[np.float64], scaled: float, k: int) -> Indices | None:
        """Rows that hold the k nearest but for the backend's recall, ascending; None: look at all.

        `scaled` is the query's distance from the origin, times √c.
        """
        if self._graph is not None:
            if scaled > _hnsw.LARGEST_RADIUS:
                return None
            ef = max(self.looked_at(self.size, len(query)), 2 * k)
            direction = np.empty(len(query))
            _kernels.unit_direction(query, direction)
            # Bands of radii are skipped by the last that is asked for; on a shell there is one band.
            asked = ef if self._on_shell else min(ef, 2 * k + SPARE)
            rows, surrogates = self._graph.search(direction.astype(np.float32), scaled, k=asked, ef=ef)
            if len(rows) < k:
                return None
            return np.sort(rows[: near_enough(surrogates, k)] if self._on_shell else rows)
        if self._faiss is not None:
            asked = min(self.size, max(self.ef_search, 2 * k))
            lorentz = np.ascontiguousarray(self.ball.to_lorentz(query)[None], np.float32)
            rows = self._faiss.search(lorentz, asked)[1][0]
            rows = rows[rows >= 0].astype(np.int64)
            return np.sort(rows) if len(rows) >= k else None
        return None

    def looked_at(self, points: int, dim: int) -> int:
        """Candidates that a search of a graph keeps, at least.

        Parameters
        ----------
        points : int
            Points that the graph holds.
        dim : int
            Their dimension.

        Returns
        -------
        int

        Examples
        --------
        >>> MIPSIndex(PoincareBall()).looked_at(1_000_000, 384)
        329
        """
        usual = self.ef_search + max(0, dim - FEW_DIMENSIONS) // MORE_DIMENSIONS
        return round(usual * math.sqrt(max(1.0, points / MANY_POINTS)))

    def _built_graph(self, points: FloatArray) -> _hnsw.Graph | None:
        direction, radius = ball_to_polar(points, self.ball.c)
        scaled = radius * self.ball.sqrt_c
        if not len(points) or scaled.max() > _hnsw.LARGEST_RADIUS:
            return None
        self._on_shell = _on_one_shell(scaled)
        graph = _hnsw.Graph(
            points.shape[1],
            metric="shell" if self._on_shell else "hyperbolic",
            m=self.hnsw_m,
            ef_construction=EF_CONSTRUCTION,
            seed=GRAPH_SEED,
            capacity=len(points),
        )
        graph.add(
            np.arange(len(points)),
            direction.astype(np.float32),
            scaled,
            threads=self._threads or available_threads(),
        )
        rows = np.arange(len(points))
        return (
            graph if finds_itself(graph, rows, direction.astype(np.float32), scaled, self.ef_search) else None
        )

    def _built_faiss(self, points: FloatArray) -> Any:
        try:
            import faiss
        except ImportError as missing:
            raise ImportError(
                "backend='faiss' needs the extra 'ann': pip install \"poincare-memory[ann]\""
            ) from missing
        vectors = np.ascontiguousarray(to_mips_vectors(self.ball.to_lorentz(points)), np.float32)
        if len(points) and _on_one_shell(ball_to_polar(points, self.ball.c)[1]):
            built: Any = faiss.IndexHNSWFlat(vectors.shape[1], self.hnsw_m, faiss.METRIC_INNER_PRODUCT)
            built.hnsw.efSearch = self.ef_search
        else:
            built = faiss.IndexFlatIP(vectors.shape[1])
        built.add(vectors)
        return built


def checked_points(points: FloatArray, ball: PoincareBall, what: str = "points") -> FloatArray:
    """A float64 copy of points that are finite and inside the ball."""
    array = np.array(points, dtype=np.float64, order="C", copy=True)
    if array.shape == (0,):  # an empty list
        array = array.reshape(0, 0)
    if array.ndim != 2:
        raise ValueError(f"{what}: expected shape (n, d), got {array.shape}")
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise ValueError(f"{what}: row {int(np.argmin(finite))} is not finite")
    inside = ball.is_inside(array)
    if not np.all(inside):
        row = int(np.argmin(inside))
        raise ValueError(
            f"{what}: row {row} has norm {float(np.linalg.norm(array[row])):.6g}, "
            f"expected less than the ball's radius {ball.radius:.6g}; use ball.project first"
        )
    return array


def checked_query(point: Any, ball: PoincareBall, dim: int) -> tuple[NDArray[np.float64], float]:
    """A query point, and its distance from the origin times √c; ValueError where it is none of the ball's."""
    query = np.array(point, np.float64)
    if query.shape == (dim,):
        length, margin = np.empty(1), np.empty(1)
        outside = _kernels.ball_row_terms(query[None], ball.c, length, margin, 1)
        if outside < 0 and length.item() < 1:  # not NaN
            return query, 2.0 * math.asinh(length.item() / math.sqrt(margin.item()))
    query = checked_points(np.asarray(point)[None], ball, what="query point")[0]
    raise ValueError(f"query point: expected shape ({dim},), got {query.shape}")


def near_enough(squared_chords: NDArray[np.float32], k: int) -> int:
    """How many of these, ascending, may belong to the k nearest once their rounding to float32 is made good."""
    chord = math.sqrt(float(squared_chords[k - 1])) * (1 + 1e-5) + 1e-6
    return int(np.searchsorted(squared_chords, np.float32(chord * chord), side="right"))


def finds_itself(
    graph: _hnsw.Graph, labels: Indices, directions: NDArray[np.float32], radii: FloatArray, ef: int
) -> bool:
    """Whether a graph finds what it holds, on a sample spread over its points.

    A graph in which points cannot be reached is not used.
    """
    sample = np.unique(np.linspace(0, len(labels) - 1, ASKED_OF_A_GRAPH).astype(np.int64))
    found = sum(
        int(labels[i]) in graph.search(directions[i], float(radii[i]), k=1, ef=ef)[0] for i in sample.tolist()
    )
    return found >= LEAST_FOUND_AGAIN * len(sample)


def _on_one_shell(radius: FloatArray) -> bool:
    return bool(radius.max() - radius.min() <= 1e-9 * max(1.0, float(radius.max())))


def smallest(values: FloatArray, k: int) -> Indices:
    """Positions of the k smallest values, smallest first, ties in order of position."""
    if k >= len(values) or len(values) <= SORTED_WHOLE:
        return np.argsort(values, kind="stable")[:k].astype(np.int64, copy=False)
    threshold = np.partition(values, k - 1)[k - 1]
    within = np.flatnonzero(values <= threshold)
    return within[np.argsort(values[within], kind="stable")[:k]]
