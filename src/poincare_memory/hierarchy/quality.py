"""How well points keep the distances of a tree: distortion and MAP."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from .._core import _kernels
from ..arguments import integer, positive_number
from ..geometry.poincare import PoincareBall
from ..geometry.polar import ball_to_polar
from ..threads import resolve_threads
from .precise import PreciseLayout
from .sarkar import chosen_ball, edge_lengths
from .tree import children_map

__all__ = ["LayoutQuality", "layout_quality"]

N = TypeVar("N", bound=Hashable)
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LayoutQuality:
    """What :func:`layout_quality` found; NaN where there was nothing to measure.

    Attributes
    ----------
    average_distortion : float
        Mean of ``|d / (tau · distance in the tree) − 1|`` over the pairs; 0 is best.
    worst_distortion : float
        The largest ratio of ``d`` to the distance in the tree, over the smallest; 1 is best. No scale counts.
    mean_average_precision : float
        Of the neighbours of every node among all nodes, ranked by distance; 1 is best.
    n_pairs : int
        Ordered pairs that distortion was measured over.
    n_queries : int
        Nodes that they were measured from: all, or a sample.
    """

    average_distortion: float
    worst_distortion: float
    mean_average_precision: float
    n_pairs: int
    n_queries: int


def layout_quality(
    points: Mapping[N, npt.ArrayLike] | PreciseLayout[N],
    edges: Iterable[tuple[N, N]],
    ball: PoincareBall | None = None,
    *,
    tau: float = 1.0,
    edge_length: Mapping[tuple[N, N], float] | None = None,
    sample: int | None = 500,
    seed: int = 0,
    n_threads: int | None = None,
) -> LayoutQuality:
    """Distortion and MAP of a tree's layout (Sala, De Sa, Gu & Ré, ICML 2018).

    Distances in the ball are compared with ``tau`` times those along the edges. Of a forest the pairs within
    one tree are compared, and for MAP all nodes compete. A node at the same distance as a neighbour counts as
    closer, so no tie flatters.

    Parameters
    ----------
    points : mapping of node to array of shape (dim,), or PreciseLayout
        Points of the ball, of all nodes of ``edges`` at least; others are left out. The distances of a
        :class:`PreciseLayout` are those of its 106 bits.
    edges : iterable of (parent, child)
        A tree or a forest.
    ball : PoincareBall, optional
        Default: curvature 1. A :class:`PreciseLayout` has its own.
    tau : float, default 1.0
        Hyperbolic length of an edge of length 1, as in :func:`sarkar_layout`.
    edge_length : mapping of (parent, child) to float, optional
        Lengths in units of ``tau``, 1 where an edge is missing.
    sample : int or None, default 500
        Measure from that many nodes, drawn without replacement, to all others; from all nodes where there are
        no more, or with None. Time is ``sample · n``.
    seed : int, default 0
        Of the draw.
    n_threads : int, optional
        Default: all processors that this process may use. The result does not depend on it.

    Returns
    -------
    LayoutQuality

    Raises
    ------
    KeyError
        If a node of ``edges`` has no point.
    ValueError
        If the edges are no forest or none, a point is not strictly inside the ball, or a number is out of range.

    Examples
    --------
    >>> from poincare_memory.hierarchy import sarkar_layout
    >>> edges = [("animal", "dog"), ("animal", "cat"), ("dog", "poodle"), ("dog", "corgi")]
    >>> for tau in (1.0, 4.0):
    ...     quality = layout_quality(sarkar_layout(edges, tau=tau), edges, tau=tau)
    ...     print(round(quality.average_distortion, 3), round(quality.worst_distortion, 3))
    0.048 1.119
    0.016 1.037
    """
    children, roots = children_map(edges)
    if not roots:
        raise ValueError("edges: expected at least one (parent, child) edge, got none")
    most = None if sample is None else integer("sample", sample, least=1)
    random = np.random.default_rng(integer("seed", seed, least=0))
    threads = resolve_threads(n_threads)
    if isinstance(points, PreciseLayout):
        space = PoincareBall(points.curvature)
        if ball is not None and ball != space:
            raise ValueError(f"ball: the layout's curvature is {space.c!r}, got a ball of {ball.c!r}")
    else:
        space = chosen_ball(ball)
    unit = positive_number("tau", tau) * space.sqrt_c
    nodes, parent, length = _breadth_first(children, roots, edge_lengths(edge_length, children, unit), unit)
    direction, correction, radius = _polar(points, nodes, space)

    n = len(nodes)
    sources = np.arange(n, dtype=np.int32)
    if most is not None and most < n:
        sources = np.sort(random.choice(n, most, replace=False)).astype(np.int32)
    measures, pairs = _kernels.layout_quality(
        direction, correction, radius * space.sqrt_c, parent, length, sources, threads
    )
    error, least, largest, precision = measures.T
    n_pairs = int(pairs.sum())
    return LayoutQuality(
        math.fsum(error) / n_pairs if n_pairs else math.nan,
        _ratio(float(largest.max()), float(least.min())) if n_pairs else math.nan,
        math.fsum(precision) / len(sources),
        n_pairs,
        len(sources),
    )


def _ratio(largest: float, least: float) -> float:
    return largest / least if least > 0.0 else math.inf


def _breadth_first(
    children: Mapping[N, list[N]], roots: list[N], lengths: Mapping[tuple[N, N], float], unit: float
) -> tuple[list[N], npt.NDArray[np.int32], FloatArray]:
    """Nodes with roots first and siblings together, the row of each one's parent, and the edge to it."""
    nodes = list(roots)
    parent = [-1] * len(roots)
    length = [0.0] * len(roots)
    for row, node in enumerate(nodes):
        below = children.get(node, ())
        nodes.extend(below)
        parent.extend([row] * len(below))
        if lengths:
            length.extend(lengths.get((node, child), unit) for child in below)
        else:
            length.extend([unit] * len(below))
    return nodes, np.array(parent, np.int32), np.array(length)


def _polar(
    points: Mapping[N, npt.ArrayLike] | PreciseLayout[N], nodes: list[N], ball: PoincareBall
) -> tuple[FloatArray, FloatArray | None, FloatArray]:
    missing = [node for node in nodes if node not in points]
    if missing:
        raise KeyError(f"points: node {missing[0]!r} of edges has no point")
    if isinstance(points, PreciseLayout):
        rows = points.rows(nodes)
        return points.direction[rows], points.correction[rows], points.radius[rows]
    try:
        stacked = np.stack([np.asarray(points[node], np.float64) for node in nodes])
    except ValueError as error:
        raise ValueError(f"points: expected arrays of one shape (dim,): {error}") from None
    if stacked.ndim != 2 or stacked.shape[1] == 0:
        raise ValueError(f"points: expected arrays of shape (dim,), got {stacked.shape[1:]}")
    if not np.isfinite(stacked).all():
        bad = nodes[int(np.argmin(np.isfinite(stacked).all(axis=1)))]
        raise ValueError(f"points: expected finite coordinates, got others for node {bad!r}")
    direction, radius = ball_to_polar(stacked, ball.c)
    return np.ascontiguousarray(direction), None, radius
