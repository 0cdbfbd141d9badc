"""The best of a search's candidates: one function decides whether the graph or the exact scan finds them."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels

if TYPE_CHECKING:
    from .arrays import Rows
    from .records import Hit
    from .state import Metric, Store

GRAPH_LEAST: Final = 64  # rows asked of the graph at first
SCANNED_MEANWHILE: Final = 100  # rows, in the time that a graph takes to find one
STEP: Final = 4  # times as many are asked for, where those were not enough
SAMPLE: Final = 128  # candidates that tell how many of all are so near
BELOW_ROUNDING: Final = 1 - 1e-5  # of a distance: graphs order by float32
LARGEST_HALF: Final = 350.0  # of a distance: its sinh, squared, is finite
GRAPH_WORDS: Final = 1024  # best matches of words that are scored beside them

SCAN_METRIC: Final = {"shell": _kernels.SCAN_SHELL, "hyperbolic": _kernels.SCAN_HYPERBOLIC}

Float64Array = NDArray[np.float64]


@dataclass(slots=True)
class Query:
    """A query's place and the metric of its distances; `direction` is None for an embedding of zero length."""

    metric: Metric
    direction: Float64Array | None
    radius: float


@dataclass(slots=True)
class Candidates:
    """Rows that compete, in the order that breaks ties.

    `rows` None stands for rows 0 … count − 1; `everything` tells that these are all memories. The other fields
    hold one value a candidate, or are None.
    """

    rows: Rows | None
    count: int
    everything: bool = False
    energies: Float64Array | None = None
    mask: NDArray[np.uint8] | None = None
    weights: Float64Array | None = None
    bonus: Float64Array | None = None  # what words add to the score; 0 where a candidate does not pass

    def row_numbers(self) -> Rows:
        return np.arange(self.count, dtype=np.int32) if self.rows is None else self.rows

    def only(self, chosen: NDArray[np.bool_]) -> Candidates:
        """Those that are chosen; the mask is used up."""
        rows = np.ascontiguousarray(self.row_numbers()[chosen])
        energies = None if self.energies is None else self.energies[chosen]
        weights = None if self.weights is None else np.ascontiguousarray(self.weights[chosen])
        bonus = None if self.bonus is None else np.ascontiguousarray(self.bonus[chosen])
        return Candidates(rows, len(rows), False, energies, None, weights, bonus)


def graph_pays(asked: int, passing: int, memories: int) -> bool:
    """Whether a graph of all memories finds the nearest of those that pass sooner than a scan of these.

    The fewer pass, the more of its nodes a graph visits to meet as many that do: its time grows as the scan's shrinks.
    """
    return asked * memories * SCANNED_MEANWHILE <= passing * passing


