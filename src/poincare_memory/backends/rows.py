"""A memory as a server keeps it, and what is asked of a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..store.memory import Memory
from ..store.records import MemoryRecord
from ..temporal.instants import MISSING, from_micros
from .conditions import ALWAYS, Condition
from .errors import BackendError

__all__ = [
    "SCHEMA",
    "TIMES",
    "Engine",
    "Row",
    "Where",
    "load",
    "micros",
    "newest",
    "optional",
    "record_of",
    "rows_of",
    "schema_of",
]

SCHEMA: Final = 2  # of what engines keep; older ones are migrated
Value = TypeVar("Value")
TIMES = ("t", "valid_from", "valid_until", "last_accessed", "recorded_at")


@dataclass
class Row:
    """One memory: what is searched for (direction, radius) and what is told (the rest)."""

    id: str
    text: str
    parent: str | None
    path: list[str]  # ids from the root, its own included
    branch: list[
        int
    ]  # serial numbers of attachment along the path: sorted by it, rows are in the order of the tree
    order: int  # serial number of insertion
    level: int
    radius: float
    direction: NDArray[np.float64]  # zeros where it has none
    embedding: NDArray[Any]
    t: int
    valid_from: int
    valid_until: int
    access_count: int
    last_accessed: int
    recorded_at: int
    pinned: bool
    meta: dict[str, Any]


@dataclass
class Where:
    """Which memories compete, as far as the server is asked: never fewer than those that do."""

    below: list[str] | None = None  # ids whose subtrees they are in
    parents: list[str | None] | None = None  # ids of their parents, [None] for roots
    ids: list[str] | None = None
    but: str | None = None
    passing: Condition = ALWAYS
    radius: float | None = None
    known_by: int | None = None  # recorded by then
    roots: list[str] | None = None  # those that they are below, where that is known: their shards are asked


class Engine(Protocol):
    """A server, or a database in this process."""

    def settings(self) -> dict[str, Any] | None:
        """What `prepare` kept, after migrating what has an older schema; None where there is no memory yet."""

    def prepare(self, settings: dict[str, Any], dim: int) -> None:
        """Make room for a memory."""

    def reading(self, work: Callable[[], Value]) -> Value:
        """Do some work on one state of the memory, where there are transactions; perhaps twice."""

    def writing(self) -> AbstractContextManager[None]:
        """A transaction, where there are such."""

    def lock(self, ids: Sequence[str], shared: bool) -> None:
        """Keep others from changing (shared), or also from using, these rows until the transaction ends."""

    def serials(self, count: int) -> int:
        """The first of so many numbers that nobody else gets."""

    def count(self) -> int: ...

    def fetch(self, where: Where) -> list[Row]:
        """All rows, in order of insertion."""

    def nearest(self, where: Where, direction: NDArray[np.float64], limit: int) -> list[Row]:
        """The rows with the largest inner products of directions, exactly."""

    def radii(self, where: Where) -> list[float]:
        """The radii that occur."""

    def save(self, rows: Sequence[Row]) -> None: ...

    def delete(self, ids: Sequence[str]) -> None: ...

    def touch(self, ids: Sequence[str], now: int) -> None: ...

    def close(self) -> None: ...


def schema_of(kept: Any, where: str) -> int:
    """The schema of what an engine keeps about a memory: one that this version knows."""
    schema = kept.get("schema") if isinstance(kept, dict) else None
    if type(schema) is not int or not 1 <= schema <= SCHEMA or not isinstance(kept.get("settings"), dict):
        raise BackendError(
            f"{where} has schema {schema!r:.80}, this version of poincare-memory knows 1 to {SCHEMA}: use the "
            "version that made it, or another name"
        )
    return schema


def record_of(row: Row) -> MemoryRecord:
    """A record of its own."""
    return MemoryRecord(
        row.id,
        row.text,
        row.parent,
        from_micros(row.t),  # type: ignore[arg-type]  # never unset
        row.meta,
        from_micros(row.valid_from),
        from_micros(row.valid_until),
        row.access_count,
        from_micros(row.last_accessed),
        recorded_at=from_micros(row.recorded_at),
        pinned=row.pinned,
    )


def newest(rows: Iterable[Row]) -> list[Row]:
    """One row an id: that of its newest place.

    What moves while a search asks for one radius after the other is seen twice, and so is what changes its shard in a
    cluster, where a server stopped halfway for as long as that. Serial numbers of places grow.
    """
    found: dict[str, Row] = {}
    for row in rows:
        other = found.get(row.id)
        if other is None or max(other.branch) < max(row.branch):
            found[row.id] = row
    return list(found.values())


def load(memory: Memory, rows: Sequence[Row], *, linked: bool) -> None:
    """Put rows into an empty memory of this process, where they are; unlinked ones all as roots."""
    if not rows:
        return
    columns = memory._store.columns
    with columns.changing():
        embeddings = np.stack([row.embedding for row in rows])
        columns.reserve(len(rows), embeddings.dtype)
        at = columns.allocate(len(rows))
        columns.set_objects(
            at, [row.id for row in rows], [row.text for row in rows], [row.meta for row in rows]
        )
        for name in (*TIMES, "access_count", "pinned"):
            getattr(columns, name)[at] = [getattr(row, name) for row in rows]
        columns.set_age(at)
        parents = [
            columns.row_of.get(row.parent, -1) if linked and row.parent is not None else -1 for row in rows
        ]
        columns.attach(at, np.array(parents, np.int32))
        columns.direction[at] = np.stack([row.direction for row in rows])
        columns.directed[at] = columns.direction[at].any(axis=1)
        columns.radius[at] = [row.radius for row in rows]
        columns.level[at] = [row.level for row in rows]
        columns.set_embeddings(at, embeddings)
        columns.moved(at)


def rows_of(memory: Memory) -> list[Row]:
    """What a memory of this process holds, in order of insertion; branch and order are those of this process."""
    columns = memory._store.columns
    found = []
    for at in columns.live_rows().tolist():
        id, parent = str(columns.ids[at]), int(columns.parent[at])
        path = memory.path(id)
        found.append(
            Row(
                id,
                str(columns.texts[at]),
                columns.ids[parent] if parent >= 0 else None,
                path,
                [],
                int(columns.order[at]),
                int(columns.level[at]),
                float(columns.radius[at]),
                columns.direction[at].copy() * columns.directed[at],
                columns.embeddings(np.array([at], np.int32))[0],
                int(columns.t[at]),
                int(columns.valid_from[at]),
                int(columns.valid_until[at]),
                int(columns.access_count[at]),
                int(columns.last_accessed[at]),
                int(columns.recorded_at[at]),
                bool(columns.pinned[at]),
                dict(columns.metas[at] or {}),
            )
        )
    return found


def micros(value: int | None) -> int:
    return MISSING if value is None else value


def optional(value: int) -> int | None:
    return None if value == MISSING else value
