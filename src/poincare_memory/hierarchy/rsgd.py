"""Poincaré embeddings trained with Riemannian SGD (Nickel & Kiela, NeurIPS 2017), natively.

Use this when the hierarchy is noisy, partial, or a DAG rather than a tree; for a clean tree
:func:`~poincare_memory.hierarchy.sarkar.sarkar_layout` is exact and instantaneous. A Euclidean twin with the
same loss is provided as a baseline for benchmarks. Settings that reach, and pass, the papers' numbers are in
:mod:`~poincare_memory.hierarchy.recipes`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..geometry.poincare import PoincareBall
from .fitting import Fit, FitOptions, TrainingReport

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from ..geometry.numerics import FloatArray
    from ..progress import Progress
    from .progress import TrainingProgress

__all__ = ["TrainingReport", "fit_euclidean_embeddings", "fit_poincare_embeddings"]

N = TypeVar("N", bound=Hashable)


def fit_poincare_embeddings(
    edges: Iterable[tuple[N, N]] | NDArray[Any],
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
    manifold: Literal["poincare", "lorentz"] = "poincare",
    sampler: Literal["uniform", "degree"] = "uniform",
    burn_in_sampler: Literal["uniform", "degree"] | None = None,
    temperature: float = 1.0,
    lr_end: float | None = None,
    exclude_related: bool = True,
    hard_negatives: int = 0,
    hard_every: int = 10,
    dtype: DTypeLike | None = None,
    n_threads: int | None = 1,
    init: Mapping[N, FloatArray] | None = None,
    progress: Progress = None,
    callback: Callable[[TrainingProgress[N]], bool | None] | None = None,
    resume: tuple[Mapping[N, FloatArray], TrainingReport] | None = None,
) -> tuple[dict[N, FloatArray], TrainingReport]:
    """Learn points for every node so that related pairs are close in the Poincaré ball.

    Minimises, over all pairs, ``-log softmax(-temperature * d)`` of the pair's distance among those to its
    negatives (Nickel & Kiela 2017, eq. 5 and 6) by Riemannian steps in the ball of curvature 1; points are
    then scaled to ``ball``.

    Parameters
    ----------
    edges : iterable of (u, v), or array of shape (m, 2)
        Related pairs, typically the transitive closure of a hierarchy, in either direction: negatives are
        drawn for ``u``, so pairs (descendant, ancestor) train what the papers evaluate, and put the root in the
        middle; of pairs (ancestor, descendant) the root lies outside. A pair given twice counts twice. The nodes
        of an array are its values as Python objects.
    dim : int
        Dimension of the ball, at least 1.
    epochs : int
        Passes over all pairs, the burn-in among them; 0 gives the initial points.
    lr : float
        Learning rate: length of a pair's step at slope 1, in hyperbolic units.
    negatives : int
        Unrelated nodes drawn (with replacement) for every pair, at least 1.
    burn_in, burn_in_lr_factor : int, float
        The first ``burn_in`` epochs run at ``lr * burn_in_lr_factor``.
    batch_size : int
        Accepted so that calls stay valid; at least 1. A pair steps on its own, as soon as it is seen, so no
        result depends on it. (A batch of summed gradients is the same to first order in ``lr``.)
    seed : int
        Seeds the initial points, the order of the pairs and the negatives. The same seed gives the same bits
        on every processor (with ``n_threads=1``); None draws a seed from the system, which the report tells.
    ball : PoincareBall, optional
        Ball whose curvature the points are scaled to; by default that of curvature 1.
    manifold : "poincare" or "lorentz"
        Coordinates in which steps are taken: of the ball, or of the hyperboloid (Nickel & Kiela 2018). Points
        are those of the ball either way.
    sampler : "uniform" or "degree"
        How negatives are drawn: all alike, or in proportion to the number of their pairs. Where 16 draws by
        degree hit related nodes only, the negative is a uniform one.
    burn_in_sampler : "uniform" or "degree", optional
        The same for the burn-in; by default ``sampler``. Degrees there lay the hubs out first.
    temperature : float
        Factor β of the distances in the softmax, above 0. Steps are those of the loss divided by β, so that
        ``lr`` keeps its meaning. Higher ones ask for less room between nodes.
    lr_end : float, optional
        Learning rate of the last epoch, to which that after the burn-in falls (or rises) linearly; by default
        it stays ``lr``.
    exclude_related : bool
        Draw negatives of ``(u, v)`` only from the nodes that ``u`` has no edge to, as in the paper. Where
        there are none, the pair has no negatives and stays where it is. With False only ``u`` and ``v``
        themselves are excluded.
    hard_negatives : int
        Further negatives of every pair, drawn from the unrelated nodes that were nearer to ``u`` than its
        farthest related node when last looked for; a node without such has none. Exact search: its time grows
        with the square of the number of nodes (2 s for 82,000 nodes in dimension 10).
    hard_every : int
        Epochs from one such search to the next.
    dtype : float32 or float64, optional
        Arithmetic and storage of training; by default float32 in the ball (measured to be as good as
        float64) and float64 on the hyperboloid, where inner products cancel. Points are returned in float64.
    n_threads : int or None
        With 1 a seed gives the same bits again. More (None: all) share the pairs and write to the same points
        without locks (Recht et al. 2011): no two runs are alike.
    init : mapping of node to point, optional
        Points of ``ball`` to begin from, such as a layout; those beyond the margin of training, hyperbolic
        radius 12.2 (over sqrt(c)), are moved onto it.
    progress : bool or callable, optional
        True draws a bar (extra ``progress``); a function is called with the epochs done and their number.
    callback : callable, optional
        Called after every epoch with a :class:`~poincare_memory.hierarchy.TrainingProgress` (epoch, loss,
        learning rate, points, MAP on a sample of the nodes); if it returns True, training ends.
    resume : (points, report), optional
        What an earlier fit of the same pairs returned; goes on until ``epochs``, those done before among
        them, with that fit's seed, as if it had never stopped (to rounding where ``ball`` has another
        curvature than 1, or on the hyperboloid).

    Returns
    -------
    points : dict
        Node to its point, shape (dim,), float64, strictly inside the ball; in order of the nodes' ``repr``.
    report : TrainingReport

    Raises
    ------
    ValueError
        If there are no edges, an edge is not a pair of two different nodes, or an argument is out of its
        range.
    KeyError
        If ``init`` or ``resume`` has no point for a node.

    Examples
    --------
    >>> from poincare_memory.hierarchy.tree import transitive_closure
    >>> closure = transitive_closure({"animal": ["dog", "cat"], "dog": ["poodle", "beagle"]}, "animal")
    >>> points, report = fit_poincare_embeddings(closure, dim=2, epochs=200)
    >>> sorted(points)
    ['animal', 'beagle', 'cat', 'dog', 'poodle']
    >>> report.final_loss < report.losses[0]
    True

    Stop as soon as the loss is low:

    >>> _, report = fit_poincare_embeddings(closure, epochs=500, callback=lambda now: now.loss < 0.1)
    >>> report.epochs < 500
    True
    """
    if ball is not None and not isinstance(ball, PoincareBall):
        raise TypeError(f"ball: expected a PoincareBall or None, got {ball!r}")
    if manifold not in ("poincare", "lorentz"):
        raise ValueError(f"manifold: expected 'poincare' or 'lorentz', got {manifold!r}")
    options = FitOptions(
        dim,
        epochs,
        lr,
        negatives,
        batch_size,
        seed,
        manifold,
        burn_in=burn_in,
        burn_in_lr_factor=burn_in_lr_factor,
        burn_in_sampler=burn_in_sampler,
        sampler=sampler,
        temperature=temperature,
        lr_end=lr_end,
        exclude_related=exclude_related,
        hard_negatives=hard_negatives,
        hard_every=hard_every,
        dtype=dtype,
        n_threads=n_threads,
    )
    fit = Fit(edges, options, 1.0 if ball is None else ball.sqrt_c)
    return _learn(fit, init, resume, progress, callback)


def fit_euclidean_embeddings(
    edges: Iterable[tuple[N, N]] | NDArray[Any],
    dim: int = 10,
    epochs: int = 100,
    lr: float = 0.05,
    negatives: int = 10,
    batch_size: int = 64,
    seed: int | None = 0,
    *,
    sampler: Literal["uniform", "degree"] = "uniform",
    temperature: float = 1.0,
    lr_end: float | None = None,
    exclude_related: bool = True,
    hard_negatives: int = 0,
    hard_every: int = 10,
    dtype: DTypeLike | None = None,
    n_threads: int | None = 1,
    init: Mapping[N, FloatArray] | None = None,
    progress: Progress = None,
    callback: Callable[[TrainingProgress[N]], bool | None] | None = None,
    resume: tuple[Mapping[N, FloatArray], TrainingReport] | None = None,
) -> tuple[dict[N, FloatArray], TrainingReport]:
    """Same loss and sampling as :func:`fit_poincare_embeddings`, Euclidean distance (baseline).

    Parameters
    ----------
    edges : iterable of (u, v), or integer array of shape (n, 2)
        Related pairs, such as a transitive closure.
    dim : int, default 10
        Coordinates of a point.
    epochs, batch_size, negatives : int, default 100, 64 and 10
        Passes over the pairs, pairs of a step, and unrelated nodes drawn for each pair.
    lr : float, default 0.05
        Learning rate; there is no burn-in.
    seed : int or None, default 0
    sampler, temperature, lr_end, exclude_related, hard_negatives, hard_every
        As of :func:`fit_poincare_embeddings`.
    dtype, n_threads, init, progress, callback, resume
        As of :func:`fit_poincare_embeddings`; the points of ``init`` may be anywhere.

    Returns
    -------
    points : dict
        Node to its point, shape (dim,), float64; in order of the nodes' ``repr``.
    report : TrainingReport

    Raises
    ------
    ValueError, KeyError
        As :func:`fit_poincare_embeddings`.

    Examples
    --------
    >>> points, report = fit_euclidean_embeddings([("a", "b"), ("c", "d")], dim=2, epochs=50)
    >>> points["a"].shape, len(report.losses)
    ((2,), 50)
    """
    options = FitOptions(
        dim,
        epochs,
        lr,
        negatives,
        batch_size,
        seed,
        "euclidean",
        sampler=sampler,
        temperature=temperature,
        lr_end=lr_end,
        exclude_related=exclude_related,
        hard_negatives=hard_negatives,
        hard_every=hard_every,
        dtype=dtype,
        n_threads=n_threads,
    )
    return _learn(Fit(edges, options, 1.0), init, resume, progress, callback)


def _learn(
    fit: Fit[N],
    init: Mapping[N, FloatArray] | None,
    resume: tuple[Mapping[N, FloatArray], TrainingReport] | None,
    progress: Progress,
    callback: Callable[[TrainingProgress[N]], bool | None] | None,
) -> tuple[dict[N, FloatArray], TrainingReport]:
    if init is not None and resume is not None:
        raise ValueError("init: expected none beside resume, whose points are the start")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: expected a callable or None, got {callback!r}")
    if resume is not None:
        fit.resume(resume)
    elif init is not None:
        fit.start_from(init)
    else:
        fit.start_at_random()
    report = fit.train(progress, callback)
    return fit.result(), report
