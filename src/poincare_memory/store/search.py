"""Search of a store: which memories compete, what each scores, and the best of them.

Embedder, clock, filter functions and policies of the user's own run with no lock held. Rows that they were
asked about are known again by their serial number (`Columns.order`): what was removed meanwhile drops out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..embed.embedding import as_embeddings
from ..geometry.polar import radii_of
from ..retrieval.filters import RecordFilter
from .candidates import add_words, apply_metadata_filter, asked_of_the_user, competing
from .diversity import diverse, pool_size
from .ranking import Candidates, Query, Ranking
from .requests import Request, checked_query, checked_request
from .shell_index import ShellIndex

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..geometry.numerics import FloatArray
    from ..index import Backend
    from ..progress import Progress
    from .arrays import Rows
    from .records import Hit, SearchResult
    from .state import Store

    EmbedQuery = Callable[[str, float], FloatArray]

Float64Array = NDArray[np.float64]
Answers: TypeAlias = "tuple[list[list[SearchResult]], Rows, NDArray[np.int64]]"
"""Results of each query; where they are to be touched, the rows of all, and the rows' serial numbers."""

UNTOUCHED: Final = np.empty(0, np.int32), np.empty(0, np.int64)


def search(
    store: Store, query: str | None = None, *, embed_query: EmbedQuery | None = None, **options: Any
) -> list[SearchResult]:
    """The k best memories by score; see `Memory.search`.

    `embed_query` is that of a `Memory` subclass which places queries in its own way.
    """
    store.look()
    query = checked_query(query)
    request = checked_request(store, **options)
    if request.k < 1 or store.columns.n == 0:
        return []
    # The clock is asked once; a search of the past still marks its results as accessed now.
    now = store.now() if request.at_time is None or request.touch else request.at_time
    moment = now if request.at_time is None else request.at_time
    place = None if query is None else place_query(store, request, query, embed_query)
    (results,), rows, orders = _answers(store, request, query, place, moment)
    if len(rows):
        store.columns.touch(rows, orders, now)
    return results


def _answers(store: Store, request: Request, query: str | None, place: Query | None, moment: int) -> Answers:
    """The answer to one query at one moment."""
    factors = store.factors()
    if factors is not None and not isinstance(request.filter, RecordFilter):
        with store.lock.read():
            candidates = competing(store, request)
            apply_metadata_filter(store.columns, request, candidates)
            return _ranked(store, request, query, place, candidates, factors, moment)
    candidates, orders = asked_of_the_user(store, request, factors is None, moment)
    with store.lock.read():
        candidates.rows, there = store.columns.found_again(candidates.row_numbers(), orders)
        candidates = candidates.only(there)
        return _ranked(store, request, query, place, candidates, factors, moment)


def build_index(store: Store, backend: Backend = "auto", progress: Progress = None) -> ShellIndex:
    """Build, or build again, the index of a store; see `Memory.build_index`."""
    store.look()
    with store.lock.write():  # so that no write falls between building and keeping in step
        index = store.index = ShellIndex(store, backend, progress=progress)
    return index


def place_query(store: Store, request: Request, query: str, embed_query: EmbedQuery | None) -> Query:
    radius = store.base_depth if request.metric == "shell" else request.query_depth
    if embed_query is None:
        embedding = store.embed([query])[0]
    else:
        point = embed_query(query, request.query_depth)
        embedding = as_embeddings([point], 1, store.columns.dim, "embed_query")[0]
        if request.metric == "hyperbolic":
            radius = float(radii_of(embedding, store.ball.c))
    return Query(request.metric, direction_of(embedding), radius)


def direction_of(embedding: FloatArray) -> Float64Array | None:
    """The unit direction of an embedding, None where it has none."""
    direction = np.empty(len(embedding))
    return direction if _kernels.unit_direction(embedding, direction) else None


def directions_of(embeddings: FloatArray) -> tuple[Float64Array, NDArray[np.bool_]]:
    """`direction_of` each row, to the bit: zeros where there is none, and whether there is one."""
    n, dim = embeddings.shape
    directions, directed = np.empty((n, dim)), np.empty(n, np.bool_)
    roots, rows = np.full(n, -1, np.int32), np.arange(n, dtype=np.int32)
    _kernels.place_rows(
        embeddings, directions, np.empty(n), np.empty(n, np.int32), roots, directed.view(np.uint8), rows,
        1.0, 1.0, 0.0, 1.0, False, _kernels.DEFAULT_CONE_K,
    )  # fmt: skip
    return directions, directed


# --- the best of them ---------------------------------------------------------------------------------------


def _ranked(
    store: Store,
    request: Request,
    query: str | None,
    place: Query | None,
    candidates: Candidates,
    factors: Float64Array | None,
    moment: int,
) -> Answers:
    """Rank the candidates; under the read lock."""
    if request.lexical_coef:
        add_words(store, candidates, query, request.lexical_coef)
    use_index = request.mode == "nearest" and request.use_index is not False
    wanted = pool_size(request.k) if request.diversity else request.k
    hits = Ranking(store, place, factors, moment).best(
        candidates, wanted, use_index, request.k * max(1, request.oversample)
    )
    return answers_of(store, request, candidates, [hits])


def answers_of(store: Store, request: Request, candidates: Candidates, found: list[list[Hit]]) -> Answers:
    """What the user gets of each query's hits; under the read lock."""
    if request.min_score is not None:
        found = [[hit for hit in hits if hit[1] >= request.min_score] for hits in found]
    if request.diversity:
        found = [_diverse_hits(store, request, candidates, hits) for hits in found]
    columns = store.columns
    answers = columns.results(found, candidates.rows)
    if candidates.weights is not None or candidates.energies is not None or request.explain:
        for results, hits in zip(answers, found, strict=True):
            for result, hit in zip(results, hits, strict=True):
                _complete(store, request, candidates, result, hit[0])
    if not request.touch:
        return answers, *UNTOUCHED
    rows = np.array([hit[0] for hits in found for hit in hits], dtype=np.int32)
    if candidates.rows is not None:
        rows = candidates.rows[rows]
    return answers, rows, columns.order[rows]


def _complete(
    store: Store, request: Request, candidates: Candidates, result: SearchResult, position: int
) -> None:
    if candidates.weights is not None:
        result.time_weight = float(candidates.weights[position])
    if candidates.energies is not None:
        result.cone_energy = float(candidates.energies[position])
    if request.explain:
        bonus = 0.0 if candidates.bonus is None else float(candidates.bonus[position])
        result.terms = _terms(store, result, bonus)


def _terms(store: Store, result: SearchResult, lexical: float) -> dict[str, float]:
    time = store.time_coef * math.log(result.time_weight) if store.time_coef else 0.0
    return {
        "distance": 0.0 - result.distance,
        "depth": store.depth_bias * result.depth,
        "time": time,
        "lexical": lexical,
    }


def _diverse_hits(store: Store, request: Request, candidates: Candidates, hits: list[Hit]) -> list[Hit]:
    rows = candidates.row_numbers()[[hit[0] for hit in hits]] if hits else np.zeros(0, np.int32)
    scores = np.array([hit[1] for hit in hits])
    directions = store.columns.direction[rows]
    chosen = diverse(directions, scores, request.k, request.diversity, store.base_depth, store.ball.curvature)
    return [hits[i] for i in chosen]
