"""What a fit tells while it runs: a bar on standard error, and what a callback is given."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ..geometry.numerics import FloatArray

__all__ = ["ProgressBar", "TrainingProgress"]

N = TypeVar("N", bound=Hashable)

_WIDTH = 30
_REDRAW_SECONDS = 0.2


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


class ProgressBar:
    """One line on standard error: redrawn in place on a terminal, a line every tenth elsewhere."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs
        self.stream = sys.stderr
        self.redrawn = bool(getattr(self.stream, "isatty", lambda: False)())
        self.drawn_at = -_REDRAW_SECONDS
        self.tenth = 0

    def show(self, epoch: int, loss: float, seconds: float) -> None:
        last = epoch == self.epochs
        if self.redrawn:
            if not last and time.monotonic() - self.drawn_at < _REDRAW_SECONDS:
                return
            self.drawn_at = time.monotonic()
        elif epoch * 10 // self.epochs == self.tenth:
            return
        self.tenth = epoch * 10 // self.epochs
        filled = _WIDTH * epoch // self.epochs
        bar = "#" * filled + "." * (_WIDTH - filled)
        line = f"epoch {epoch}/{self.epochs} [{bar}] loss {loss:.4f}, {seconds:.1f} s"
        self.stream.write(("\r" if self.redrawn else "") + line + ("\n" if last or not self.redrawn else ""))
        self.stream.flush()
