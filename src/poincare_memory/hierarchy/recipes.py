"""Settings that reach, and pass, the published numbers of learned hierarchies.

A recipe is a few fits in a row, each from the points of the one before:

1. a burn-in at a low rate with negatives drawn by degree, which lays the hubs out;
2. many epochs against uniform negatives, at a falling rate: the regions find their places;
3. fewer epochs at a higher temperature with *hard* negatives, the unrelated nodes that are too near by an exact
   search: this is what turns a plateau into better precision (see the guide on learned hierarchies);
4. for large hierarchies again epochs against uniform negatives: hard ones drive nodes outwards that lie in a wrong
   region, where they get stuck.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..arguments import integer
from .rsgd import TrainingReport, fit_euclidean_embeddings, fit_poincare_embeddings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..geometry.numerics import FloatArray
    from ..geometry.poincare import PoincareBall
    from ..progress import Progress
    from .progress import TrainingProgress

__all__ = ["Recipe", "for_reconstruction"]

N = TypeVar("N", bound=Hashable)

_LARGE = 20_000  # nodes from which the recipe of the nouns is used, not that of mammals
_SEED_OF_NEXT_STAGE = 1_000_003


@dataclass(frozen=True)
class Recipe:
    """Fits to run in a row.

    Attributes
    ----------
    dim : int
        Dimension of the points.
    stages : tuple of mappings
        For each fit its keyword arguments.
    """

    dim: int
    stages: tuple[Mapping[str, Any], ...]

    @property
    def epochs(self) -> int:
        """Of all stages."""
        return sum(int(stage["epochs"]) for stage in self.stages)

    def fit(
        self,
        edges: Iterable[tuple[N, N]] | NDArray[Any],
        *,
        seed: int = 0,
        ball: PoincareBall | None = None,
        manifold: str = "poincare",
        n_threads: int | None = 1,
        progress: Progress = None,
        callback: Callable[[TrainingProgress[N]], bool | None] | None = None,
    ) -> tuple[dict[N, FloatArray], TrainingReport]:
        """Learn points for the nodes of ``edges``.

        Parameters
        ----------
        edges, ball, n_threads, progress, callback
            As of :func:`~poincare_memory.fit_poincare_embeddings`. A callback that returns True ends its stage.
        seed : int
            Of the first stage; later ones derive theirs from it.
        manifold : "poincare", "lorentz" or "euclidean"
            The last is the baseline, trained alike.

        Returns
        -------
        points : dict
        report : TrainingReport
            Of all stages in a row. Losses of stages differ in temperature: compare them within one.

        Examples
        --------
        >>> closure = [("dog", "animal"), ("cat", "animal"), ("poodle", "dog"), ("poodle", "animal")]
        >>> points, report = for_reconstruction(2, nodes=4).fit(closure)
        >>> len(points), points["dog"].shape
        (4, (2,))
        """
        pairs = edges if isinstance(edges, np.ndarray) else list(edges)
        seed = integer("seed", seed, least=0)
        losses: list[float] = []
        seconds, points = 0.0, None
        for stage, settings in enumerate(self.stages):
            points, report = _fit(
                manifold,
                ball,
                pairs,
                {
                    **settings,
                    "dim": self.dim,
                    "seed": seed + stage * _SEED_OF_NEXT_STAGE,
                    "init": points,
                    "n_threads": n_threads,
                    "progress": progress,
                    "callback": callback,
                },
            )
            losses += report.losses
            seconds += report.seconds
        if points is None:
            raise ValueError("stages: expected at least one")
        return points, TrainingReport(
            len(losses), losses[-1] if losses else math.nan, losses, seconds=seconds, seed=seed
        )


def for_reconstruction(dim: int = 10, *, nodes: int = 1000) -> Recipe:
    """The recipe for reconstruction of a closure (Nickel & Kiela 2017), in either direction.

    Parameters
    ----------
    dim : int
        Dimension of the points, at least 1.
    nodes : int
        About how many nodes the hierarchy has. Up to 20,000 the settings are those found on WordNet's mammals,
        beyond those found on its nouns.

    Returns
    -------
    Recipe

    Examples
    --------
    >>> for_reconstruction(10, nodes=1170).epochs
    300
    """
    dim = integer("dim", dim, least=1)
    return Recipe(dim, _nouns(dim) if integer("nodes", nodes, least=1) > _LARGE else _mammals(dim))


def _fit(
    manifold: str, ball: PoincareBall | None, pairs: Any, settings: dict[str, Any]
) -> tuple[dict[Any, FloatArray], TrainingReport]:
    if manifold != "euclidean":
        options: Any = {"ball": ball, "manifold": manifold, **settings}
        return fit_poincare_embeddings(pairs, **options)
    if ball is not None:
        raise ValueError("ball: expected none for manifold='euclidean'")
    burn_in = ("burn_in", "burn_in_lr_factor", "burn_in_sampler")
    return fit_euclidean_embeddings(pairs, **{k: v for k, v in settings.items() if k not in burn_in})


def _mammals(dim: int) -> tuple[Mapping[str, Any], ...]:
    beta, sharper = (1.0, 4.0) if dim <= 2 else (2.0, 8.0) if dim < 8 else (4.0, 8.0)
    return (
        {
            "epochs": 200,
            "lr": 0.1,
            "lr_end": 0.03,
            "negatives": 50,
            "temperature": beta,
            "burn_in": 20,
            "burn_in_lr_factor": 0.01,
            "burn_in_sampler": "degree",
        },
        {
            "epochs": 100,
            "lr": 0.03,
            "lr_end": 0.005,
            "negatives": 50,
            "temperature": sharper,
            "burn_in": 0,
            "hard_negatives": 2,
        },
    )


def _nouns(dim: int) -> tuple[Mapping[str, Any], ...]:
    beta, sharper = (1.0, 4.0) if dim <= 2 else (2.0, 8.0)
    stages: tuple[Mapping[str, Any], ...] = (
        {
            "epochs": 280,
            "lr": 0.1,
            "lr_end": 0.03,
            "negatives": 50,
            "temperature": beta,
            "burn_in": 20,
            "burn_in_lr_factor": 0.03,
            "burn_in_sampler": "degree",
        },
        {
            "epochs": 90,
            "lr": 0.03,
            "lr_end": 0.002,
            "negatives": 50,
            "temperature": sharper,
            "burn_in": 0,
            "hard_negatives": 2,
        },
    )
    if dim <= 2:  # no room for it: points would scatter
        return stages
    return (
        *stages,
        {"epochs": 60, "lr": 0.05, "lr_end": 0.01, "negatives": 50, "temperature": 4.0, "burn_in": 0},
    )
