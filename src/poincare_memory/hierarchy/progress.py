"""Where a fit stands: what its callback is given."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ..geometry.numerics import FloatArray

__all__ = ["TrainingProgress"]

N = TypeVar("N", bound=Hashable)


@dataclass(frozen=True)
class TrainingProgress(Generic[N]):
    """Where a fit stands, for its callback. Valid during the call.

    Attributes
    ----------
    epoch, epochs : int
        Epochs done, and to do in all.
    loss : float
        Mean loss of a pair in the epoch that just ended.
    lr : float
        Learning rate of that epoch.
    seconds : float
        Wall time since the fit began.
    """

    epoch: int
    epochs: int
    loss: float
    lr: float
    seconds: float
    _points: Callable[[], dict[N, FloatArray]] = field(repr=False)
    _sampled_map: Callable[[int, int], float] = field(repr=False)

    def points(self) -> dict[N, FloatArray]:
        """The points as they are now, copied.

        Returns
        -------
        dict of node to float64 array of shape (dim,)

        Examples
        --------
        >>> from poincare_memory import fit_poincare_embeddings
        >>> shapes = []
        >>> def look(now):
        ...     shapes.append(now.points()["a"].shape)
        >>> _ = fit_poincare_embeddings([("a", "b")], dim=2, epochs=2, callback=look)
        >>> shapes
        [(2,), (2,)]
        """
        return self._points()

    def sampled_map(self, queries: int = 256, seed: int = 0) -> float:
        """Mean average precision of :func:`reconstruction`, over at most ``queries`` random nodes.

        Parameters
        ----------
        queries : int, default 256
            How many nodes at most are asked from.
        seed : int, default 0
            Of their choice.

        Returns
        -------
        float
            From 0 to 1; NaN where no node has an edge.

        Examples
        --------
        >>> from poincare_memory import fit_poincare_embeddings
        >>> found = []
        >>> def look(now):
        ...     found.append(now.sampled_map())
        >>> _ = fit_poincare_embeddings([("a", "b")], dim=2, epochs=2, callback=look)
        >>> found
        [1.0, 1.0]
        """
        return self._sampled_map(queries, seed)
