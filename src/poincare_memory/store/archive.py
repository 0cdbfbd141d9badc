"""What a file of format 1 holds, whatever the container: settings and records, in order of insertion.

`archive_of` takes it from a store in one consistent moment; `filling.store_of` checks every value and builds a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..collector import CollectorPaused
from ..embed.specs import embedder_spec
from ..temporal.specs import policy_spec
from .metadata import copy_metadata
from .placement import LEARNT
from .state import FORMAT_VERSION, Store

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns

FORMAT = FORMAT_VERSION
SETTINGS_IN_FILES = (
    "base_depth",
    "depth_step",
    "inherit",
    "cone_constrained",
    "cone_k",
    "metric",
    "time_coef",
    "depth_bias",
)
# What format 1 does not know and its readers pass over; left out where it is this.
SETTINGS_OF_OURS = {"lexical_coef": 0.0}
# Fields of a record but for the vectors, as both containers name them.
FIELDS = (
    "id",
    "text",
    "parent",
    "t",
    "valid_from",
    "valid_until",
    "access_count",
    "last_accessed",
    "meta",
)
# What format 1 does not know: left out where a record has none of it.
EXTRAS = ("recorded_at", "pinned", "attached", "learned_depth")

Floats = NDArray[np.float64]


Block = tuple[Floats, NDArray[Any]]  # points and embeddings of consecutive records
BLOCK = 256  # records a block: a megabyte or so, so that what one step writes is in cache for the next
Result = TypeVar("Result")


def size_of(block: Block) -> int:
    """Bytes of its vectors."""
    return sum(vectors.nbytes for vectors in block)


@dataclass
class Archive:
    """Settings, one list a field (times as ISO 8601 strings), and the vectors in blocks, in the same order.

    `vectors` can be gone through once, and a block may be good until the next only. Where an archive is being read,
    the lists grow along with it and are complete at its end.
    """

    config: dict[str, Any]
    fields: dict[str, list[Any]]
    vectors: Iterable[Block]
    count: int
    positions: list[Any] | None = None  # serial numbers of the records, where they are to keep them


class Overtaken(Exception):
    """Memories were changed before they had been written."""


def written(store: Store, write: Callable[[Archive], Result]) -> Result:
    """What `write` makes of an archive that holds a store as it was in one moment.

    Vectors are read while they are being written: a copy of all of them would take as much memory again, and a lock
    would keep everybody waiting. Where somebody changes a memory before its turn, `write` is called again with a
    copy; what it had begun is void.
    """
    try:
        return write(archive_of(store, copied=False))
    except Overtaken:
        return write(archive_of(store, copied=True))


def archive_of(store: Store, copied: bool) -> Archive:
    """Everything a file holds, in one consistent moment; `Overtaken` may come out of vectors that are not copied.

    Points of memories without direction are written at the origin, those of deep levels with the largest norm
    below the ball's radius.
    """
    config = config_of(store)
    columns = store.columns
    with CollectorPaused(), store.reading():
        rows = columns.live_rows().copy()
        fields = _all_fields(columns, rows)
        vectors = _Vectors(columns, rows, store.ball.sqrt_c)
        if copied:
            vectors.copy()
    return Archive(config, fields, vectors, len(rows))


def texts_of(store: Store) -> dict[str, list[Any]]:
    """What `archive_of` gives but for the vectors: one list a field, in one consistent moment."""
    columns = store.columns
    with CollectorPaused(), store.reading():
        return _all_fields(columns, columns.live_rows())


class _Vectors:
    """Points and embeddings of rows as they are now, in blocks."""

    def __init__(self, columns: Columns, rows: Rows, sqrt_c: float) -> None:
        self._columns: Columns | None = columns
        self._rows = rows
        self._sqrt_c = sqrt_c
        self._version = columns.structure_version
        # Growing columns are replaced: what others add never shows in these.
        self._direction, self._radius = columns.direction, columns.radius
        self._embeddings: NDArray[Any] | None = None

    def copy(self) -> None:
        """Be free of what changes later; under the read lock."""
        rows = self._rows
        assert self._columns is not None
        self._direction, self._radius = self._direction[rows], self._radius[rows]
        self._embeddings = self._columns.embeddings(rows)
        self._rows, self._columns = np.arange(len(rows), dtype=np.int32), None

    def __iter__(self) -> Iterator[Block]:
        for start in range(0, len(self._rows), BLOCK):
            rows = self._rows[start : start + BLOCK]
            if self._columns is None:
                yield self._block(rows)
                continue
            with self._columns.lock.read():
                self._check_unchanged(self._columns)
                block = self._block(rows)
            yield block

    def _embeddings_of(self, rows: Rows) -> NDArray[Any]:
        if self._columns is not None:
            return self._columns.embeddings(rows)
        assert self._embeddings is not None
        return self._embeddings[rows]

    def _block(self, rows: Rows) -> Block:
        points = np.empty((len(rows), self._direction.shape[1]))
        _kernels.points_of_rows(self._direction, self._radius, rows, self._sqrt_c, points, 1)
        return points, self._embeddings_of(rows).astype(np.float64, copy=False)

    def _check_unchanged(self, columns: Columns) -> None:
        if columns.structure_version == self._version:
            return
        changed = columns.changed_rows(self._version)
        if changed is None or np.isin(self._rows, changed).any():
            raise Overtaken
        self._version = columns.structure_version


def fields_of(columns: Columns, rows: Rows) -> dict[str, list[Any]]:
    """What files hold of these rows, but for the vectors; under the read lock."""
    places, names, texts, metas = rows.tolist(), columns.ids, columns.texts, columns.metas
    fields: dict[str, list[Any]] = {
        "id": columns.names(rows),
        "text": [texts[row] for row in places],
        "parent": [names[parent] if parent >= 0 else None for parent in columns.parent[rows].tolist()],
        "meta": [checked_meta(metas[row], names[row]) if metas[row] else {} for row in places],
        "access_count": columns.access_count[rows].tolist(),
    }
    for name in ("t", "valid_from", "valid_until", "last_accessed", "recorded_at"):
        fields[name] = _kernels.instant_texts(getattr(columns, name)[rows])
    fields["pinned"] = [1 if pinned else None for pinned in columns.pinned[rows].tolist()]
    fields["learned_depth"] = learned_depths(columns, rows)
    return fields


def learned_depths(columns: Columns, rows: Rows) -> list[float | None]:
    learnt = columns.learnt[rows] == LEARNT
    if not learnt.any():
        return [None] * len(rows)
    depths = columns.radius[rows].tolist()
    return [depth if known else None for depth, known in zip(depths, learnt.tolist(), strict=True)]


def _all_fields(columns: Columns, rows: Rows) -> dict[str, list[Any]]:
    return fields_of(columns, rows) | {"attached": _attached(columns, rows)}


def _attached(columns: Columns, rows: Rows) -> list[int | None]:
    """Numbers that sort children which are not in order of insertion; None for all others."""
    parents, attached = columns.parent[rows], columns.attached[rows]
    by_parent = np.lexsort((np.arange(len(rows)), parents))
    parents, attached = parents[by_parent], attached[by_parent]
    late = (parents[1:] == parents[:-1]) & (parents[1:] >= 0) & (attached[1:] < attached[:-1])
    numbers: list[int | None] = [None] * len(rows)
    if late.any():
        disordered = np.flatnonzero(np.isin(parents, parents[1:][late]))
        in_order = by_parent[disordered[np.argsort(attached[disordered], kind="stable")]]
        for number, i in enumerate(in_order.tolist(), len(rows)):
            numbers[i] = number
    return numbers


def checked_meta(meta: dict[str, Any] | None, id: str | None) -> dict[str, Any]:
    """A checked copy: a live record's `meta` may hold anything by now."""
    return copy_metadata(meta, f"memory {id!r}: meta") or {}


def config_of(store: Store) -> dict[str, Any]:
    """Settings of a store as files hold them."""
    return {
        "format": FORMAT,
        "curvature": store.ball.c,
        "dim": store.columns.dim,
        **{name: getattr(store, name) for name in SETTINGS_IN_FILES},
        **{
            name: getattr(store, name)
            for name, usual in SETTINGS_OF_OURS.items()
            if getattr(store, name) != usual
        },
        "embedder": embedder_spec(store.embedder),
        "decay": policy_spec(store.decay),
    }
