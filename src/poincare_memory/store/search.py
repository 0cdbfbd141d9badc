"""Search of a store: which memories compete, what each scores, and the best of them.

Embedder, clock, filter functions and policies of the user's own run with no lock held. Rows that they were
asked about are known again by their serial number (`Columns.order`): what was removed meanwhile drops out.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..embed.embedding import embed_texts
from ..retrieval.filters import MetadataFilter, RecordFilter, compile_filter
from ..temporal.compiled import checked_weights, compile_policy
from ..temporal.instants import from_micros, to_micros
from .ranking import Candidates, Query, Ranking
from .records import SearchResult
from .shell_index import ShellIndex
from .state import finite, metric_name

if TYPE_CHECKING:
    from ..index import Backend
    from .columns import Columns, Rows
    from .state import Metric, Store

MODES: Final = ("nearest", "subtree", "children", "ancestors", "siblings", "cone")

Float64Array = NDArray[np.float64]


@dataclass(slots=True)
class Request:
    """One search, its arguments checked."""

    query: str | None
    k: int
    mode: str
    root: str | None
    at_time: int | None
    filter: MetadataFilter | RecordFilter | None
    metric: Metric
    query_depth: float
    touch: bool
    use_index: bool | None
    oversample: int


def search(
    store: Store,
    query: str | None = None,
    k: int = 5,
    mode: str = "nearest",
    root: str | None = None,
    at_time: datetime | None = None,
    filters: Any = None,
    metric: str | None = None,
    query_depth: float | None = None,
    touch: bool = True,
    use_index: bool | None = None,
    oversample: int = 8,
) -> list[SearchResult]:
    """The k best memories by score; see `Memory.search`."""
    store.look()
    request = _checked(
        store, query, k, mode, root, at_time, filters, metric, query_depth, touch, use_index, oversample
    )
    if request.k < 1 or store.columns.n == 0:
        return []
    # The clock is asked once; a search of the past still marks its results as accessed now.
    now = store.now() if request.at_time is None or request.touch else request.at_time
    moment = now if request.at_time is None else request.at_time
    place = None if request.query is None else _place_query(store, request)
    policy, factors = store.decay, compile_policy(store.decay)
    if factors is not None and not isinstance(request.filter, RecordFilter):
        with store.lock.read():
            candidates = _competing(store, request)
            _apply_metadata_filter(store.columns, request, candidates)
            results, rows, orders = _ranked(store, request, place, candidates, factors, moment)
    else:
        candidates, orders = _asked_of_the_user(store, request, policy if factors is None else None, moment)
        with store.lock.read():
            there = store.columns.order[candidates.row_numbers()] == orders
            candidates = candidates.only(there)
            results, rows, orders = _ranked(store, request, place, candidates, factors, moment)
    if request.touch and results:
        store.columns.touch(rows, orders, now)
    return results


def build_index(store: Store, backend: Backend = "auto") -> ShellIndex:
    """Build, or build again, the index of a store; see `Memory.build_index`."""
    with store.lock.write():  # so that no write falls between building and keeping in step
        index = store.index = ShellIndex(store, backend)
    return index


# --- arguments ----------------------------------------------------------------------------------------------


def _checked(
    store: Store,
    query: Any,
    k: Any,
    mode: Any,
    root: Any,
    at_time: Any,
    filters: Any,
    metric: Any,
    query_depth: Any,
    touch: Any,
    use_index: Any,
    oversample: Any,
) -> Request:
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r:.80}; expected one of {', '.join(MODES)}")
    if query is not None and (not isinstance(query, str) or not query.strip()):
        raise ValueError(f"query must be a non-empty string or None, got {query!r:.80}")
    if root is None:
        if mode != "nearest":
            raise ValueError(f"mode={mode!r} needs root=<memory id>")
    elif root not in store.columns.row_of:
        raise KeyError(f"unknown id {root!r:.80}")
    if query_depth is not None:
        query_depth = finite("query_depth", query_depth)
        if query_depth < 0:
            raise ValueError(f"query_depth must be at least 0, got {query_depth:g}")
    return Request(
        query,
        _whole("k", k),
        mode,
        root,
        None if at_time is None else to_micros(at_time, "at_time"),
        compile_filter(filters),
        store.metric if metric is None else metric_name("metric", metric),
        store.base_depth if query_depth is None else query_depth,
        bool(touch),
        None if use_index is None else bool(use_index),
        _whole("oversample", oversample),
    )


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r:.80}") from None


def _place_query(store: Store, request: Request) -> Query:
    assert request.query is not None
    embedding = embed_texts(store.embedder, [request.query])[0]
    direction = np.empty(len(embedding))
    directed = _kernels.unit_direction(embedding, direction)
    radius = store.base_depth if request.metric == "shell" else request.query_depth
    return Query(request.metric, direction if directed else None, radius)


# --- who competes -------------------------------------------------------------------------------------------


def _competing(store: Store, request: Request) -> Candidates:
    """Candidates of the mode, in the order that breaks ties; under the read lock."""
    columns = store.columns
    if request.mode == "nearest":
        if columns.dense():
            return Candidates(None, columns.n, everything=True)
        return Candidates(columns.live_rows(), columns.n, everything=True)
    assert request.root is not None
    row = columns.row_of.get(request.root)
    if row is None:  # removed since the arguments were checked
        raise KeyError(f"unknown id {request.root!r:.80}")
    if request.mode == "cone":
        return _inside_cone(store, row)
    related = {
        "subtree": columns.subtree_rows,
        "children": columns.children_rows,
        "ancestors": columns.ancestor_rows,
        "siblings": columns.sibling_rows,
    }
    rows = related[request.mode](row)
    return Candidates(rows, len(rows))


def _inside_cone(store: Store, apex: int) -> Candidates:
    columns = store.columns
    rows, energies = _kernels.cone_members(
        columns.direction,
        columns.scan_direction,
        columns.radius,
        columns.directed,
        columns.n,
        None if columns.dense() else columns.live_rows(),
        apex,
        store.cone_k,
        store.ball.curvature,
    )
    return Candidates(rows, len(rows), energies=energies)


def _apply_metadata_filter(columns: Columns, request: Request, candidates: Candidates) -> None:
    if not isinstance(request.filter, MetadataFilter):
        return
    metas = columns.metas
    if candidates.rows is not None:
        metas = [metas[row] for row in candidates.rows.tolist()]
    candidates.mask = request.filter.mask(metas)


def _asked_of_the_user(
    store: Store, request: Request, policy: Any, moment: int
) -> tuple[Candidates, NDArray[np.int64]]:
    """Candidates that the user's filter lets pass, weighed by the user's policy, and their serial numbers."""
    columns = store.columns
    with store.lock.read():
        candidates = _competing(store, request)
        _apply_metadata_filter(columns, request, candidates)
        if candidates.mask is not None:
            candidates = candidates.only(candidates.mask != 0)
        rows = candidates.row_numbers().copy()  # of its own: live_rows() is good until the next change only
        candidates.rows = rows
        orders = columns.order[rows]
        records = columns.records(rows) if isinstance(request.filter, RecordFilter) else []
    if isinstance(request.filter, RecordFilter):
        passing = request.filter.mask(records) != 0
        candidates, orders = candidates.only(passing), orders[passing]
    if policy is None:
        return candidates, orders
    with store.lock.read():
        there = columns.order[candidates.row_numbers()] == orders
        candidates, orders = candidates.only(there), orders[there]
        arguments = _policy_arguments(columns, candidates.row_numbers())
    candidates.weights = checked_weights(policy, from_micros(moment), *arguments)  # type: ignore[arg-type]
    return candidates, orders


def _policy_arguments(columns: Columns, rows: Rows) -> tuple[list[Any], ...]:
    return (
        [from_micros(t) for t in columns.t[rows].tolist()],
        columns.access_count[rows].tolist(),
        [from_micros(t) for t in columns.valid_from[rows].tolist()],
        [from_micros(t) for t in columns.valid_until[rows].tolist()],
    )


# --- the best of them ---------------------------------------------------------------------------------------


def _ranked(
    store: Store,
    request: Request,
    place: Query | None,
    candidates: Candidates,
    factors: Float64Array | None,
    moment: int,
) -> tuple[list[SearchResult], Rows, NDArray[np.int64]]:
    """Results, their rows and the rows' serial numbers; under the read lock."""
    columns, energies, weights = store.columns, candidates.energies, candidates.weights
    use_index = request.mode == "nearest" and request.use_index is not False
    hits = Ranking(store, place, factors, moment).best(
        candidates, request.k, use_index, request.k * max(1, request.oversample)
    )
    results, rows = [], []
    for position, score, distance, weight in hits:
        row = candidates.row(position)
        result = SearchResult(columns.record(row), score, distance, weight, float(columns.radius[row]))
        if weights is not None:
            result.time_weight = float(weights[position])
        if energies is not None:
            result.cone_energy = float(energies[position])
        results.append(result)
        rows.append(row)
    found = np.array(rows, dtype=np.int32)
    return results, found, columns.order[found]


