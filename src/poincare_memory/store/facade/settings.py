"""Settings of a `Memory`, as properties."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from ...embed.projection import BallProjector
from ...geometry.poincare import PoincareBall
from ..state import Metric
from .base import Facade

if TYPE_CHECKING:
    from ...embed.base import Embedder
    from ...temporal.policies import DecayPolicy
    from ..room import Precision


class Settings(Facade):
    """What a memory was made with, and what of it may be set anew."""

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors.

        A new one, of the same `dim`, embeds what is added, updated or searched from then on; stored memories
        keep their vectors.
        """
        return self._store.embedder

    @embedder.setter
    def embedder(self, value: Embedder) -> None:
        self._store.set_embedder(value)

    @property
    def ball(self) -> PoincareBall:
        """The ball of this memory's curvature; fixed."""
        return self._store.ball

    @property
    def projector(self) -> BallProjector:
        """Places embeddings in the ball; fixed."""
        return self._store.projector

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return self._store.columns.dim

    @property
    def precision(self) -> Precision:
        """Where vectors are: "full" in memory, "compact" in a file; fixed."""
        return self._store.columns.room.precision

    @property
    def base_depth(self) -> float:
        """Depth of roots; a new value holds for what is placed afterwards."""
        return self._store.base_depth

    @base_depth.setter
    def base_depth(self, value: float) -> None:
        self._store.set("base_depth", value)

    @property
    def depth_step(self) -> float:
        """Depth added by every level; a new value holds for what is placed afterwards."""
        return self._store.depth_step

    @depth_step.setter
    def depth_step(self, value: float) -> None:
        self._store.set("depth_step", value)

    @property
    def inherit(self) -> float:
        """Share of its parent's direction that a child takes, in [0, 1]."""
        return self._store.inherit

    @inherit.setter
    def inherit(self, value: float) -> None:
        self._store.set("inherit", value)

    @property
    def cone_constrained(self) -> bool:
        """Whether children are kept inside their parent's entailment cone."""
        return self._store.cone_constrained

    @cone_constrained.setter
    def cone_constrained(self, value: bool) -> None:
        self._store.set("cone_constrained", value)

    @property
    def cone_k(self) -> float:
        """The K of the entailment cones."""
        return self._store.cone_k

    @cone_k.setter
    def cone_k(self, value: float) -> None:
        self._store.set("cone_k", value)

    @property
    def metric(self) -> Metric:
        """Distance of `search`: "shell" or "hyperbolic"."""
        return self._store.metric

    @metric.setter
    def metric(self, value: Metric) -> None:
        self._store.set("metric", value)

    @property
    def time_coef(self) -> float:
        """Weight of time in the score."""
        return self._store.time_coef

    @time_coef.setter
    def time_coef(self, value: float) -> None:
        self._store.set("time_coef", value)

    @property
    def depth_bias(self) -> float:
        """Weight of depth in the score."""
        return self._store.depth_bias

    @depth_bias.setter
    def depth_bias(self, value: float) -> None:
        self._store.set("depth_bias", value)

    @property
    def lexical_coef(self) -> float:
        """Weight of the query's words in the score."""
        return self._store.lexical_coef

    @lexical_coef.setter
    def lexical_coef(self, value: float) -> None:
        self._store.set("lexical_coef", value)

    @property
    def decay(self) -> DecayPolicy:
        """The temporal policy."""
        return self._store.decay

    @decay.setter
    def decay(self, value: DecayPolicy) -> None:
        self._store.set("decay", value)

    @property
    def clock(self) -> Callable[[], datetime]:
        """What "now" is."""
        return self._store.clock

    @clock.setter
    def clock(self, value: Callable[[], datetime]) -> None:
        self._store.set("clock", value)
