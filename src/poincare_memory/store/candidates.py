"""Who competes in a search: the candidates of its mode that its filter lets pass."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..retrieval.conditions import NUMERIC_FIELDS
from ..retrieval.filters import MetadataFilter, RecordFilter
from .filtered_keys import LEAST_CANDIDATES
from .ranking import Candidates
from .weights import TimeColumns
from .words import StoreWords

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns
    from .requests import Request
    from .state import Store


ASKED_AT_ONCE: Final = 1024  # records that a function of the user's is asked about

_making_words = threading.Lock()


def competing(store: Store, request: Request) -> Candidates:
    """Candidates of the mode, in the order that breaks ties; under the read lock."""
    columns = store.columns
    if request.mode == "nearest":
        if columns.dense():
            return Candidates(None, columns.n, everything=True)
        return Candidates(columns.live_rows(), columns.n, everything=True)
    if len(request.roots) > 1:
        return _below_any(columns, [_row_of(columns, id) for id in request.roots])
    row = _row_of(columns, request.roots[0])
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


def _row_of(columns: Columns, id: str) -> int:
    row = columns.row_of.get(id)
    if row is None:  # removed since the arguments were checked
        raise KeyError(f"unknown id {id!r:.80}")
    return row


def _below_any(columns: Columns, tops: list[int]) -> Candidates:
    """Several subtrees, one after the other; a memory that is in two of them counts in the first."""
    rows = np.concatenate([columns.subtree_rows(top) for top in tops])
    _, first = np.unique(rows, return_index=True)
    rows = np.ascontiguousarray(rows[np.sort(first)])
    return Candidates(rows, len(rows))


def _inside_cone(store: Store, apex: int) -> Candidates:
    columns = store.columns
    coded = store.coded.of(columns, columns.n)
    rows, energies = _kernels.cone_members(
        columns.direction,
        None if coded is None else coded.codes,
        None if coded is None else coded.scale,
        None if coded is None else coded.error,
        columns.radius,
        columns.directed,
        columns.n,
        None if columns.dense() else columns.live_rows(),
        apex,
        store.cone_k,
        store.ball.curvature,
    )
    return Candidates(rows, len(rows), energies=energies)


def apply_metadata_filter(columns: Columns, request: Request, candidates: Candidates) -> None:
    """What a metadata filter lets pass, of what was recorded by the moment of ``as_of``; under the read lock."""
    if isinstance(request.filter, MetadataFilter):
        candidates.mask = _passing(columns, request.filter, candidates)
    if request.as_of is not None:
        rows = slice(0, candidates.count) if candidates.rows is None else candidates.rows
        known = (columns.recorded_at[rows] <= request.as_of).astype(np.uint8)
        candidates.mask = known if candidates.mask is None else candidates.mask & known


def _passing(columns: Columns, wanted: MetadataFilter, candidates: Candidates) -> NDArray[np.uint8]:
    metas: Any = columns.metas
    if candidates.rows is not None:
        metas = MetasOf(metas, candidates.rows)

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

    if candidates.count < LEAST_CANDIDATES:
        return wanted.mask(metas, field)
    keys = columns.filtered_keys()
    return keys.using(columns, candidates.rows, candidates.count, lambda at: wanted.mask(metas, field, at))


class MetasOf(Sequence[Any]):
    """Metadata of these rows; gathered where somebody looks."""

    def __init__(self, metas: list[Any], rows: Rows) -> None:
        self._metas = metas
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        return self._metas[self._rows[at]]

    def __iter__(self) -> Iterator[Any]:
        return map(self._metas.__getitem__, self._rows.tolist())


def asked_of_the_user(
    store: Store, request: Request, weigh: bool, moment: int
) -> tuple[Candidates, NDArray[np.int64]]:
    """Candidates that the user's filter lets pass, weighed by the user's policy if asked, with serial numbers."""
    columns = store.columns
    with store.lock.read():
        candidates = competing(store, request)
        apply_metadata_filter(columns, request, candidates)
        if candidates.mask is not None:
            candidates = candidates.only(candidates.mask != 0)
        rows = candidates.row_numbers().copy()  # of its own: live_rows() is good until the next change only
        candidates.rows = rows
        orders = columns.order[rows]
    if isinstance(request.filter, RecordFilter):
        passing = _passing_the_user(store, request.filter, rows, orders)
        candidates, orders = candidates.only(passing), orders[passing]
    if not weigh:
        return candidates, orders
    with store.lock.read():
        candidates.rows, there = columns.found_again(candidates.row_numbers(), orders)
        candidates, orders = candidates.only(there), orders[there]
        times = TimeColumns.of(store, candidates.row_numbers())
    candidates.weights = times.weights(moment)
    return candidates, orders


def _passing_the_user(
    store: Store, asked: RecordFilter, rows: Rows, orders: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which memories a function of the user's lets pass; of one that is gone by its turn, it is not asked.

    Records are made a block at a time: those of a large store together would take long to make, and, after Ctrl-C, to
    let go of.
    """
    passing = np.zeros(len(rows), np.bool_)
    for start in range(0, len(rows), ASKED_AT_ONCE):
        block = slice(start, start + ASKED_AT_ONCE)
        with store.lock.read():
            found, there = store.columns.found_again(rows[block], orders[block])
            records = store.columns.records(found[there])
        passing[start + np.flatnonzero(there)] = asked.mask(records) != 0
    return passing


def add_words(store: Store, candidates: Candidates, query: str | None, coefficient: float) -> None:
    """What the query's words add to each candidate that passes: `coefficient` to the best match, less to others.

    Under the read lock. The best match is that among the candidates that pass, so no score depends on what a search
    looked at first.
    """
    if coefficient == 0 or query is None or candidates.count == 0:
        return
    if store.words is None:
        with _making_words:
            store.words = store.words or StoreWords()
    rows, scores = store.words.scores(store.columns, query)
    positions = rows
    if candidates.rows is not None:
        position_of = np.full(store.columns.high_water, -1, np.int32)
        position_of[candidates.rows] = np.arange(candidates.count, dtype=np.int32)
        positions = position_of[rows]
    competing = positions >= 0
    if candidates.mask is not None:
        competing &= candidates.mask[positions] != 0
    positions, scores = positions[competing], scores[competing]
    best = float(scores.max(initial=0.0))
    if best <= 0:
        return
    candidates.bonus = np.zeros(candidates.count)
    candidates.bonus[positions] = coefficient * (scores / best)
