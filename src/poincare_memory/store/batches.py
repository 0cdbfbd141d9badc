"""Many queries at once: one call of the embedder, one choice of candidates, one pass over their directions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    from .state import Metric, Store

QUERIES_AT_ONCE: Final = 256  # what is remembered of each takes memory


@dataclass(slots=True)
class Queries:
    """Places of many queries of one metric; a direction of zeros is none, as `directed` tells."""

    metric: Metric
    directions: NDArray[np.float64]
    directed: NDArray[np.bool_]
    radii: list[float]

    @classmethod
    def of(cls, places: list[Query], dim: int) -> Queries:
        """As one: at least one place."""
        directions = [np.zeros(dim) if place.direction is None else place.direction for place in places]
        directed = [place.direction is not None for place in places]
        radii = [place.radius for place in places]
        return cls(places[0].metric, np.array(directions), np.array(directed), radii)

    def __len__(self) -> int:
        return len(self.radii)

    def __getitem__(self, number: int) -> Query:
        direction = self.directions[number] if self.directed[number] else None
        return Query(self.metric, direction, self.radii[number])

    def alike(self) -> list[int]:
        """Those that one pass can answer: with a direction, and of one radius."""
        directed: list[int] = self.directed.nonzero()[0].tolist()
        return directed if len({self.radii[number] for number in directed}) == 1 else []


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
    placed = _placed(store, request, texts, embed_query)
    answers, rows, orders = _answers(store, request, texts, placed, moment)
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


def _placed(store: Store, request: Request, texts: list[str], embed_query: EmbedQuery | None) -> Queries:
    if embed_query is not None:
        return Queries.of(
            [place_query(store, request, text, embed_query) for text in texts], store.columns.dim
        )
    radius = store.base_depth if request.metric == "shell" else request.query_depth
    return Queries(request.metric, *directions_of(store.embed(texts)), [radius] * len(texts))


def _answers(store: Store, request: Request, texts: list[str], queries: Queries, moment: int) -> Answers:
    factors = store.factors()
    if factors is None or isinstance(request.filter, RecordFilter):
        candidates, orders = asked_of_the_user(store, request, factors is None, moment)
        with store.lock.read():
            candidates.rows, there = store.columns.found_again(candidates.row_numbers(), orders)
            return _ranked(store, request, texts, queries, candidates.only(there), factors, moment)
    with store.lock.read():
        candidates = competing(store, request)
        apply_metadata_filter(store.columns, request, candidates)
        return _ranked(store, request, texts, queries, candidates, factors, moment)


def _ranked(
    store: Store,
    request: Request,
    texts: list[str],
    queries: Queries,
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
                store, request, candidates, _from_one_pass(ranking, request, candidates, queries)
            )
    answers: list[Answers] = []
    for number, text in enumerate(texts):
        ranking.query, candidates.bonus = queries[number], None
        add_words(store, candidates, text, request.lexical_coef)
        least = request.k * max(1, request.oversample)
        hits = ranking.best(candidates, _wanted(request), use_index, least)
        answers.append(answers_of(store, request, candidates, [hits]))
    results, rows, orders = zip(*answers, strict=True)
    return [one for (one,) in results], np.concatenate(rows), np.concatenate(orders)


def _wanted(request: Request) -> int:
    return pool_size(request.k) if request.diversity else request.k


def _from_one_pass(
    ranking: Ranking, request: Request, candidates: Candidates, queries: Queries
) -> list[list[Hit]]:
    """The k best for every query: those of single scans, to the bit."""
    found: list[list[Hit]] = [[] for _ in queries.radii]
    compact, positions = candidates, None
    if candidates.mask is not None:
        positions = np.flatnonzero(candidates.mask)
        compact = candidates.only(candidates.mask != 0)
    if compact.count == 0:
        return found
    alike = queries.alike()
    directions = queries.directions if len(alike) == len(queries) else queries.directions[alike]
    alone = set(range(len(queries)))
    for start in range(0, len(alike), QUERIES_AT_ONCE):
        block = alike[start : start + QUERIES_AT_ONCE]
        part = directions[start : start + QUERIES_AT_ONCE]
        answers = _scanned(ranking, compact, queries[block[0]], part, _wanted(request))
        if answers is None:
            break
        for number, hits in zip(block, answers, strict=True):
            found[number] = hits
        alone.difference_update(block)
    for number in sorted(alone):
        ranking.query = queries[number]
        found[number] = ranking.best(compact, _wanted(request), False, 0)
    if positions is None:
        return found
    return [[(int(positions[hit[0]]), *hit[1:]) for hit in hits] for hits in found]


def _scanned(
    ranking: Ranking, candidates: Candidates, like: Query, directions: NDArray[np.float64], k: int
) -> list[list[Hit]] | None:
    """Of queries in these directions, otherwise `like` this one.

    None where only the scan of one query can answer, or codes do not pay yet.
    """
    store, columns = ranking.store, ranking.store.columns
    coded = store.coded.of(columns, candidates.count * len(directions))
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
        SCAN_METRIC[like.metric],
        directions,
        like.radius,
        candidates.count,
        store.ball.curvature,
        store.depth_bias,
        store.time_coef,
        ranking.factors,
        ranking.moment,
        None if candidates.weights is None else np.log(candidates.weights),
        k,
    )
