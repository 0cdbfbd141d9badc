"""Many queries at once: one call of the embedder, one pass over the directions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..retrieval.filters import RecordFilter
from ..temporal.compiled import compile_policy
from .candidates import apply_metadata_filter, competing
from .diversity import pool_size
from .ranking import Candidates, Hit, Query, Ranking
from .requests import Request, checked_query, checked_request
from .search import Answer, answer, direction_of, place_query, results_of

if TYPE_CHECKING:
    from .records import SearchResult
    from .search import EmbedQuery
    from .state import Store

AT_ONCE: Final = 1 << 24  # dot products held at a time
LEAST_COUNT: Final = 2048  # candidates from which a shared pass beats one scan a query
MOST_SURVIVORS: Final = 8  # one candidate in so many may survive the bound; beyond, the scan answers
SPREAD: Final = 64  # candidates that share a maximum when a query's k best bounds are looked for
LARGEST_RADIUS: Final = 38.0  # of both points together, times √c: float32 holds e to that power

Float32Array = NDArray[np.float32]


def search_many(
    store: Store, queries: Iterable[str], *, embed_query: EmbedQuery | None = None, **options: Any
) -> list[list[SearchResult]]:
    """The answers of `search` to each query, at one moment; see `Memory.search_many`."""
    if isinstance(queries, str | bytes):
        raise TypeError("queries must be an iterable of strings, got one string; wrap it in a list")
    store.look()
    texts = [_text(i, query) for i, query in enumerate(queries)]
    request = checked_request(store, **options)
    if request.k < 1 or store.columns.n == 0 or not texts:
        return [[] for _ in texts]
    now = store.now() if request.at_time is None or request.touch else request.at_time
    moment = now if request.at_time is None else request.at_time
    places = _places(store, request, texts, embed_query)
    answers = _together(store, request, places, moment)
    if answers is None:
        answers = [
            answer(store, request, text, place, moment) for text, place in zip(texts, places, strict=True)
        ]
    if request.touch:
        for results, rows, orders in answers:
            if results:
                store.columns.touch(rows, orders, now)
    return [results for results, _, _ in answers]


def _text(i: int, query: Any) -> str:
    try:
        text = checked_query(query)
    except ValueError as error:
        raise ValueError(f"query {i}: {error}") from None
    if text is None:
        raise ValueError(f"query {i}: query must be a non-empty string, got None")
    return text


def _places(store: Store, request: Request, texts: list[str], embed_query: EmbedQuery | None) -> list[Query]:
    if embed_query is not None:
        return [place_query(store, request, text, embed_query) for text in texts]
    radius = store.base_depth if request.metric == "shell" else request.query_depth
    return [Query(request.metric, direction_of(row), radius) for row in store.embed(texts)]


def _together(store: Store, request: Request, places: list[Query], moment: int) -> list[Answer] | None:
    """All answers from one pass; None where each query has to be answered alone."""
    factors = compile_policy(store.decay)
    if factors is None or isinstance(request.filter, RecordFilter) or request.lexical_coef:
        return None
    with store.lock.read():
        if store.index is not None and request.mode == "nearest" and request.use_index is not False:
            return None
        candidates = competing(store, request)
        apply_metadata_filter(store.columns, request, candidates)
        if candidates.count < LEAST_COUNT:  # the filter at least was applied once
            rank = Ranking(store, None, factors, moment)
            answers = []
            for place in places:
                rank.query = place
                hits = rank.best(candidates, _wanted(request), False, 0)
                answers.append(results_of(store, request, candidates, hits))
            return answers
        return _Pass(store, request, candidates, factors, moment).answers(places)


def _wanted(request: Request) -> int:
    return pool_size(request.k) if request.diversity else request.k


class _Pass:
    """The candidates of a call, and what bounds their scores whatever the query; under the read lock.

    Products of directions in float32 (one matrix product a block of queries) bound every score from above; what
    the k best scores cannot exclude goes through the exact scan, which alone decides. So the answers are those of
    single searches, to the bit.
    """

    def __init__(
        self,
        store: Store,
        request: Request,
        candidates: Candidates,
        factors: NDArray[np.float64],
        moment: int,
    ) -> None:
        columns = store.columns
        self._store, self._request, self._candidates = store, request, candidates
        self._ranking = Ranking(store, None, factors, moment)
        self._positions: NDArray[np.intp] | None = None  # of the rows below; None: all candidates, in order
        rows: Any = slice(0, candidates.count) if candidates.rows is None else candidates.rows
        if candidates.mask is not None:
            self._positions = np.flatnonzero(candidates.mask)
            rows = self._positions if candidates.rows is None else candidates.rows[self._positions]
        self._rows = rows
        self._matrix = columns.scan_direction[rows]  # a view where all memories compete
        self._undirected = np.flatnonzero(columns.directed[rows] == 0)
        dim = columns.dim
        # |fl(x·y) − x·y| for unit vectors, whatever the order of summation, and for rounding them to float32.
        self._error = np.float32((dim + 4) * 2.0**-23 + 1e-8)
        self._terms = self._terms_besides_distance(factors, moment)
        self._largest_term = 0.0 if self._terms is None else float(np.abs(self._terms).max())

    def _terms_besides_distance(self, factors: NDArray[np.float64], moment: int) -> Float32Array | None:
        store, columns, rows = self._store, self._store.columns, self._rows
        terms = np.zeros(len(self._matrix))
        if store.depth_bias:
            terms += store.depth_bias * columns.radius[rows]
        if store.time_coef and len(factors):
            weights = np.empty(len(terms))
            time = (columns.aged_from, columns.access_count, columns.valid_from, columns.valid_until)
            copies = [np.ascontiguousarray(column[rows]) for column in time]
            t, accesses, start, end = copies
            _kernels.decay_weights(factors, moment, t, accesses, start, end, None, weights)
            terms += store.time_coef * np.log(weights)
        if not terms.any():
            return None
        with np.errstate(over="ignore"):  # infinite in float32: the bounds are of no use then, and not used
            return terms.astype(np.float32)

    def answers(self, places: list[Query]) -> list[Answer]:
        step = max(1, AT_ONCE // max(1, len(self._matrix)))
        answers: list[Answer] = []
        for start in range(0, len(places), step):
            answers += self._block(places[start : start + step])
        return answers

    def _block(self, places: list[Query]) -> list[Answer]:
        dim = self._store.columns.dim
        queries = np.zeros((len(places), dim), np.float32)
        for i, place in enumerate(places):
            if place.direction is not None:
                queries[i] = place.direction
        dots = queries @ self._matrix.T
        if len(self._undirected):
            dots[:, self._undirected] = -1  # the opposite direction
        answers = []
        for place, row in zip(places, dots, strict=True):
            self._ranking.query = place
            hits = self._hits(place, row)
            answers.append(results_of(self._store, self._request, self._candidates, hits))
        return answers

    def _hits(self, place: Query, dots: Float32Array) -> list[Hit]:
        k = _wanted(self._request)
        survivors = self._survivors(place, dots, k)
        if survivors is None:
            return self._ranking.best(self._candidates, k, False, 0)
        return self._exact(survivors, k)

    def _exact(self, chosen: NDArray[np.intp], k: int) -> list[Hit]:
        positions = chosen if self._positions is None else self._positions[chosen]
        candidates = self._candidates
        rows = positions.astype(np.int32) if candidates.rows is None else candidates.rows[positions]
        hits = self._ranking.best(Candidates(np.ascontiguousarray(rows), len(rows)), k, False, 0)
        return [(int(positions[hit[0]]), *hit[1:]) for hit in hits]

    def _survivors(self, place: Query, dots: Float32Array, k: int) -> NDArray[np.intp] | None:
        """Those that may be among the k best; None where the bound does not tell, or tells too little."""
        if place.direction is None or len(dots) < max(LEAST_COUNT, 4 * SPREAD * k):
            return None
        if place.metric == "shell" and self._terms is None:
            # The score falls with the angle alone. k products reach `least`, so k true ones do less the error,
            # and whatever belongs to the k best does too.
            least = _kth_largest_at_least(dots, k)
            chosen = np.flatnonzero(dots >= least - 2 * self._error)
        else:
            bounds = self._bounds(place, dots)
            if bounds is None:
                return None
            largest = max(float(bounds.max()), -float(bounds.min()))
            if not math.isfinite(largest):
                return None
            margin = 4e-6 * (largest + self._largest_term + 2 / self._store.ball.sqrt_c)
            promising = np.flatnonzero(bounds >= _kth_largest_at_least(bounds, k))
            if len(promising) > len(dots) // MOST_SURVIVORS:
                return None
            reach = self._exact(promising, k)[-1][1]  # k scores are at least so large
            chosen = np.flatnonzero(bounds >= reach - margin)
        return chosen if len(chosen) <= len(dots) // MOST_SURVIVORS else None

    def _bounds(self, place: Query, dots: Float32Array) -> Float32Array | None:
        """What no score can exceed but for rounding; None at radii that float32 cannot hold."""
        store, root_c = self._store, self._store.ball.sqrt_c
        r = root_c * place.radius
        q = dots * np.float32(-2)
        q += 2 - 2 * self._error
        np.maximum(q, np.float32(0), out=q)  # the squared chord
        if place.metric == "shell":
            if 2 * r > LARGEST_RADIUS:
                return None
            q *= np.float32(math.sinh(r) ** 2 / 4)
        else:
            s = root_c * store.columns.radius[self._rows]
            if r + float(s.max()) > LARGEST_RADIUS:
                return None
            q *= (math.sinh(r) / 4 * np.sinh(s)).astype(np.float32)
            q += (np.sinh((r - s) / 2) ** 2).astype(np.float32)
        bounds: Float32Array = np.sqrt(q)
        q += 1
        bounds += np.sqrt(q, out=q)
        np.log(bounds, out=bounds)
        bounds *= np.float32(-2 / root_c)
        if self._terms is not None:
            bounds += self._terms
        return bounds


def _kth_largest_at_least(values: Float32Array, k: int) -> np.float32:
    """A lower bound of the k-th largest value, seldom far from it: that of maxima of disjoint sets of values."""
    sets = len(values) // SPREAD
    largest = values[: sets * SPREAD].reshape(SPREAD, sets).max(axis=0)
    return np.float32(np.partition(largest, sets - k)[sets - k])
