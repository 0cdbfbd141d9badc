"""Standard hierarchy-embedding evaluation: reconstruction MAP and mean rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..distinct import beginnings, distinct
from ..geometry.numerics import lengths_and_margins
from ..geometry.poincare import PoincareBall
from ..progress import Meter, Progress, checked_progress, metered
from ..threads import resolve_threads
from .tree import edge_endpoints

if TYPE_CHECKING:
    from ..geometry.numerics import FloatArray

__all__ = ["ReconstructionResult", "reconstruction"]

N = TypeVar("N", bound=Hashable)

_FAR_FROM_BOUNDARY = 0.25  # of 1 − c·|x|²
_TOLD_AFTER = 1 << 29  # coordinates that are looked at between two reports of progress
_OWN_DISTANCES = (PoincareBall.distance, PoincareBall.distance_arcosh)


@dataclass
class ReconstructionResult:
    """What :func:`reconstruction` found; NaN means where there was nothing to ask.

    Attributes
    ----------
    mean_average_precision : float
        Mean over the queries.
    mean_rank : float
        Mean over all (query, related node) pairs; 1 is best.
    n_queries : int
        Nodes with at least one related node.
    """

    mean_average_precision: float
    mean_rank: float
    n_queries: int


def reconstruction(
    points: Mapping[N, FloatArray],
    closure: Iterable[tuple[N, N]],
    distance: Callable[[FloatArray, FloatArray], FloatArray] | Literal["euclidean"],
    *,
    ties: Literal["pessimistic", "reference"] = "pessimistic",
    n_threads: int | None = None,
    progress: Progress = None,
) -> ReconstructionResult:
    """Reconstruction protocol of Nickel & Kiela (2017).

    For every node u with related nodes R(u): the rank of each related node counts only unrelated nodes that
    are closer to u (so hub nodes with many descendants are not penalised for their own descendants), and the
    average precision is computed over the ranking of all other nodes. An unrelated node at exactly the same
    distance counts as closer, so no result depends on the order of ``points`` and no tie flatters.

    Parameters
    ----------
    points : mapping of node to array of shape (dim,)
        All nodes to rank; evaluated in float64.
    closure : iterable of (u, v)
        Related pairs, in the direction to evaluate. A pair given twice counts once.
    distance : callable or "euclidean"
        ``ball.distance`` and ``ball.distance_arcosh`` of a :class:`~poincare_memory.PoincareBall` and
        ``"euclidean"`` run natively. Any other callable gets arrays of shapes (1, dim) and (n, dim) and
        returns n distances, once a query.
    ties : "pessimistic" or "reference"
        With "reference" the convention of ``poincare-memory`` 0.1.4: no unrelated node at the same distance adds
        to a rank, and in the average precision nodes at the same distance follow each other in the order of
        ``points``. It asks ``distance`` once a query.
    n_threads : int, optional
        Threads of the native evaluation; no result depends on it.
    progress : bool or callable, optional
        True: a bar (``pip install "poincare-memory[progress]"``); or a function of how many nodes with related ones
        are evaluated and how many there are.

    Returns
    -------
    ReconstructionResult

    Raises
    ------
    KeyError
        If a node of ``closure`` has no point.
    TypeError
        If ``points`` is no mapping.
    ValueError
        If a point is not finite, has another shape than the first, or lies outside the ball; or if an edge is
        no pair of two different nodes.

    Examples
    --------
    >>> from poincare_memory import PoincareBall
    >>> points = {"a": [0.0, 0.0], "b": [0.1, 0.0], "c": [0.0, 0.8]}
    >>> reconstruction(points, [("a", "b"), ("b", "a")], PoincareBall().distance)
    ReconstructionResult(mean_average_precision=1.0, mean_rank=1.0, n_queries=2)
    """
    threads = resolve_threads(n_threads)
    checked_progress(progress)
    checked_points(points)
    nodes = list(points)
    rows = _point_rows(points, nodes)
    query, start, related = _related_nodes(nodes, closure)
    if not query.size:
        return ReconstructionResult(math.nan, math.nan, 0)
    precision = np.empty(query.size)
    rank_sum = np.empty(query.size, np.int64)
    ball = _ball_of(distance)
    if not callable(distance) and distance != "euclidean":
        raise unknown_distance(distance)
    if ties not in ("pessimistic", "reference"):
        raise ValueError(f"ties: expected 'pessimistic' or 'reference', got {ties!r}")
    if ties == "reference" or (ball is None and distance != "euclidean"):
        asked = distance if callable(distance) else _euclidean
        pairs = (query, start, related)
        with metered(progress, query.size, "reconstructing", "node") as meter:
            _rank_with(asked, nodes, rows, pairs, ties == "reference", precision, rank_sum, meter)
    else:
        scale = np.ones(len(nodes)) if ball is None else _margins(nodes, rows, ball)
        with metered(progress, query.size, "reconstructing", "node") as meter:
            at_once = max(1, _TOLD_AFTER // rows.size) if progress else query.size
            for first in range(0, query.size, at_once):
                part = slice(first, min(first + at_once, query.size))
                begins = start[part.start : part.stop + 1]
                _kernels.reconstruction_ranks(
                    rows, scale, query[part], begins - begins[0], related[begins[0] : begins[-1]], threads,
                    precision[part], rank_sum[part],
                )  # fmt: skip
                meter.update(part.stop - part.start)
    return ReconstructionResult(
        math.fsum(precision) / query.size, int(rank_sum.sum()) / related.size, int(query.size)
    )


def _ball_of(distance: object) -> PoincareBall | None:
    """The ball whose own distance this is, or None."""
    owner = getattr(distance, "__self__", None)
    if isinstance(owner, PoincareBall) and getattr(distance, "__func__", None) in _OWN_DISTANCES:
        return owner
    return None


def unknown_distance(distance: object) -> ValueError:
    """The error for what is neither a callable nor the name of a distance."""
    meant = "; pass its `distance`" if isinstance(distance, PoincareBall) else ""
    return ValueError(
        f'distance: expected a callable, such as PoincareBall().distance, or "euclidean", got {distance!r}{meant}'
    )


def checked_points(points: object) -> None:
    """Refuse what is no mapping of nodes to points."""
    if not isinstance(points, Mapping):
        raise TypeError(
            f"points: expected a mapping of nodes to points, got {type(points).__name__}; "
            "of arrays, dict(zip(nodes, points)) makes one"
        )


def _point_rows(points: Mapping[N, FloatArray], nodes: list[N]) -> NDArray[np.float64]:
    if not nodes:
        raise ValueError("points: expected at least one node, got none")
    arrays = [np.asarray(points[node], dtype=np.float64) for node in nodes]
    shape = arrays[0].shape
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(f"points: expected arrays of shape (dim,), got {shape} for node {nodes[0]!r}")
    if {array.shape for array in arrays} != {shape}:
        node, array = next((n, a) for n, a in zip(nodes, arrays, strict=True) if a.shape != shape)
        raise ValueError(
            f"points: node {node!r} has shape {array.shape}, node {nodes[0]!r} has {shape}; expected one"
        )
    # np.stack takes twice as long over many short rows: it makes a view of each.
    rows = np.concatenate(arrays).reshape(len(arrays), shape[0])
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise ValueError(f"points: expected finite coordinates, got {rows[bad]} for node {nodes[bad]!r}")
    return rows


def _margins(nodes: list[N], rows: NDArray[np.float64], ball: PoincareBall) -> NDArray[np.float64]:
    """``1 − c·|x|²`` of every row."""
    lengths, margins = lengths_and_margins(rows, ball.c)
    if margins.min() <= 0:
        bad = int(np.argmin(margins))
        raise ValueError(
            f"points: expected points strictly inside the ball, node {nodes[bad]!r} has "
            f'sqrt(c)·|x| = {lengths[bad]:.17g}; for Euclidean embeddings pass distance="euclidean"'
        )
    # Away from the boundary the plain form is as accurate, and exact where coordinates are short fractions:
    # distances that tie do so as computed.
    plain = 1 - ball.c * np.einsum("ij,ij->i", rows, rows)
    return np.where(plain > _FAR_FROM_BOUNDARY, plain, margins)


def _related_nodes(
    nodes: list[N], closure: Iterable[tuple[N, N]]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """The queries, where the related nodes of each begin, and these, as numbers of rows."""
    ends = edge_endpoints(closure, "u", "v")
    number = {node: i for i, node in enumerate(nodes)}
    try:
        numbers = np.fromiter(map(number.__getitem__, ends), np.int64, len(ends))
    except KeyError as error:
        raise KeyError(f"closure: node {error.args[0]!r} has no point") from None
    source, target = numbers[0::2], numbers[1::2]
    own = np.flatnonzero(source == target)
    if own.size:
        raise ValueError(f"closure: node {ends[2 * own[0]]!r} is paired with itself at position {own[0]}")
    pairs = distinct(source * len(nodes) + target)
    owner, related = np.divmod(pairs, len(nodes))
    first = beginnings(owner)
    start = np.append(first, len(pairs)).astype(np.int64)
    return owner[first].astype(np.int32), start, related.astype(np.int32)


def _rank_with(
    distance: Callable[[FloatArray, FloatArray], FloatArray],
    nodes: list[N],
    rows: NDArray[np.float64],
    pairs: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]],
    by_order: bool,
    precision: NDArray[np.float64],
    rank_sum: NDArray[np.int64],
    meter: Meter,
) -> None:
    """The native kernel's result for a distance that only Python can call."""
    query, start, related = pairs
    for q, node in enumerate(query):
        gaps = np.asarray(distance(rows[node : node + 1], rows), dtype=np.float64)
        if gaps.size != len(rows):
            raise ValueError(f"distance: expected {len(rows)} distances of a query, got shape {gaps.shape}")
        gaps = gaps.reshape(-1)
        if np.isnan(gaps).any():
            bad = nodes[int(np.argmax(np.isnan(gaps)))]
            raise ValueError(f"distance: got NaN between nodes {nodes[node]!r} and {bad!r}")
        mine = related[start[q] : start[q + 1]]
        unrelated = np.ones(len(rows), bool)
        unrelated[node] = unrelated[mine] = False
        others = np.sort(gaps[unrelated])
        closer = np.searchsorted(others, np.sort(gaps[mine]), side="left" if by_order else "right")
        place = np.arange(1, len(mine) + 1)
        rank_sum[q] = (1 + closer).sum()
        if by_order:
            order = np.argsort(gaps, kind="stable")
            found = np.isin(order[order != node], mine)
            precision[q] = (place / (1 + np.flatnonzero(found))).mean()
        else:
            precision[q] = (place / (place + closer)).mean()
        meter.update(1)


def _euclidean(u: FloatArray, x: FloatArray) -> FloatArray:
    gaps: FloatArray = np.linalg.norm(x - u, axis=1)
    return gaps