@dataclass(slots=True)
class Ranking:
    """The score of one search over a store's columns; under the read lock.

    `query` None: every distance is 0. `factors` are those of a built-in policy at the instant `moment` (UTC
    microseconds); a policy of the user's own has left its weights in the candidates.
    """

    store: Store
    query: Query | None
    factors: Float64Array | None
    moment: int

    def best(self, candidates: Candidates, k: int, use_index: bool, at_least: int) -> list[Hit]:
        """The k best, by the graph where there is one and it pays, by the exact scan otherwise.

        `at_least` so many rows are asked of a graph.
        """
        if candidates.count == 0:
            return []
        if use_index and self.store.index is not None:
            hits = self._through_graph(candidates, k, max(GRAPH_LEAST, at_least))
            if hits is not None:
                return hits
        return self._scan(candidates, k)

    def _scan(self, candidates: Candidates, k: int) -> list[Hit]:
        store, columns, query = self.store, self.store.columns, self.query
        coded = store.coded.of(columns, candidates.count)
        return _kernels.scan_top_k(
            columns.direction,
            None if coded is None else coded.codes,
            None if coded is None else coded.scale,
            None if coded is None else coded.error,
            columns.radius,
            columns.directed,
            columns.aged_from,
            columns.access_count,
            columns.valid_from,
            columns.valid_until,
            candidates.count,
            candidates.rows,
            candidates.mask,
            _kernels.SCAN_NO_QUERY if query is None else SCAN_METRIC[query.metric],
            None if query is None else query.direction,
            0.0 if query is None else query.radius,
            store.ball.curvature,
            store.depth_bias,
            store.time_coef,
            self.factors,
            self.moment,
            None if candidates.weights is None else np.log(candidates.weights),
            min(k, candidates.count),
            bonus=candidates.bonus,
        )

    def _through_graph(self, candidates: Candidates, k: int, wanted: int) -> list[Hit] | None:
        """The k best among the nearest, once no memory farther away can score more; None: scan instead.

        The nearest come in order of distance. One that was not fetched lies at least as far away as the
        farthest that was, and scores at most −d + M, where M bounds the other terms. The best matches of the
        query's words are scored beside them, so that M has to bound those of the rest only.
        """
        query = self.query
        if query is None or query.direction is None or candidates.weights is not None:
            return None
        passing = candidates.count if candidates.mask is None else int(np.count_nonzero(candidates.mask))
        memories = self.store.columns.n
        least = self.store.index.looked_at(memories, len(query.direction))
        if wanted > passing or not graph_pays(max(wanted, least), passing, memories):
            return None
        allowed = self._allowed(candidates)
        most = self._most_besides_distance()
        matching, bonus, most_of_rest = self._matching(candidates)
        most += most_of_rest
        alone = self._distance_alone() and bonus is None
        while wanted <= passing and graph_pays(max(wanted, least), passing, memories):
            found = self._nearest_on_shell(k, wanted, allowed) if alone else None
            if found is None:
                alone = False
                found = self._best_of_nearest(k, wanted, allowed, matching, bonus)
            if found is None:
                return None
            hits, reached = found
            missing = most - hits[k - 1][1] if len(hits) >= k else math.inf  # distance still to be reached
            if missing < reached * BELOW_ROUNDING:
                return hits if candidates.rows is None else [self._at_row(candidates, hit) for hit in hits]
            expected = int(self._share_within(candidates, missing) * passing)
            # Less a step: better scores ask for less distance.
            if not graph_pays(expected // STEP, passing, memories):
                return None
            wanted *= STEP
        return None

    def _share_within(self, candidates: Candidates, distance: float) -> float:
        """The share of those that pass that is within this distance of the query, by a sample and the codes."""
        query, columns = self.query, self.store.columns
        assert query is not None and query.direction is not None
        coded = self.store.coded.of(columns, candidates.count)
        at = np.linspace(0, candidates.count - 1, SAMPLE).astype(np.int64)
        at = at if candidates.mask is None else at[candidates.mask[at] != 0]
        half = min(self.store.ball.sqrt_c * distance / 2, LARGEST_HALF)
        if coded is None or not len(at) or half < 0:
            return 0.0
        rows = at if candidates.rows is None else candidates.rows[at]
        codes = coded.codes[rows, : columns.dim].astype(np.float32)
        product = coded.scale[rows] * (codes @ query.direction.astype(np.float32))
        r = self.store.ball.sqrt_c * query.radius
        s: Any = r
        if query.metric == "hyperbolic":  # what has no direction is in no graph, and may be of any depth
            s = np.minimum(self.store.ball.sqrt_c * columns.radius[rows], LARGEST_HALF)
        q = np.sinh((r - s) / 2) ** 2 + np.sinh(r) * np.sinh(s) * (1 - product) / 2
        return float(np.mean(q <= math.sinh(half) ** 2))

    def _distance_alone(self) -> bool:
        """Whether only distance, on the shell, ranks what words add nothing to."""
        store, query, factors = self.store, self.query, self.factors
        timeless = factors is not None and len(factors) == 0
        return query is not None and query.metric == "shell" and not store.depth_bias and timeless

    def _nearest_on_shell(
        self, k: int, wanted: int, allowed: NDArray[np.uint8] | None
    ) -> tuple[list[Hit], float] | None:
        query = self.query
        assert query is not None and query.direction is not None
        found: tuple[list[Hit], float] | None = self.store.index.nearest_on_shell(
            query.direction, query.radius, k, wanted, allowed
        )
        return found

    def _best_of_nearest(
        self,
        k: int,
        wanted: int,
        allowed: NDArray[np.uint8] | None,
        matching: Rows,
        bonus: Float64Array | None,
    ) -> tuple[list[Hit], float] | None:
        """The k best among the nearest and those that match words, and the distance that the nearest reach."""
        query = self.query
        assert query is not None
        nearest = self.store.index.nearest_rows(query.metric, query.direction, query.radius, wanted, allowed)
        if nearest is None:
            return None
        found, reached = nearest
        hits = self._scored(np.union1d(found, matching) if len(matching) else found, bonus, k)
        # Rows without direction are all fetched, and far: they tell nothing about those that were not.
        return hits, self._distance_to(int(found[reached - 1])) if reached else 0.0

    def _allowed(self, candidates: Candidates) -> NDArray[np.uint8] | None:
        """The candidates as a mask over rows; None where all memories are allowed."""
        if candidates.everything and candidates.mask is None:
            return None
        allowed = np.zeros(self.store.columns.capacity, np.uint8)
        allowed[candidates.row_numbers()] = 1 if candidates.mask is None else candidates.mask
        return allowed

    def _matching(self, candidates: Candidates) -> tuple[Rows, Float64Array | None, float]:
        """Rows of the best matches of words, what words add to every row, and the most they add to another."""
        bonus = candidates.bonus
        if bonus is None:
            return np.zeros(0, np.int32), None, 0.0
        rows = candidates.row_numbers()
        matching = np.flatnonzero(bonus > 0)
        most = 0.0
        if len(matching) > GRAPH_WORDS:
            best_first = matching[np.argsort(-bonus[matching])]
            most = float(bonus[best_first[GRAPH_WORDS]])
            matching = best_first[:GRAPH_WORDS]
        by_row = np.zeros(self.store.columns.capacity)
        by_row[rows] = bonus
        return rows[matching], by_row, most

    def _scored(self, found: NDArray[Any], bonus: Float64Array | None, k: int) -> list[Hit]:
        """The k best of these rows by exact score, ties by age; the position of a hit is its row."""
        rows = found.astype(np.int32)
        if self.store.columns.dense():
            rows.sort()
        else:
            rows = rows[np.argsort(self.store.columns.order[rows])]
        added = None if bonus is None else bonus[rows]
        hits = self._scan(Candidates(rows, len(rows), bonus=added), k)
        return [(rows.item(at), score, distance, weight) for at, score, distance, weight in hits]

    def _distance_to(self, row: int) -> float:
        """Distance of the query to a row that a graph holds: one with a direction, and not too deep."""
        store, query = self.store, self.query
        assert query is not None
        gap = store.columns.direction[row] - query.direction
        sqrt_c = store.ball.sqrt_c
        r = sqrt_c * query.radius
        s = r if query.metric == "shell" else sqrt_c * store.columns.radius.item(row)
        q = math.sinh((r - s) / 2) ** 2 + math.sinh(r) * math.sinh(s) * float(gap @ gap) / 4
        return 2.0 / sqrt_c * math.asinh(math.sqrt(q))

    def _at_row(self, candidates: Candidates, hit: Hit) -> Hit:
        if candidates.rows is None:
            return hit
        order, rows = self.store.columns.order, candidates.rows
        # Candidates of the nearest mode are sorted by it; gathering all of it would cost more than the graph.
        position = bisect_left(range(len(rows)), order[hit[0]], key=lambda at: order[rows[at]])
        return (position, *hit[1:])

    def _most_besides_distance(self) -> float:
        """M = max(depth_bias · depth) + max(0, time_coef · ln MIN_WEIGHT)."""
        store = self.store
        most = 0.0
        if store.depth_bias:
            radii = store.columns.radius[store.columns.live_rows()]
            most = store.depth_bias * float(radii.max() if store.depth_bias > 0 else radii.min())
        if store.time_coef < 0 and self.factors is not None and len(self.factors):
            most += store.time_coef * math.log(_kernels.MIN_WEIGHT)
        return most
