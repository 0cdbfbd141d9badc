"""One fit: settings, rows, and epochs over them. What :mod:`.rsgd` and :mod:`.recipes` have in common."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._core import _kernels
from ..arguments import integer, number_within, positive_number
from ..geometry.numerics import FloatArray
from ..progress import Progress, metered
from ..threads import resolve_threads
from .pairs import NumberedPairs
from .progress import TrainingProgress

__all__ = ["Fit", "FitOptions", "Manifold", "Sampler", "TrainingReport"]

N = TypeVar("N", bound=Hashable)

Manifold = Literal["poincare", "lorentz", "euclidean"]
Sampler = Literal["uniform", "degree"]
Rows = NDArray[np.float32] | NDArray[np.float64]

_INITIAL_SPREAD = 1e-3
_LARGEST_RATE = 1e9
_LARGEST_TEMPERATURE = 1e3
_CACHE_LINE = 64
_SHOWN_LOSSES = 6
_INTRUDERS_KEPT = 16
_MARGIN = 1 - _kernels.BALL_EPS_FLOAT64


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
    seconds : float
        Wall time of the epochs, that of searching for hard negatives and of callbacks included.
    seed : int or None
        What gives the same points again; where None was passed, the seed that was drawn.
    """

    epochs: int
    final_loss: float
    losses: list[float]
    seconds: float = field(default=math.nan, compare=False, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        """Of many losses the first and the last."""
        losses = ", ".join(f"{loss:.6g}" for loss in self.losses)
        if len(self.losses) > _SHOWN_LOSSES:
            losses = f"{self.losses[0]:.6g}, ..., {self.losses[-1]:.6g}"
        return (
            f"TrainingReport(epochs={self.epochs}, final_loss={self.final_loss!r}, losses=[{losses}], "
            f"seconds={self.seconds:.6g}, seed={self.seed})"
        )


@dataclass
class FitOptions:
    """The arguments of a fit; `checked` says what is wrong with them."""

    dim: int
    epochs: int
    lr: float
    negatives: int
    batch_size: int
    seed: int | None
    manifold: Manifold
    burn_in: int = 0
    burn_in_lr_factor: float = 1.0
    burn_in_sampler: Sampler | None = None
    sampler: Sampler = "uniform"
    temperature: float = 1.0
    lr_end: float | None = None
    exclude_related: bool = True
    hard_negatives: int = 0
    hard_every: int = 10
    dtype: DTypeLike | None = None
    n_threads: int | None = 1

    threads: int = field(default=1, init=False)

    def checked(self) -> FitOptions:
        """Itself, with plain numbers for what was passed; the first argument that is wrong is an error."""
        self.dim = integer("dim", self.dim, least=1)
        self.epochs = integer("epochs", self.epochs, least=0)
        self.lr = number_within("lr", self.lr, 0, _LARGEST_RATE)
        self.negatives = integer("negatives", self.negatives, least=1)
        integer("batch_size", self.batch_size, least=1)
        self.burn_in = integer("burn_in", self.burn_in, least=0)
        self.burn_in_lr_factor = number_within("burn_in_lr_factor", self.burn_in_lr_factor, 0, _LARGEST_RATE)
        self.sampler = _one_of("sampler", self.sampler, ("uniform", "degree"))
        if self.burn_in_sampler is not None:
            self.burn_in_sampler = _one_of("burn_in_sampler", self.burn_in_sampler, ("uniform", "degree"))
        self.temperature = positive_number("temperature", self.temperature)
        number_within("temperature", self.temperature, 0, _LARGEST_TEMPERATURE)
        self.lr_end = (
            self.lr if self.lr_end is None else number_within("lr_end", self.lr_end, 0, _LARGEST_RATE)
        )
        if not isinstance(self.exclude_related, (bool, np.bool_)):
            raise TypeError(f"exclude_related: expected True or False, got {self.exclude_related!r}")
        self.hard_negatives = integer("hard_negatives", self.hard_negatives, least=0)
        self.hard_every = integer("hard_every", self.hard_every, least=1)
        self.dtype = _trained_dtype(self.dtype, self.manifold)
        self.threads = resolve_threads(self.n_threads)
        return self

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch, counted from 0: linear from the end of the burn-in to the last one."""
        assert self.lr_end is not None
        if epoch < self.burn_in:
            return self.lr * self.burn_in_lr_factor
        steps = self.epochs - 1 - self.burn_in
        return self.lr if steps <= 0 else self.lr + (self.lr_end - self.lr) * (epoch - self.burn_in) / steps

    def weighted(self, epoch: int) -> bool:
        """Whether an epoch draws its negatives by degree."""
        early = epoch < self.burn_in and self.burn_in_sampler is not None
        return (self.burn_in_sampler if early else self.sampler) == "degree"


class Fit(Generic[N]):
    """Rows of one fit, and the epochs over them.

    An epoch depends on the rows, the seed and its own number only: a fit that is resumed goes on as if it had
    never stopped.
    """

    def __init__(
        self, edges: Iterable[tuple[N, N]] | NDArray[Any], options: FitOptions, scale: float
    ) -> None:
        self.options = options.checked()
        self.scale = scale  # a point of the caller's ball is one of the unit ball, divided by this
        self.seeds = _seeds(options.seed)
        self.pairs: NumberedPairs[N] = NumberedPairs(edges)
        self.done: list[float] = []
        self.seconds = 0.0
        count, stride = len(self.pairs.nodes), _kernels.training_stride(options.dim, self._single)
        self.rows: Rows = _aligned_zeros(count, stride, np.dtype(self.options.dtype))

    def start_at_random(self) -> None:
        """Begin near the origin, where the seed says."""
        shape = len(self.rows), self.options.dim
        start = np.random.default_rng(self.seeds).uniform(-_INITIAL_SPREAD, _INITIAL_SPREAD, shape)
        self._put(start)

    def start_from(self, init: Mapping[N, FloatArray], name: str = "init") -> None:
        """Begin at given points, those beyond the margin of training moved onto it."""
        if not isinstance(init, Mapping):
            raise TypeError(f"{name}: expected a mapping of node to point, got {type(init).__name__}")
        start = np.empty((len(self.rows), self.options.dim))
        for row, node in zip(start, self.pairs.nodes, strict=True):
            if node not in init:
                raise KeyError(f"{name}: node {node!r} has no point")
            point = np.asarray(init[node], dtype=np.float64)
            if point.shape != row.shape:
                raise ValueError(f"{name}: expected shape {row.shape}, got {point.shape} for node {node!r}")
            row[:] = point
        start *= self.scale
        norms = np.linalg.norm(start, axis=1)
        inside = np.isfinite(norms) if self.options.manifold == "euclidean" else norms < 1
        if not inside.all():
            node = self.pairs.nodes[int(np.argmin(inside))]
            where = "finite" if self.options.manifold == "euclidean" else "finite and inside the ball"
            raise ValueError(f"{name}: expected points that are {where}, got {init[node]} for node {node!r}")
        if self.options.manifold != "euclidean":
            start *= np.minimum(1, _MARGIN / np.maximum(norms, _MARGIN))[:, None]
        self._put(start)

    def resume(self, resume: tuple[Mapping[N, FloatArray], TrainingReport]) -> None:
        """Take up where an earlier fit of the same pairs ended."""
        if not (isinstance(resume, tuple) and len(resume) == 2 and isinstance(resume[1], TrainingReport)):
            raise TypeError("resume: expected (points, report) as a fit returned them")
        points, report = resume
        if report.epochs > self.options.epochs:
            raise ValueError(
                f"resume: {report.epochs} epochs are done, more than epochs={self.options.epochs}; "
                "epochs counts those before"
            )
        if report.seed is not None:
            self.seeds = _seeds(report.seed)
        self.start_from(points, "resume")
        self.done = list(report.losses)
        self.seconds = 0.0 if math.isnan(report.seconds) else report.seconds

    def train(
        self, progress: Progress = None, callback: Callable[[TrainingProgress[N]], bool | None] | None = None
    ) -> TrainingReport:
        """Run the epochs; an interrupt ends them."""
        started = time.perf_counter() - self.seconds
        with metered(progress, self.options.epochs, "training", "epoch") as meter:
            meter.update(len(self.done))
            for epoch, loss in self._epochs():
                self.done.append(loss)
                self.seconds = time.perf_counter() - started
                meter.update(1)
                if callback is not None and callback(self.stand(epoch, loss)):
                    break
        last = self.done[-1] if self.done else math.nan
        return TrainingReport(len(self.done), last, self.done, seconds=self.seconds, seed=self.seed)

    @property
    def seed(self) -> int | None:
        """What gives the same points again."""
        entropy = self.seeds.entropy
        return entropy if isinstance(entropy, int) else None

    def points(self) -> dict[N, FloatArray]:
        """The points as they are now, of the caller's ball."""
        return dict(zip(self.pairs.nodes, self._scaled(), strict=True))

    def result(self) -> dict[N, FloatArray]:
        """The points at the end; rows and pairs are let go before a million small arrays are made."""
        nodes, points = self.pairs.nodes, self._scaled()
        del self.pairs, self.rows
        return dict(zip(nodes, points, strict=True))

    @property
    def _single(self) -> bool:
        return np.dtype(self.options.dtype) == np.float32

    def _put(self, points: FloatArray) -> None:
        if self.options.manifold == "lorentz":
            points = 2 * points / (1 - np.einsum("ij,ij->i", points, points))[:, None]
        self.rows[:, : self.options.dim] = points

    def _ball_points(self) -> NDArray[np.float64]:
        points: NDArray[np.float64] = self.rows[:, : self.options.dim].astype(np.float64)
        if self.options.manifold == "lorentz":
            points /= (1 + np.sqrt(1 + np.einsum("ij,ij->i", points, points)))[:, None]
        return points

    def _scaled(self) -> NDArray[np.float64]:
        points = self._ball_points()
        points /= self.scale
        if not np.isfinite(points).all():
            raise self._diverged()
        return points

    def _epochs(self) -> Iterator[tuple[int, float]]:
        options, run = self.options, self._run()
        intruder: NDArray[np.int32] | None = None
        found: NDArray[np.int32] | None = None
        for epoch in range(len(self.done), options.epochs):
            if options.hard_negatives and (epoch % options.hard_every == 0 or intruder is None):
                intruder, found = self._intruders(epoch)
            loss = _kernels.train_epoch(
                run,
                self.rows,
                options.dim,
                options.manifold,
                self.words(epoch),
                options.negatives,
                options.rate(epoch),
                options.temperature,
                options.weighted(epoch),
                options.threads,
                intruder,
                found,
                options.hard_negatives,
            ) / len(self.pairs)
            if not math.isfinite(loss):
                raise self._diverged()
            yield epoch, loss

    def words(self, epoch: int) -> NDArray[np.uint64]:
        """The random state of an epoch."""
        seeds = np.random.SeedSequence(self.seeds.entropy, spawn_key=(epoch,))
        return seeds.generate_state(4, np.uint64).astype(np.uint64)

    def _run(self) -> _kernels.TrainingRun:
        options, pairs = self.options, self.pairs
        excluded = pairs.excluded() if options.exclude_related else (None, None)
        given = pairs.given if options.exclude_related else pairs.as_arrays()
        drawn = "degree" in (options.sampler, options.burn_in_sampler)
        weights = pairs.degree_weights() if drawn else (None, None)
        return _kernels.TrainingRun(len(pairs.nodes), *given, *excluded, *weights)

    def _intruders(self, epoch: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        query, start, related = self.pairs.related
        points, scale = self._keys()
        nodes = np.zeros((len(self.rows), _INTRUDERS_KEPT), np.int32)
        found = np.zeros(len(self.rows), np.int32)
        _kernels.find_intruders(
            points,
            scale,
            query,
            start,
            related,
            int(self.words(epoch)[0]),
            self.options.threads,
            nodes,
            found,
        )
        return nodes, found

    def _keys(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Points, and the scale that makes their squared gaps grow with the distance."""
        points = self._ball_points()
        flat = self.options.manifold == "euclidean"
        return points, np.ones(len(points)) if flat else 1 - np.einsum("ij,ij->i", points, points)

    def stand(self, epoch: int, loss: float) -> TrainingProgress[N]:
        """What a callback is given after an epoch."""
        options = self.options
        return TrainingProgress(
            epoch + 1, options.epochs, loss, options.rate(epoch), self.seconds, self.points, self._sampled_map
        )

    def _sampled_map(self, queries: int, seed: int) -> float:
        query, start, related = self.pairs.related
        count = min(integer("queries", queries, least=1), len(query))
        chosen = np.sort(np.random.default_rng(seed).choice(len(query), count, replace=False))
        lists = [related[start[q] : start[q + 1]] for q in chosen]
        begins = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        precision, rank_sum = np.empty(count), np.empty(count, np.int64)
        _kernels.reconstruction_ranks(
            *self._keys(),
            query[chosen],
            begins,
            np.concatenate(lists),
            self.options.threads,
            precision,
            rank_sum,
        )
        return math.fsum(precision) / count

    def _diverged(self) -> ValueError:
        return ValueError(f"lr: training diverged at lr={self.options.lr:g}; use a smaller one")


def _one_of(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def _trained_dtype(dtype: DTypeLike | None, manifold: Manifold) -> type[Any]:
    """float32, but for the hyperboloid, whose inner products cancel in it."""
    if dtype is None:
        return np.float64 if manifold == "lorentz" else np.float32
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype: expected float32 or float64, got {dtype!r}")
    return np.float32 if np.dtype(dtype) == np.float32 else np.float64


def _seeds(seed: int | None) -> np.random.SeedSequence:
    try:
        return np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"seed: expected an integer of at least 0, got {seed!r}") from error


def _aligned_zeros(rows: int, columns: int, dtype: np.dtype[Any]) -> Any:
    """Zeros whose first element begins a cache line.

    Older NumPy asks the system for huge pages in `empty` only; without these random rows cost five times as much.
    """
    buffer = np.empty(rows * columns + _CACHE_LINE // dtype.itemsize, dtype)
    buffer.fill(0)
    skip = -buffer.ctypes.data % _CACHE_LINE // dtype.itemsize
    return buffer[skip : skip + rows * columns].reshape(rows, columns)
