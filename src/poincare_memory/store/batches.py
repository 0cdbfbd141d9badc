"""Many queries at once: one call of the embedder, one choice of candidates, one pass over their directions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..collector import CollectorPaused
from ..retrieval.filters import RecordFilter
from .candidates import add_words, apply_metadata_filter, asked_of_the_user, competing
from .diversity import pool_size
from .ranking import SCAN_METRIC, Candidates, Query, Ranking
from .requests import Request, checked_query, checked_request
from .search import Answers, answers_of, directions_of, place_query

if TYPE_CHECKING:
    from .records import Hit, SearchResult
    from .search import EmbedQuery
    from .state import Store

QUERIES_AT_ONCE: Final = 256  # what is remembered of each takes memory


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
    answers, rows, orders = _answers(store, request, texts, places, moment)
    if len(rows):
        store.columns.touch(rows, orders, now)
    return answers


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
    return [Query(request.metric, direction, radius) for direction in directions_of(store.embed(texts))]


def _answers(store: Store, request: Request, texts: list[str], places: list[Query], moment: int) -> Answers:
    factors = store.factors()
    if factors is None or isinstance(request.filter, RecordFilter):
        candidates, orders = asked_of_the_user(store, request, factors is None, moment)
        with store.lock.read():
            candidates.rows, there = store.columns.found_again(candidates.row_numbers(), orders)
            return _ranked(store, request, texts, places, candidates.only(there), factors, moment)
    with store.lock.read():
        candidates = competing(store, request)
        apply_metadata_filter(store.columns, request, candidates)
        return _ranked(store, request, texts, places, candidates, factors, moment)


def _ranked(
    store: Store,
    request: Request,
    texts: list[str],
    places: list[Query],
    candidates: Candidates,
    factors: NDArray[np.float64] | None,
    moment: int,
) -> Answers:
    """Answers of one choice of candidates; under the read lock."""
    ranking = Ranking(store, None, factors, moment)
    use_index = store.index is not None and request.mode == "nearest" and request.use_index is not False
    if not use_index and not request.lexical_coef:
        with CollectorPaused():  # until what was found is gone
            return answers_of(
                store, request, candidates, _from_one_pass(ranking, request, candidates, places)
            )
    answers: list[Answers] = []
    for text, place in zip(texts, places, strict=True):
        ranking.query, candidates.bonus = place, None
        add_words(store, candidates, text, request.lexical_coef)
        least = request.k * max(1, request.oversample)
        hits = ranking.best(candidates, _wanted(request), use_index, least)
        answers.append(answers_of(store, request, candidates, [hits]))
    results, rows, orders = zip(*answers, strict=True)
    return [one for (one,) in results], np.concatenate(rows), np.concatenate(orders)


def _wanted(request: Request) -> int:
    return pool_size(request.k) if request.diversity else request.k


def _from_one_pass(
    ranking: Ranking, request: Request, candidates: Candidates, places: list[Query]
) -> list[list[Hit]]:
    """The k best for every query: those of single scans, to the bit."""
    found: list[list[Hit]] = [[] for _ in places]
    compact, positions = candidates, None
    if candidates.mask is not None:
        positions = np.flatnonzero(candidates.mask)
        compact = candidates.only(candidates.mask != 0)
    if compact.count == 0:
        return found
    alike = [i for i, place in enumerate(places) if place.direction is not None]
    if len({places[i].radius for i in alike}) > 1:
        alike = []
    together: set[int] = set()
    for start in range(0, len(alike), QUERIES_AT_ONCE):
        block = alike[start : start + QUERIES_AT_ONCE]
        answers = _scanned(ranking, compact, [places[i] for i in block], _wanted(request))
        if answers is None:
            break
        for i, hits in zip(block, answers, strict=True):
            found[i] = hits
        together.update(block)
    for i, place in enumerate(places):
        if i not in together:
            ranking.query = place
            found[i] = ranking.best(compact, _wanted(request), False, 0)
    if positions is None:
        return found
    return [[(int(positions[hit[0]]), *hit[1:]) for hit in hits] for hits in found]


def _scanned(ranking: Ranking, candidates: Candidates, places: list[Query], k: int) -> list[list[Hit]] | None:
    """None where only the scan of one query can answer, or codes do not pay yet."""
    store, columns = ranking.store, ranking.store.columns
    directions = np.array([place.direction for place in places])
    coded = store.coded.of(columns, candidates.count * len(places))
    if coded is None:
        return None
    return _kernels.scan_batch(
        columns.direction,
        *coded,
        columns.radius,
        columns.directed,
        columns.aged_from,
        columns.access_count,
        columns.valid_from,
        columns.valid_until,
        candidates.rows,
        SCAN_METRIC[places[0].metric],
        directions,
        places[0].radius,
        candidates.count,
        store.ball.curvature,
        store.depth_bias,
        store.time_coef,
        ranking.factors,
        ranking.moment,
        None if candidates.weights is None else np.log(candidates.weights),
        k,
    )
