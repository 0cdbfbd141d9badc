"""The store's truth: one array a field, a row a memory.

A memory's place is its unit `direction` and its hyperbolic `radius`; points are derived. Rows are found by
`row_of`, freed rows (`order == -1`) are used again, so row numbers are no order: `order` is.

Everything here expects the store's lock: readers the shared side, the methods that change anything the
exclusive side. Arrays are replaced when they grow: take local references under the lock, once a call.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from .arrays import LEAST_CAPACITY, MISSING, RowOf, Rows
from .arrays import SCALARS as SCALARS
from .arrays import VECTORS as VECTORS
from .changes import Change
from .filtered_keys import FilteredKeys
from .live_rows import JOURNAL_LENGTH, LiveRows
from .lock import SharedLock
from .records import SLOTS, Hit, SearchResult
from .room import InMemory
from .stored_record import StoredRecord

if TYPE_CHECKING:
    from .changes import ClosedFile
    from .livefile import LiveFile
    from .room import Room


class Columns(LiveRows):
    """All memories of one store: their rows, what is noted when they change, their records.

    Attributes
    ----------
    undo : UndoLog or None
        Of the transaction that is under way.
    file : LiveFile or None
        What keeps these memories, where a file does.
    """

    def __init__(self, dim: int, lock: SharedLock | None = None, room: Room | None = None) -> None:
        super().__init__(dim, room)
        self.lock = SharedLock() if lock is None else lock
        self.file: LiveFile | ClosedFile | None = None
        self._meta_guard = threading.Lock()
        self._filtered: FilteredKeys | None = None  # once a filter asked for it

    # --- changes --------------------------------------------------------------------------------------

    def before(self, rows: Rows, *names: str) -> None:
        """Say, under the write lock, that these fields of these rows are about to change."""
        if self._filtered is not None and "meta" in names:
            self._filtered.changed(rows)
        if "parent" in names:
            self.hold_embeddings(rows)
        if self.undo is not None:
            aged = ("aged_from",) if "t" in names or "pinned" in names else ()
            self.undo.keep(rows, (*names, *aged))

    def new_metadata(self, rows: Rows) -> None:
        """Note that the metadata of these rows is another, whoever put it there; under the write lock."""
        if self._filtered is not None:
            self._filtered.changed(rows)

    def filtered_keys(self) -> FilteredKeys:
        """Columns of keys that filters ask for; under the read lock."""
        with self._meta_guard:
            if self._filtered is None:
                self._filtered = FilteredKeys()
            return self._filtered

    def changing(self) -> AbstractContextManager[None]:
        """Context of every change: alone and, in a transaction or a live store, whole or not at all."""
        if self.undo is None and self.file is None:
            return self.lock.write()
        return Change(self)

    def moving(self) -> Change:
        """Context of a change of whole branches, which Ctrl-C may end midway: not at all then, in memory too."""
        return Change(self)

    def set_age(self, rows: Rows | slice) -> None:
        """Follow what `t` and `pinned` of these rows are now."""
        self.aged_from[rows] = np.where(self.pinned[rows] == 1, _kernels.LATEST_INSTANT, self.t[rows])

    def changed(self) -> None:
        """Note that values changed, but no point."""
        self.value_version += 1

    # --- records --------------------------------------------------------------------------------------

    def meta(self, row: int) -> dict[str, Any]:
        """The live metadata dict of a row."""
        meta = self.metas[row]
        if meta is None:
            with self._meta_guard:  # readers are many
                meta = self.metas[row]
                if meta is None:
                    meta = self.metas[row] = {}
        if self._filtered is not None:
            self._filtered.handed_out(row)
        if self.undo is not None and self.lock.written_by_me():
            self.undo.keep_meta(meta)
        if self.file is not None:
            self.file.waiting.handed_out(int(self.order[row]), meta)
        return meta

    def record(self, row: int) -> StoredRecord:
        """The live record of a row: the same object as long as somebody holds it."""
        return self._records.of(self, row)

    def held_record(self, row: int) -> StoredRecord | None:
        """The record of a row if somebody holds it."""
        return self._records.held(row)

    def rebind(self, row: int, record: StoredRecord) -> None:
        """A released record whose memory came back."""
        self._records.rebind(row, record)

    def records(self, rows: Rows | Sequence[int]) -> list[StoredRecord]:
        """Live records of rows, which may repeat."""
        return self._records.many(self, np.asarray(rows).tolist())

    def results(self, found: list[list[Hit]], rows: Rows | None) -> list[list[SearchResult]]:
        """A result for each hit; its position is one in `rows`, where these are given, or a row."""
        return _kernels.search_results(SearchResult, SLOTS, self._records, self, found, rows, self.radius)

    def change(self, record: StoredRecord, name: str, value: Any) -> None:
        """Write one field through a record (a removed record changes only itself)."""
        with self.changing():
            if not record.is_live():
                record.change_last(name, value)
                return
            row = record.row
            self.before(np.array([row], np.int32), name)
            if name == "meta":
                self.metas[row] = value
            else:
                if name in ("valid_from", "valid_until"):
                    other = self.valid_until if name == "valid_from" else self.valid_from
                    bound = int(other[row])
                    first, last = (value, bound) if name == "valid_from" else (bound, value)
                    check_window(first, last, f"memory {self.ids[row]!r}")
                getattr(self, name)[row] = value
                self.set_age(slice(row, row + 1))
            self.changed()

    def touch(self, rows: Rows, orders: NDArray[np.int64], now: int) -> None:
        """Count an access of each row that still holds the memory with this serial number; rows may repeat."""
        with self.lock.write():
            rows, there = self.found_again(rows, orders)
            rows = rows[there]
            if self.undo is not None:
                self.undo.keep(rows, ("access_count", "last_accessed"), persist=False)
            np.add.at(self.access_count, rows, 1)
            self.last_accessed[rows] = now
            self.changed()
            if self.file is not None:
                self.file.waiting.touched(orders[there].tolist(), now, self.undo)
        if self.file is not None:
            self.file.flush_if_due(self)

    # --- copies ---------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock and the records, copied; the caller holds the lock."""
        state = {
            k: v
            for k, v in self.__dict__.items()
            if k not in ("lock", "undo", "file", "_records", "_meta_guard", "_filtered", "_journal", "writer")
        }
        used = self.high_water
        for name in SCALARS:
            state[name] = state[name][: max(used, LEAST_CAPACITY)].copy()
        state |= self._packed_vectors(np.arange(used, dtype=np.int32), len(state["order"]))
        del state["writer"]
        state["_held"] = dict(self._held)
        for name in ("ids", "texts", "metas", "_free_rows"):
            state[name] = list(state[name])

        state["row_of"] = RowOf(self.row_of)
        state["_live"] = self.live_rows().copy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._settle_in()
        self.undo = self.file = None
        self._live_count = self.n
        self._journal = deque(maxlen=JOURNAL_LENGTH)
        self._records = _kernels.HeldRecords(StoredRecord)
        self.writer = _kernels.RowWriter(isinstance(self.room, InMemory))
        self._meta_guard = threading.Lock()
        self._filtered = None


def check_window(valid_from: int, valid_until: int, where: str) -> None:
    """Refuse a validity window that ends before it begins (UTC microseconds)."""
    if MISSING not in (valid_from, valid_until) and valid_until < valid_from:
        raise ValueError(f"{where}: valid_until lies before valid_from, so it would never be valid")
