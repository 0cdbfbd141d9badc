"""Poincaré embeddings trained with Riemannian SGD (Nickel & Kiela, NeurIPS 2017), natively.

Use this when the hierarchy is noisy, partial, or a DAG rather than a tree; for a clean tree
:func:`~poincare_memory.hierarchy.sarkar.sarkar_layout` is exact and instantaneous. A Euclidean twin with the
same loss is provided as a baseline for benchmarks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..arguments import integer, number_within
from ..geometry.poincare import PoincareBall
from .tree import edge_endpoints

if TYPE_CHECKING:
    from ..geometry.numerics import FloatArray

__all__ = ["TrainingReport", "fit_euclidean_embeddings", "fit_poincare_embeddings"]

N = TypeVar("N", bound=Hashable)

_INITIAL_SPREAD = 1e-3
_LARGEST_RATE = 1e9
_CACHE_LINE = 64
_MOST_NODES = 2**31 - 1


@dataclass
class TrainingReport:
    """What a fit did.

    Attributes
    ----------
    epochs : int
        Passes over all pairs.
    final_loss : float
        Mean loss of a pair in the last epoch; NaN without epochs.
    losses : list of float
        The same for every epoch. Each pair's loss is taken just before its own step.
    """

    epochs: int
    final_loss: float
    losses: list[float]


def fit_poincare_embeddings(
    edges: Iterable[tuple[N, N]],
    dim: int = 10,
    epochs: int = 100,
    lr: float = 0.1,
    negatives: int = 10,
    burn_in: int = 10,
    burn_in_lr_factor: float = 0.1,
    batch_size: int = 64,
    seed: int | None = 0,
    ball: PoincareBall | None = None,
    *,
    exclude_related: bool = True,
) -> tuple[dict[N, FloatArray], TrainingReport]:
    """Learn points for every node so that related pairs are close in the Poincaré ball.

    Minimises, over all pairs, ``-log softmax(-d)`` of the pair's distance among those to its negatives
    (Nickel & Kiela 2017, eq. 5 and 6) by Riemannian steps in the ball of curvature 1; points are then scaled
    to ``ball``. Arithmetic is in float32, whose results were measured to be as good as float64's.

    Parameters
    ----------
    edges : iterable of (u, v)
        Related pairs, typically the transitive closure of a hierarchy, in either direction. A pair given
        twice counts twice.
    dim : int
        Dimension of the ball, at least 1.
    epochs : int
        Passes over all pairs, the burn-in among them; 0 gives the initial points.
    lr : float
        Learning rate: length of a pair's step at slope 1, in hyperbolic units.
    negatives : int
        Unrelated nodes drawn (uniformly, with replacement) for every pair, at least 1.
    burn_in, burn_in_lr_factor : int, float
        The first ``burn_in`` epochs run at ``lr * burn_in_lr_factor``.
    batch_size : int
        Accepted so that calls stay valid; at least 1. A pair steps on its own, as soon as it is seen, so no
        result depends on it. (A batch of summed gradients is the same to first order in ``lr``.)
    seed : int
        Seeds the initial points, the order of the pairs and the negatives. The same seed gives the same bits
        on every processor; None draws a seed from the system.
    ball : PoincareBall, optional
        Ball whose curvature the points are scaled to; by default that of curvature 1.
    exclude_related : bool
        Draw negatives of ``(u, v)`` only from the nodes that ``u`` has no edge to, as in the paper. Where
        there are none, the pair has no negatives and stays where it is. With False only ``u`` and ``v``
        themselves are excluded.

    Returns
    -------
    points : dict
        Node to its point, shape (dim,), float64, strictly inside the ball; in order of the nodes' ``repr``.
    report : TrainingReport

    Raises
    ------
    ValueError
        If there are no edges, an edge is not a pair of two different nodes, or a number is out of its range.

    Examples
    --------
    >>> from poincare_memory.hierarchy.tree import transitive_closure
    >>> closure = transitive_closure({"animal": ["dog", "cat"], "dog": ["poodle", "beagle"]}, "animal")
    >>> points, report = fit_poincare_embeddings(closure, dim=2, epochs=200)
    >>> sorted(points)
    ['animal', 'beagle', 'cat', 'dog', 'poodle']
    >>> report.final_loss < report.losses[0]
    True
    """
    settings = _Settings(dim, epochs, lr, negatives, batch_size, seed)
    burn_in = integer("burn_in", burn_in, least=0)
    factor = number_within("burn_in_lr_factor", burn_in_lr_factor, 0, _LARGEST_RATE)
    if ball is not None and not isinstance(ball, PoincareBall):
        raise TypeError(f"ball: expected a PoincareBall or None, got {ball!r}")
    scale = 1.0 if ball is None else ball.sqrt_c
    rates = (settings.lr * (factor if epoch < burn_in else 1.0) for epoch in range(settings.epochs))
    task = _Task(edges, settings, exclude_related)
    rows = task.initial_rows()
    boundary_gap = 1 - np.einsum("ij,ij->i", rows, rows)
    report = task.train(rates, lambda run, rate: _kernels.poincare_epoch(run, rows, boundary_gap, rate))
    return task.points(rows, scale), report


def fit_euclidean_embeddings(
    edges: Iterable[tuple[N, N]],
    dim: int = 10,
    epochs: int = 100,
    lr: float = 0.05,
    negatives: int = 10,
    batch_size: int = 64,
    seed: int | None = 0,
    *,
    exclude_related: bool = True,
) -> tuple[dict[N, FloatArray], TrainingReport]:
    """Same loss and sampling as :func:`fit_poincare_embeddings`, Euclidean distance (baseline).

    Parameters, results and errors are those of :func:`fit_poincare_embeddings`, without burn-in and ball.

    Examples
    --------
    >>> points, report = fit_euclidean_embeddings([("a", "b"), ("c", "d")], dim=2, epochs=50)
    >>> points["a"].shape, len(report.losses)
    ((2,), 50)
    """
    settings = _Settings(dim, epochs, lr, negatives, batch_size, seed)
    task = _Task(edges, settings, exclude_related)
    rows = task.initial_rows()
    rates = repeat(settings.lr, settings.epochs)
    report = task.train(rates, lambda run, rate: _kernels.euclidean_epoch(run, rows, rate))
    return task.points(rows, 1.0), report


class _Settings:
    """The arguments that both fits share, checked."""

    def __init__(
        self, dim: int, epochs: int, lr: float, negatives: int, batch_size: int, seed: int | None
    ) -> None:
        self.dim = integer("dim", dim, least=1)
        self.epochs = integer("epochs", epochs, least=0)
        self.lr = number_within("lr", lr, 0, _LARGEST_RATE)
        self.negatives = integer("negatives", negatives, least=1)
        integer("batch_size", batch_size, least=1)
        try:
            self.seeds = np.random.SeedSequence(seed)
        except (TypeError, ValueError) as error:
            raise type(error)(f"seed: expected an integer of at least 0, got {seed!r}") from error


class _Task(Generic[N]):
    """Nodes and pairs as numbers, and the epochs over them."""

    def __init__(self, edges: Iterable[tuple[N, N]], settings: _Settings, exclude_related: bool) -> None:
        ends = edge_endpoints(edges, "u", "v")
        if not ends:
            raise ValueError("edges: expected at least one (u, v) pair, got none")
        self.nodes = sorted(dict.fromkeys(ends), key=repr)
        if len(self.nodes) > _MOST_NODES:
            raise ValueError(f"edges: expected at most {_MOST_NODES} nodes, got {len(self.nodes)}")
        number = {node: i for i, node in enumerate(self.nodes)}
        numbers = np.fromiter(map(number.__getitem__, ends), np.int32, len(ends))
        self.source, self.target = numbers[0::2].copy(), numbers[1::2].copy()
        own = np.flatnonzero(self.source == self.target)
        if own.size:
            raise ValueError(f"edges: node {ends[2 * own[0]]!r} is paired with itself at position {own[0]}")
        self.settings = settings
        self.exclude_related = exclude_related

    def initial_rows(self) -> NDArray[np.float32]:
        """Points near the origin, in rows padded with zeros to what the kernels take."""
        dim, count = self.settings.dim, len(self.nodes)
        start = np.random.default_rng(self.settings.seeds).uniform(
            -_INITIAL_SPREAD, _INITIAL_SPREAD, (count, dim)
        )
        rows = _aligned_zeros(count, _kernels.training_stride(dim, True))
        rows[:, :dim] = start
        return rows

    def train(
        self, rates: Iterable[float], epoch: Callable[[_kernels.TrainingRun, float], float]
    ) -> TrainingReport:
        """Run ``epoch`` once a rate; interrupts are answered between two of them."""
        run = self._run()
        losses: list[float] = []
        for rate in rates:
            loss = epoch(run, rate) / len(self.source)
            if not math.isfinite(loss):
                raise self._diverged()
            losses.append(loss)
        return TrainingReport(len(losses), losses[-1] if losses else math.nan, losses)

    def points(self, rows: NDArray[np.float32], scale: float) -> dict[N, FloatArray]:
        points = rows[:, : self.settings.dim].astype(np.float64) / scale
        if not np.isfinite(points).all():
            raise self._diverged()
        return dict(zip(self.nodes, points, strict=True))

    def _diverged(self) -> ValueError:
        return ValueError(f"lr: training diverged at lr={self.settings.lr:g}; use a smaller one")

    def _run(self) -> _kernels.TrainingRun:
        start, shifted = self._excluded() if self.exclude_related else (None, None)
        words = self.settings.seeds.spawn(1)[0].generate_state(4, np.uint64).astype(np.uint64)
        negatives = self.settings.negatives
        return _kernels.TrainingRun(
            len(self.nodes), self.source, self.target, start, shifted, negatives, words
        )

    def _excluded(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """For each node itself and the nodes it has an edge to, sorted, each less its place in the list."""
        count = len(self.nodes)
        itself = np.arange(count, dtype=np.int64) * (count + 1)
        keys = np.unique(np.concatenate([self.source.astype(np.int64) * count + self.target, itself]))
        owner, node = np.divmod(keys, count)
        start = np.searchsorted(owner, np.arange(count + 1))
        shifted = node - (np.arange(len(keys)) - start[owner])
        return start.astype(np.int64, copy=False), shifted.astype(np.int32)


def _aligned_zeros(rows: int, columns: int) -> NDArray[np.float32]:
    """Zeros whose first element begins a cache line."""
    size = np.dtype(np.float32).itemsize
    buffer = np.zeros(rows * columns + _CACHE_LINE // size, np.float32)
    skip = -buffer.ctypes.data % _CACHE_LINE // size
    return buffer[skip : skip + rows * columns].reshape(rows, columns)
