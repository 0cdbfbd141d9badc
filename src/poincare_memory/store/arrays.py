"""Arrays that grow together: the storage of a store's columns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from .room import InMemory, Room

MISSING = _kernels.MISSING_INSTANT
Rows = NDArray[np.int32]

# field -> (dtype, what a new row holds); the two-dimensional ones are made apart
SCALARS: dict[str, tuple[Any, Any]] = {
    "radius": (np.float64, 0.0),
    "level": (np.int32, 0),
    "parent": (np.int32, -1),
    "first_child": (np.int32, -1),
    "last_child": (np.int32, -1),
    "next_sibling": (np.int32, -1),
    "prev_sibling": (np.int32, -1),
    "t": (np.int64, MISSING),
    "valid_from": (np.int64, MISSING),
    "valid_until": (np.int64, MISSING),
    "last_accessed": (np.int64, MISSING),
    "recorded_at": (np.int64, MISSING),
    "aged_from": (np.int64, MISSING),
    "access_count": (np.int64, 0),
    "order": (np.int64, -1),
    "attached": (np.int64, -1),
    "changed_at": (np.int64, 0),
    "own": (np.float64, 0.0),
    "above": (np.float64, 0.0),
    "directed": (np.uint8, 0),
    "pinned": (np.uint8, 0),
    "learnt": (np.uint8, 0),
}
VECTORS: dict[str, Any] = {"direction": np.float64}
LEAST_CAPACITY = 8
ROUNDED_AT_ONCE = 4096  # rows


class RowOf(dict[str, int]):
    """id -> row; looking up an unknown id is an error that says so."""

    def __missing__(self, id: str) -> int:
        raise KeyError(f"unknown id {id!r:.80}")


def span_of(rows: Rows) -> slice | None:
    """The slice that is these rows, in their order; None where they are no such. A slice is several times faster."""
    if len(rows) == 0:
        return slice(0, 0)
    first, last = int(rows[0]), int(rows[-1])
    if len(rows) == 1:
        return slice(first, first + 1)
    if last - first != len(rows) - 1 or not (rows[1:] > rows[:-1]).all():
        return None
    return slice(first, last + 1)


def checked_reference(id: Any, name: str) -> Any:
    """An id to look up; a result or a record in its place, which no dict can look up, is an error that says so."""
    if type(id) is not str and not isinstance(id, Hashable):
        raise TypeError(f"{name}: expected the id of a memory (str), got {type(id).__name__}")
    return id


class Arrays:
    """One array a field, of one length, in which `high_water` rows have been used.

    Attributes
    ----------
    dim : int
        Length of an embedding.
    n : int
        Live memories.
    high_water : int
        Rows below it have been used; a freed one has ``order == -1``.
    direction : (capacity, dim) float64
        Unit directions; a zero row where `directed` is 0.
    radius : (capacity,) float64
        Hyperbolic depth, computed from the level unless `learnt`.
    level : (capacity,) int32
        0 at a root.
    parent, first_child, last_child, next_sibling, prev_sibling : (capacity,) int32
        Tree links as rows, -1 where there is none. Roots have no sibling links.
    t, valid_from, valid_until, last_accessed, recorded_at : (capacity,) int64
        UTC microseconds since 1970; `MISSING` where absent.
    pinned : (capacity,) uint8
        1 where no time makes a memory older.
    aged_from : (capacity,) int64
        `t`, or where pinned the end of time: what a policy counts age from.
    changed_at : (capacity,) int64
        `structure_version` at which the row last appeared, vanished or moved.
    access_count, order, attached : (capacity,) int64
        `order` is the serial number of insertion: unique, increasing; ties are broken by it. `attached`, drawn
        from the same series, is that of the moment it got its parent: children of one parent are in its order.
    directed : (capacity,) uint8
        0 where the embedding had zero length.
    learnt : (capacity,) uint8
        1 where `place_learned` gave the place, 2 below such a memory (then the radius is the parent's plus
        `depth_step`), 0 where the embedding and the level did.
    """

    radius: NDArray[np.float64]
    level: NDArray[np.int32]
    parent: NDArray[np.int32]
    first_child: NDArray[np.int32]
    last_child: NDArray[np.int32]
    next_sibling: NDArray[np.int32]
    prev_sibling: NDArray[np.int32]
    t: NDArray[np.int64]
    valid_from: NDArray[np.int64]
    valid_until: NDArray[np.int64]
    recorded_at: NDArray[np.int64]
    aged_from: NDArray[np.int64]
    pinned: NDArray[np.uint8]
    last_accessed: NDArray[np.int64]
    access_count: NDArray[np.int64]
    order: NDArray[np.int64]
    attached: NDArray[np.int64]
    changed_at: NDArray[np.int64]
    directed: NDArray[np.uint8]
    learnt: NDArray[np.uint8]
    direction: NDArray[np.float64]

    def __init__(self, dim: int, room: Room | None = None) -> None:
        self.dim = dim
        self.room: Room = InMemory() if room is None else room
        self.n = self.high_water = 0
        self._free_rows: list[int] = []
        for name, (dtype, blank) in SCALARS.items():
            setattr(self, name, np.full(0, blank, dtype))
        for name, dtype in VECTORS.items():  # no row yet: a file may declare any dimension
            setattr(self, name, np.zeros((0, dim), dtype))

    @property
    def capacity(self) -> int:
        return len(self.order)

    @staticmethod
    def scalar_names() -> list[str]:
        """Fields of one number a row that are part of what a memory is."""
        return [name for name in SCALARS if name != "changed_at"]

    def rounded(self, rows: Rows) -> NDArray[np.float32]:
        """Directions of these rows in float32."""
        rounded = np.empty((len(rows), self.dim), np.float32)
        for start in range(0, len(rows), ROUNDED_AT_ONCE):
            part = slice(start, start + ROUNDED_AT_ONCE)
            rounded[part] = self.direction[rows[part]]
        return rounded

    def change_dim(self, dim: int) -> None:
        """Blank vectors of another length; whoever asks for it fills them."""
        self.dim = dim
        for name, dtype in VECTORS.items():
            setattr(self, name, self.room.blank(name, self.capacity, dim, dtype))

    def _grow(self, needed: int) -> None:
        if needed <= self.capacity:
            return
        # Twice as much: what is not used yet is address space, no memory, and copying is what growth costs. Where
        # vectors are in files, nothing but the rest is copied, and the rest is most of what there is.
        more = self.capacity if self.room.precision == "full" else self.capacity // 4
        capacity = max(needed, self.capacity + more, LEAST_CAPACITY)
        if capacity >= 2**31:
            raise MemoryError("a store holds at most 2,147,483,647 memories")
        used = self.high_water
        grown: dict[str, NDArray[Any]] = {}
        for name, (dtype, blank) in SCALARS.items():
            # Zeros that nobody wrote to take no memory yet.
            grown[name] = np.full(capacity, blank, dtype) if blank else np.zeros(capacity, dtype)
            grown[name][:used] = getattr(self, name)[:used]
        for name, dtype in VECTORS.items():
            grown[name] = self.room.grown(name, getattr(self, name), used, capacity, dtype)
        vars(self).update(grown)  # all or none, in one step: they must not differ in length
