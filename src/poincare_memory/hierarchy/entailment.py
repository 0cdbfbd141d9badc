"""Hyperbolic entailment cones learnt from a hierarchy (Ganea, Bécigneul & Hofmann, ICML 2018), natively."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._core import _kernels
from ..arguments import integer, number_within, positive_number
from ..geometry.poincare import PoincareBall
from ..progress import Progress, metered
from .fitting import Fit, FitOptions, TrainingReport
from .pairs import NumberedPairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..geometry.numerics import FloatArray
    from .progress import TrainingProgress

__all__ = ["fit_entailment_cones"]

N = TypeVar("N", bound=Hashable)

_LARGEST_RATE = 1e3
_WARM_EPOCHS = 100
_WARM_RATE = 0.03
_DRAWN_IN = 0.7  # of the norms, as in the paper's own program


def fit_entailment_cones(
    edges: Iterable[tuple[N, N]] | NDArray[Any],
    dim: int = 10,
    epochs: int = 100,
    lr: float = 0.003,
    negatives: int = 10,
    seed: int | None = 0,
    ball: PoincareBall | None = None,
    *,
    K: float = 0.1,
    margin: float = 0.01,
    lr_end: float | None = None,
    init: Mapping[N, FloatArray] | None = None,
    progress: Progress = None,
    callback: Callable[[TrainingProgress[N]], bool | None] | None = None,
) -> tuple[dict[N, FloatArray], TrainingReport]:
    """Learn points whose entailment cones hold what is below them.

    Minimises ``E(u, v)`` over the pairs, ``max(0, margin - E(u, v))`` over unrelated ones (Ganea et al. 2018,
    eq. 32), with ``E(u, v) = max(0, Ξ(u, v) − ψ(u))`` that of :func:`~poincare_memory.cone_energy`, by Riemannian
    steps of at most half a hyperbolic unit.

    Parameters
    ----------
    edges : iterable of (ancestor, descendant), or array of shape (m, 2)
        Pairs of which the second lies in the cone of the first, typically the transitive closure. Mind the
        direction.
    dim, epochs, ball, progress, callback
        As of :func:`~poincare_memory.fit_poincare_embeddings`; the MAP of a callback's argument ranks by distance.
    lr : float
        Factor of the Riemannian gradient.
    negatives : int
        Unrelated pairs for every pair, at least 1: in turn ``(u, v')`` and ``(u', v)``.
    seed : int
        The same seed gives the same points on one machine; None draws one.
    K : float
        Of the cones, above 0 (curvature 1: the aperture of a point does not depend on the scale of ``ball``).
    margin : float
        Angle by which what is unrelated is to lie outside. The loss of
        what lies inside has no slope: it is not pushed out.
    lr_end : float, optional
        Factor of the last epoch, to which that of the first falls (or rises) linearly; by default it stays ``lr``.
    init : mapping of node to point, optional
        Points of ``ball`` to begin from. By default a Poincaré embedding of 100 epochs, its norms times 0.7: next to
        the boundary cones are too narrow to learn from. Next to the origin there are none: points are kept outside.

    Returns
    -------
    points : dict
        Node to its point, shape (dim,), float64, in order of the nodes' ``repr``.
    report : TrainingReport
        Losses are those of a pair with its negatives; those of the embedding to begin with are not in it.

    Raises
    ------
    ValueError
        If there are no edges, an edge is not a pair of two different nodes, or an argument is out of its range.

    Examples
    --------
    >>> from poincare_memory import PoincareBall, in_cone
    >>> edges = [("animal", "dog"), ("animal", "cat"), ("dog", "poodle"), ("animal", "poodle")]
    >>> points, report = fit_entailment_cones(edges, dim=3, epochs=300)
    >>> bool(in_cone(points["dog"], points["poodle"], PoincareBall(), tol=0.01))
    True
    """
    if ball is not None and not isinstance(ball, PoincareBall):
        raise TypeError(f"ball: expected a PoincareBall or None, got {ball!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: expected a callable or None, got {callback!r}")
    K = positive_number("K", K)
    margin = number_within("margin", margin, 0, math.pi)
    rate = number_within("lr", lr, 0, _LARGEST_RATE)
    last_rate = rate if lr_end is None else number_within("lr_end", lr_end, 0, _LARGEST_RATE)
    epochs = integer("epochs", epochs, least=0)
    warm = FitOptions(
        dim,
        _WARM_EPOCHS,
        _WARM_RATE,
        negatives,
        1,
        seed,
        "poincare",
        burn_in=20,
        burn_in_lr_factor=0.1,
        burn_in_sampler="degree",
        dtype=np.float32 if init is None else np.float64,
    )
    fit: Fit[N] = Fit(edges, warm, 1.0 if ball is None else ball.sqrt_c)
    if init is not None:
        fit.start_from(init)
    else:
        _begin_drawn_in(fit)
    fit.options.lr, fit.options.lr_end, fit.options.burn_in = rate, last_rate, 0
    return _learn_cones(fit, epochs, K, margin, progress, callback)


def _learn_cones(
    fit: Fit[N],
    epochs: int,
    K: float,
    margin: float,
    progress: Progress,
    callback: Callable[[TrainingProgress[N]], bool | None] | None,
) -> tuple[dict[N, FloatArray], TrainingReport]:
    rows = np.ascontiguousarray(fit.rows[:, : fit.options.dim], dtype=np.float64)
    run, turned = _run(fit.pairs), _run(fit.pairs.reversed())
    fit.done, fit.options.epochs = [], epochs
    negatives = fit.options.negatives
    sides = (negatives + 1) // 2, negatives // 2
    started = time.perf_counter()
    with metered(progress, epochs, "training", "epoch") as meter:
        for epoch in range(epochs):
            words = fit.words(_WARM_EPOCHS + epoch)
            rate = fit.options.rate(epoch)
            loss = _kernels.cone_epoch(run, turned, rows, words, *sides, rate, K, margin)
            fit.done.append(loss / len(fit.pairs))
            fit.seconds = time.perf_counter() - started
            fit.rows[:, : fit.options.dim] = rows
            meter.update(1)
            if callback is not None and callback(fit.stand(epoch, fit.done[-1])):
                break
    last = fit.done[-1] if fit.done else math.nan
    return fit.points(), TrainingReport(len(fit.done), last, fit.done, seconds=fit.seconds, seed=fit.seed)


def _run(pairs: NumberedPairs[N]) -> _kernels.TrainingRun:
    return _kernels.TrainingRun(len(pairs.nodes), *pairs.given, *pairs.excluded(), None, None)


def _begin_drawn_in(fit: Fit[N]) -> None:
    """A Poincaré embedding of (descendant, ancestor), drawn in: near the boundary cones are narrow, and slopes wild."""
    below = fit.pairs
    fit.pairs = below.reversed()
    fit.start_at_random()
    fit.train()
    fit.pairs = below
    fit.rows = fit.rows.astype(np.float64) * _DRAWN_IN
