"""One store: its settings, its columns, its lock."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from .._core import _kernels
from ..arguments import finite_number, number_within, positive_number
from ..embed.embedding import check_embedder, embed_listed
from ..temporal.compiled import compile_policy
from .changes import ClosedFile, Look
from .coded import CodedDirections
from .columns import Columns
from .lock import SharedLock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..embed import BallProjector, Embedder
    from ..geometry import PoincareBall
    from ..geometry.numerics import FloatArray
    from ..temporal import DecayPolicy
    from .room import Room

Metric = Literal["shell", "hyperbolic"]
FORMAT_VERSION = 1  # of files
LARGEST_DEPTH = 1e100  # so that no level's depth overflows


def depth(name: str, value: Any) -> float:
    return number_within(name, positive_number(name, value), 0, LARGEST_DEPTH)


def fraction(name: str, value: Any) -> float:
    if type(value) is float and 0 <= value <= 1:
        return value
    return number_within(name, value, 0, 1)


def truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def metric_name(name: str, value: Any) -> Metric:
    if value not in ("shell", "hyperbolic"):
        raise ValueError(f"{name} must be 'shell' or 'hyperbolic', got {value!r}")
    return cast(Metric, value)


def decay_policy(name: str, value: Any) -> DecayPolicy:
    if not callable(getattr(value, "weight", None)):
        raise TypeError(
            f"{name} must have weight(now, times, access_counts, valid_from, valid_until), got {value!r}"
        )
    return cast("DecayPolicy", value)


def clock_function(name: str, value: Any) -> Callable[[], datetime]:
    if not callable(value):
        raise TypeError(f"{name} must be a function without arguments that returns a datetime, got {value!r}")
    return cast(Callable[[], datetime], value)


# setting -> what a value must be, and becomes
SETTINGS: dict[str, Callable[[str, Any], Any]] = {
    "base_depth": depth,
    "depth_step": depth,
    "inherit": fraction,
    "cone_constrained": truth,
    "cone_k": positive_number,
    "metric": metric_name,
    "time_coef": finite_number,
    "depth_bias": finite_number,
    "lexical_coef": finite_number,
    "decay": decay_policy,
    "clock": clock_function,
}


class Store:
    """What a `Memory` is made of. `set` checks and changes a setting; everything else is plain attributes.

    Attributes
    ----------
    ball, projector
        Fixed for the life of the store.
    embedder
        Changed by `set_embedder`.
    base_depth, depth_step, inherit, cone_constrained, cone_k, metric, time_coef, depth_bias, decay, clock
        Settings as in `Memory`. A new value holds for what is placed or searched afterwards.
    columns : Columns
    lock : SharedLock
        ``with store.lock.read():`` or ``write()`` around every use of `columns`.
    index : object or None
        Handle of the graph index (see `poincare_memory.index`); not pickled.
    """

    ball: PoincareBall
    projector: BallProjector
    embedder: Embedder
    base_depth: float
    depth_step: float
    inherit: float
    cone_constrained: bool
    cone_k: float
    metric: Metric
    time_coef: float
    depth_bias: float
    lexical_coef: float
    decay: DecayPolicy
    clock: Callable[[], datetime]

    def __init__(
        self, embedder: Embedder, projector: BallProjector, room: Room | None = None, **settings: Any
    ) -> None:
        self.embedder = embedder
        self.projector = projector
        self.ball = projector.ball
        for name in SETTINGS:
            self.set(name, settings.pop(name, 0.0) if name == "lexical_coef" else settings.pop(name))
        if settings:
            raise TypeError(f"no such setting: {', '.join(settings)}")
        self.lock = SharedLock()
        self.columns = Columns(int(embedder.dim), self.lock, room)
        self.index: Any = None
        self.past: Any = None  # the store as it stood at the moment last asked for
        self.words: Any = None  # StoreWords, once a search asked for it
        self.coded = CodedDirections()
        self._compiled: tuple[DecayPolicy | None, NDArray[np.float64] | None] = None, None

    def set(self, name: str, value: Any) -> None:
        """Check and change a setting."""
        checked = SETTINGS[name](name, value)
        if not hasattr(self, "columns"):  # being made
            setattr(self, name, checked)
            return
        with self.columns.changing():
            undo, old = self.columns.undo, getattr(self, name)
            if undo is not None:
                undo.step(lambda: setattr(self, name, old))
                undo.settings[name] = checked
            setattr(self, name, checked)

    def embed(self, texts: list[str]) -> FloatArray:
        """Embeddings of `texts`, (n, dim). Call it with no lock held: the embedder is the user's."""
        embeddings = embed_listed(self.embedder, texts.copy())
        if embeddings.shape[1] != self.columns.dim:
            raise ValueError(
                f"{type(self.embedder).__name__}.dim is {embeddings.shape[1]} by now, but this memory was made "
                f"with {self.columns.dim}"
            )
        return embeddings

    def set_embedder(self, value: Any) -> None:
        """Embed with another one from now on; what is stored keeps its vectors."""
        checked = check_embedder(value)
        if int(checked.dim) != self.columns.dim:
            raise ValueError(
                f"embedder has dim {checked.dim}, but this memory's vectors have {self.columns.dim}: "
                "make a new Memory for it"
            )
        file = self.columns.file
        identity = None if file is None else file.identity_of(checked)
        with self.columns.changing():
            if file is not None and identity is not None:
                file.check_identity(identity, self.columns.n)
            undo, old = self.columns.undo, self.embedder
            if undo is not None:
                undo.step(lambda: setattr(self, "embedder", old))
                undo.settings["embedder"], undo.embedder = checked, identity
            self.embedder = checked

    def reading(self) -> Look:
        """Context manager: the columns, shared with other readers, other processes' writes taken in before."""
        return Look(self.columns)

    def look(self) -> None:
        """Take in what other processes wrote."""
        if self.columns.file is not None:
            self.columns.file.notice(self.columns)

    def close(self) -> None:
        """Let the file go, if there is one; every later use is an error."""
        if self.columns.file is None:
            self.columns.file = ClosedFile()
        self.columns.file.close(self.columns)
        if self.words is not None:
            self.words.close()

    def keeps_versions(self) -> bool:
        """Whether what memories were before can be told."""
        return self.columns.file is not None and self.columns.file.keeps_versions

    def compact(self) -> None:
        """Give back the room of what was removed, on disk and in memory."""
        if self.columns.lock.held_by_me():
            raise RuntimeError("a memory cannot be compacted inside its own transaction")
        self.look()
        if self.columns.file is not None:
            self.columns.file.compact(self.columns)
        with self.columns.lock.write():
            self.columns.compact()

    def factors(self) -> NDArray[np.float64] | None:
        """The policy as the scan reads it, None for one of the user's own; policies do not change, so once each."""
        policy, factors = self._compiled
        if policy is not self.decay:
            policy = self.decay
            factors = compile_policy(policy)
            self._compiled = policy, factors
        return factors

    def now(self) -> int:
        """The clock's time in UTC microseconds. Call it with no lock held: the clock is the user's."""
        return _kernels.micros_of(self.clock(), "what clock() returned")

    def depth_of_level(self, level: int) -> float:
        """Hyperbolic radius of a level: ``base_depth + level * depth_step``."""
        return self.base_depth + level * self.depth_step

    def __copy__(self) -> Store:
        """A store in memory of its own; embedder, policy and clock are shared."""
        twin = Store.__new__(Store)
        state = self.__getstate__()
        metas = state["columns"]["metas"]
        metas[:] = [copy.deepcopy(meta) if meta else None for meta in metas]
        twin.__setstate__(state)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        with self.lock.read():
            state = self.__dict__.copy()
            for name in ("lock", "index", "past", "words", "coded", "_compiled"):
                del state[name]
            state["columns"] = self.columns.__getstate__()
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = SharedLock()
        self.index = self.past = self.words = None
        self.coded = CodedDirections()
        self._compiled = None, None
        self.__dict__.setdefault("lexical_coef", 0.0)
        self.columns = Columns(state["columns"]["dim"], self.lock)
        self.columns.__setstate__(state["columns"])