<<<<<<< HEAD
class Ranking:
    """The score of one search over a store's columns; under the read lock."""

    def __init__(
        self, store: Store, request: Request, place: Query | None, factors: Float64Array | None, moment: int
    ) -> None:
        self._store = store
        self._request = request
        self._place = place
        self._factors = factors
        self._moment = moment

    def best(self, candidates: Candidates) -> list[Hit]:
        """The k best, by the graph where there is one and it pays, by the exact scan otherwise."""
        if candidates.count == 0:
            return []
        if self._request.mode == "nearest" and self._request.use_index is not False:
            hits = self._through_graph(candidates)
            if hits is not None:
                return hits
        return self._scan(candidates, self._request.k)

    def _scan(self, candidates: Candidates, k: int) -> list[Hit]:
        store, columns, place = self._store, self._store.columns, self._place
        metric = _kernels.SCAN_NO_QUERY
        if place is not None:
            shell = self._request.metric == "shell"
            metric = _kernels.SCAN_SHELL if shell else _kernels.SCAN_HYPERBOLIC
        return _kernels.scan_top_k(
            columns.direction,
            columns.scan_direction,
            columns.radius,
            columns.directed,
            columns.t,
            columns.access_count,
            columns.valid_from,
            columns.valid_until,
            candidates.count,
            candidates.rows,
            candidates.mask,
            metric,
            None if place is None else place.direction,
            0.0 if place is None else place.radius,
            store.ball.curvature,
            store.depth_bias,
            store.time_coef,
            self._factors,
            self._moment,
            None if candidates.weights is None else np.log(candidates.weights),
            min(k, candidates.count),
        )

    def _through_graph(self, candidates: Candidates) -> list[Hit] | None:
        """The k best among the nearest, once no memory farther away can score more; None: scan instead.

        The nearest come in order of distance. One that was not fetched lies at least as far away as the
        farthest that was, and scores at most −d + M, where M bounds the terms of depth and time.
        """
        index, place = self._store.index, self._place
        if index is None or place is None or place.direction is None or candidates.weights is not None:
            return None
        mask, allowed, passing = candidates.mask, None, candidates.count
        if mask is not None:
            passing = int(np.count_nonzero(mask))
            allowed = np.zeros(self._store.columns.capacity, np.uint8)
            allowed[candidates.row_numbers()] = mask
        if passing < GRAPH_FROM_PASSING:
            return None
        wanted = max(64, self._request.k * max(1, self._request.oversample))
        most = self._most_besides_distance()
        while wanted * GRAPH_SHARE <= passing:
            found = index.nearest_rows(self._request.metric, place.direction, place.radius, wanted, allowed)
            if found is None:
                return None
            hits = self._scored(found)
            k, directed = self._request.k, self._store.columns.directed
            # Rows without direction are all fetched, and far: they tell nothing about those that were not.
            farthest = max((distance for row, _, distance, _ in hits if directed[row]), default=0.0)
            if len(hits) >= k and hits[k - 1][1] > -farthest + most:
                return [self._at_row(candidates, hit) for hit in hits[:k]]
            wanted *= 4
        return None

    def _scored(self, found: NDArray[Any]) -> list[Hit]:
        """Exact scores of rows, best first, ties by age; the position of a hit is its row."""
        rows = found.astype(np.int32)
        rows = np.ascontiguousarray(rows[np.argsort(self._store.columns.order[rows])])
        hits = self._scan(Candidates(rows, len(rows)), len(rows))
        return [(int(rows[hit[0]]), *hit[1:]) for hit in hits]

    def _at_row(self, candidates: Candidates, hit: Hit) -> Hit:
        if candidates.rows is None:
            return hit
        order = self._store.columns.order  # live rows are sorted by it
        position = int(np.searchsorted(order[candidates.rows], order[hit[0]]))
        return (position, *hit[1:])

    def _most_besides_distance(self) -> float:
        """M = max(depth_bias · depth) + max(0, time_coef · ln MIN_WEIGHT)."""
        store = self._store
        most = 0.0
        if store.depth_bias:
            radii = store.columns.radius[store.columns.live_rows()]
            most = store.depth_bias * float(radii.max() if store.depth_bias > 0 else radii.min())
        if store.time_coef < 0 and self._factors is not None and len(self._factors):
            most += store.time_coef * math.log(_kernels.MIN_WEIGHT)
        return most
=======
def _touch(store: Store, rows: Rows, orders: NDArray[np.int64], now: int) -> None:
    """Count an access of each row that is still there."""
    with store.lock.write():
        columns = store.columns
        there = rows[columns.order[rows] == orders]
        columns.access_count[there] += 1
        columns.last_accessed[there] = now
        columns.changed()
>>>>>>> 5ffe7c7 (Ranking in a module of its own; a graph is told which memories a filter function let pass)
