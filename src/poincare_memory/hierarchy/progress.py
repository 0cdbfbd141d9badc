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
        """The points as they are now, copied."""
        return self._points()

    def sampled_map(self, queries: int = 256, seed: int = 0) -> float:
        """Mean average precision of :func:`reconstruction`, over at most ``queries`` random nodes."""
        return self._sampled_map(queries, seed)
