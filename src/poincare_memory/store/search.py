"""Search of a store: which memories compete, what each scores, and the best of them.

Embedder, clock, filter functions and policies of the user's own run with no lock held. Rows that they were
asked about are known again by their serial number (`Columns.order`): what was removed meanwhile drops out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..arguments import integer, number_within
from ..embed.embedding import as_embeddings
from ..geometry.polar import radii_of
from ..retrieval.conditions import NUMERIC_FIELDS
from ..retrieval.filters import MetadataFilter, RecordFilter, compile_filter
from ..temporal.compiled import compile_policy
from ..temporal.instants import to_micros
from .ranking import Candidates, Query, Ranking
from .records import SearchResult
from .shell_index import ShellIndex
from .state import metric_name
from .weights import TimeColumns

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..geometry.numerics import FloatArray
    from ..index import Backend
    from .arrays import Rows
    from .columns import Columns
    from .state import Metric, Store

    EmbedQuery = Callable[[str, float], FloatArray]

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
    embed_query: EmbedQuery | None = None,
) -> list[SearchResult]:
    """The k best memories by score; see `Memory.search`.

    `embed_query` is that of a `Memory` subclass which places queries in its own way.
    """
    store.look()
    request = _checked(
        store, query, k, mode, root, at_time, filters, metric, query_depth, touch, use_index, oversample
    )
    if request.k < 1 or store.columns.n == 0:
        return []
    # The clock is asked once; a search of the past still marks its results as accessed now.
    now = store.now() if request.at_time is None or request.touch else request.at_time
    moment = now if request.at_time is None else request.at_time
    place = None if request.query is None else _place_query(store, request, embed_query)
    factors = compile_policy(store.decay)
    if factors is not None and not isinstance(request.filter, RecordFilter):
        with store.lock.read():
            candidates = _competing(store, request)
            _apply_metadata_filter(store.columns, request, candidates)
            results, rows, orders = _ranked(store, request, place, candidates, factors, moment)
    else:
        candidates, orders = _asked_of_the_user(store, request, factors is None, moment)
        with store.lock.read():
            there = store.columns.order[candidates.row_numbers()] == orders
            candidates = candidates.only(there)
            results, rows, orders = _ranked(store, request, place, candidates, factors, moment)
    if request.touch and results:
        store.columns.touch(rows, orders, now)
    return results


def build_index(store: Store, backend: Backend = "auto") -> ShellIndex:
    """Build, or build again, the index of a store; see `Memory.build_index`."""
    store.look()
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
        query_depth = number_within("query_depth", query_depth, 0)
    return Request(
        query,
        integer("k", k),
        mode,
        root,
        None if at_time is None else to_micros(at_time, "at_time"),
        compile_filter(filters),
        store.metric if metric is None else metric_name("metric", metric),
        store.base_depth if query_depth is None else query_depth,
        bool(touch),
        None if use_index is None else bool(use_index),
        integer("oversample", oversample),
    )


def _place_query(store: Store, request: Request, embed_query: EmbedQuery | None) -> Query:
    assert request.query is not None
    radius = store.base_depth if request.metric == "shell" else request.query_depth
    if embed_query is None:
        embedding = store.embed([request.query])[0]
    else:
        point = embed_query(request.query, request.query_depth)
        embedding = as_embeddings([point], 1, store.columns.dim, "embed_query")[0]
        if request.metric == "hyperbolic":
            radius = float(radii_of(embedding, store.ball.c))
    direction = np.empty(len(embedding))
    directed = _kernels.unit_direction(embedding, direction)
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

    def field(name: str) -> NDArray[Any] | list[Any]:
        rows = candidates.rows
        if name == "parent":
            ids, parents = columns.ids, columns.parent
            chosen = parents[: candidates.count] if rows is None else parents[rows]
            return [None if row < 0 else ids[row] for row in chosen.tolist()]
        if name in NUMERIC_FIELDS:
            column: NDArray[Any] = getattr(columns, name)
            return column[: candidates.count] if rows is None else column[rows]
        values: list[Any] = columns.ids if name == "id" else columns.texts
        return values if rows is None else [values[row] for row in rows.tolist()]

    candidates.mask = request.filter.mask(metas, field)


def _asked_of_the_user(
    store: Store, request: Request, weigh: bool, moment: int
) -> tuple[Candidates, NDArray[np.int64]]:
    """Candidates that the user's filter lets pass, weighed by the user's policy if asked, and their serial
    numbers."""
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
    if not weigh:
        return candidates, orders
    with store.lock.read():
        there = columns.order[candidates.row_numbers()] == orders
        candidates, orders = candidates.only(there), orders[there]
        times = TimeColumns.of(store, candidates.row_numbers())
    candidates.weights = times.weights(moment)
    return candidates, orders


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
    record, depth = columns.record, columns.radius.item
    rows = [hit[0] for hit in hits]
    if candidates.rows is not None:
        rows = list(map(candidates.rows.item, rows))
    results = [
        SearchResult(record(row), score, distance, weight, depth(row))
        for row, (_, score, distance, weight) in zip(rows, hits, strict=True)
    ]
    if weights is not None:
        for result, hit in zip(results, hits, strict=True):
            result.time_weight = float(weights[hit[0]])
    if energies is not None:
        for result, hit in zip(results, hits, strict=True):
            result.cone_energy = float(energies[hit[0]])
    found = np.array(rows, dtype=np.int32)
    return results, found, columns.order[found]
