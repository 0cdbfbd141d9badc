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
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from .arrays import LEAST_CAPACITY, MISSING, SCALARS, RowOf, Rows, span_of
from .arrays import VECTORS as VECTORS
from .changes import Change
from .filtered_keys import FilteredKeys
from .held_records import HeldRecords
from .lock import SharedLock
from .stored_record import StoredRecord
from .tree_links import TreeLinks
from .undo import LINKS

if TYPE_CHECKING:
    from .changes import ClosedFile
    from .livefile import LiveFile
    from .placement import Rule
    from .room import Room

JOURNAL_LENGTH = 1024


class Columns(TreeLinks):
    """All memories of one store.

    Attributes
    ----------
    ids, texts, metas : lists of length `high_water`
        None in freed rows; None in `metas` also stands for {}.
    row_of : RowOf
        id -> row, in order of insertion.
    structure_version, value_version : int
        Counts of changes: the first of those in which rows appeared, vanished or moved (see `changed_rows`),
        the second of all. A `meta` changed in place through a record counts as neither.
    undo : UndoLog or None
        Of the transaction that is under way.
    file : LiveFile or None
        What keeps these memories, where a file does.
    """

    def __init__(self, dim: int, lock: SharedLock | None = None, room: Room | None = None) -> None:
        super().__init__(dim, room)
        self.lock = SharedLock() if lock is None else lock
        self.file: LiveFile | ClosedFile | None = None
        self.structure_version = self.value_version = 0
        self.texts: list[str | None] = []
        self.metas: list[dict[str, Any] | None] = []
        self.row_of = RowOf()
        self._next_order = 0
        self._journal: deque[tuple[int, Rows | int]] = deque(maxlen=JOURNAL_LENGTH)
        self._emptied_at = 0  # structure_version at which the last memory went
        self._dense = True  # row numbers are the order of insertion
        self._live = np.arange(0, dtype=np.int32)
        self._live_count: int | None = 0  # None: `_live` is out of date
        self._compacted = False  # row numbers of memories may have changed
        self._records = HeldRecords()
        self._meta_guard = threading.Lock()
        self._filtered: FilteredKeys | None = None  # once a filter asked for it

    # --- rows -----------------------------------------------------------------------------------------

    def row(self, id: str) -> int:
        """Row of a memory; KeyError for an unknown id."""
        return self.row_of[id]

    def dense(self) -> bool:
        """True when ``live_rows()`` is ``arange(high_water)``: nothing was ever removed."""
        return self._dense

    def live_rows(self) -> Rows:
        """Rows of all memories in order of insertion; read-only, valid until the next change."""
        if self._live_count is None:
            rows = np.flatnonzero(self.order[: self.high_water] >= 0).astype(np.int32)
            # Set in one step each, the count last: another reader may be doing the same.
            self._live = rows[np.argsort(self.order[rows], kind="stable")]
            self._live_count = self.n
        live = self._live[: self.n]
        live.flags.writeable = False
        return live

    def allocate(self, count: int, orders: NDArray[np.int64] | None = None) -> Rows:
        """`count` blank rows with consecutive (or these increasing) `order`; the caller fills them.

        After given serial numbers that are not beyond all others, `resort` is due once `row_of` is set.
        """
        self.reserve(count)
        used, n, free = self.high_water, self.n, len(self._free_rows)
        steps = 0 if self.undo is None else self.undo.length
        reused = self._free_rows[: -count - 1 : -1]
        fresh = count - len(reused)
        rows = np.arange(used - len(reused), used + fresh, dtype=np.int32)
        if reused:
            rows[: len(reused)] = reused
        try:
            for column in (self.ids, self.texts, self.metas):
                column.extend([None] * fresh)
            self.high_water += fresh
            self.number(rows, orders)
            self._append_live(rows)
            self.n += count
            self._changed_structure(rows)
            del self._free_rows[free - len(reused) :]
            if self.undo is not None:
                self.undo.allocated(rows)
            return rows
        except BaseException:  # a KeyboardInterrupt: nobody knows of these rows yet
            if self.undo is not None and self.undo.length > steps:
                raise  # but the log
            self._take_back_new(rows, used, n, free, reused[::-1])
            raise

    def append(
        self,
        id: str,
        text: str,
        meta: dict[str, Any] | None,
        above: int,
        t: int,
        valid_from: int,
        valid_until: int,
        recorded_at: int,
        pinned: bool,
        embeddings: NDArray[Any],
        rule: Rule,
    ) -> None:
        """One new memory below a row (-1: a root), in its place, with its embedding, (1, dim): whole or not at all."""
        self.reserve(1, embeddings.dtype)
        if self._written is not None and not len(self._written):
            self.start_embeddings(embeddings.dtype)
        if self._live_count is not None and self.n == len(self._live):
            self._grow_live(self.n + 1)
        add, undo = self._writer.append, self.undo
        if undo is None:
            add(
                self, id, text, meta, above, t, valid_from, valid_until, recorded_at, pinned, embeddings, rule
            )
            return
        steps = undo.length
        try:
            row = add(
                self, id, text, meta, above, t, valid_from, valid_until, recorded_at, pinned, embeddings, rule
            )
            undo.allocated(np.array((row,), np.int32))
        except BaseException:  # a KeyboardInterrupt before the log knew
            if undo.length == steps and id in self.row_of:
                self.discard(np.array((self.row_of[id],), np.int32))
            raise

    def _take_back_new(self, rows: Rows, used: int, n: int, free: int, reused: list[int]) -> None:
        """As if `rows` had not been made: `used` rows, `n` live, `free` free ones, the last of which were `reused`."""
        self._free_rows[free - len(reused) :] = reused
        self.order[rows] = -1
        self.high_water, self.n, self._live_count = used, n, None
        for column in (self.ids, self.texts, self.metas):
            del column[used:]

    def number(self, rows: Rows, orders: NDArray[np.int64] | None) -> None:
        """Give new rows these serial numbers, or the next ones."""
        count = len(rows)
        if orders is not None:
            if count and orders[0] < self._next_order:
                self._live_count, self._dense = None, False
            self.order[rows] = self.attached[rows] = orders
            self._next_order = max(self._next_order, int(orders[-1]) + 1) if count else self._next_order
            return
        if count == 1:  # a scalar store is several times cheaper
            self.order[rows[0]] = self.attached[rows[0]] = self._next_order
        else:
            self.order[rows] = self.attached[rows] = np.arange(self._next_order, self._next_order + count)
        self._next_order += count

    def next_order(self) -> int:
        """A serial number of its own."""
        self._next_order += 1
        return self._next_order - 1

    def last_order(self) -> int:
        """The largest serial number there may be, or -1."""
        return self._next_order - 1

    def reserve_orders(self, least: int) -> None:
        """Draw no serial number below `least`."""
        self._next_order = max(self._next_order, least)

    def resort(self) -> None:
        """Put everything that is sorted by `order` in order again, whatever rows came and went."""
        used = self.order[: self.high_water]
        free = np.flatnonzero(used < 0).tolist()
        waiting = set() if self.undo is None else set(self.undo.freed)
        self._free_rows = [row for row in free if row not in waiting]
        self._dense, self._live_count = False, None
        self.n = self.high_water - len(free)
        self.row_of = RowOf((self.name(row), row) for row in self.live_rows().tolist())

    def _append_live(self, rows: Rows) -> None:
        if self._live_count is None:
            return
        end = self.n + len(rows)
        if end > len(self._live):
            self._grow_live(end)
        if len(rows) == 1:  # a scalar store is several times cheaper
            self._live[self.n] = rows[0]
        else:
            self._live[self.n : end] = rows
        self._live_count = end

    def _grow_live(self, needed: int) -> None:
        grown = np.empty(max(needed, self.capacity), np.int32)
        grown[: self.n] = self._live[: self.n]
        self._live = grown

    def free(self, rows: Rows) -> None:
        """Forget a memory and, in `rows` after it, everything below it."""
        n, free = self.n, len(self._free_rows)
        if self.undo is not None:
            self.undo.freeing(rows)
        try:
            self._release(rows)
        except BaseException:  # a KeyboardInterrupt: a leaf goes without a log, so it goes whole
            if self.undo is None and self.high_water:
                self.n = n
                del self._free_rows[free:]
                self._release(rows)
            raise

    def _release(self, rows: Rows) -> None:
        self._records.release(rows.tolist())
        self.detach(int(rows[0]))
        for row in rows.tolist():
            id = self.ids[row]
            if id is not None:
                self.row_of.pop(id, None)
        self._blank(rows, keep_free=self.undo is not None)

    def discard(self, rows: Rows) -> None:
        """Undo `allocate`, whatever has been filled in since."""
        self._records.release(rows.tolist())
        _kernels.detach_rows(rows, *self._links())
        for row in rows.tolist():
            id = self.ids[row]
            if id is not None and self.row_of.get(id) == row:
                del self.row_of[id]
        self._blank(rows)

    def _blank(self, rows: Rows, keep_free: bool = False) -> None:
        for row in rows.tolist():
            self.ids[row] = self.texts[row] = self.metas[row] = None
        if not keep_free:
            self._free_rows.extend(rows.tolist())
        self._drop_embeddings(rows)
        at = int(rows[0]) if len(rows) == 1 else rows  # a scalar store is several times cheaper
        for name, (_, blank) in SCALARS.items():
            getattr(self, name)[at] = blank
        self.n -= len(rows)
        self._dense, self._live_count = False, None
        self._changed_structure(rows)
        if self.n == 0 and self.undo is None:
            self.start_over()

    def end_undo(self) -> None:
        """The log is used up: its rows may be used again."""
        assert self.undo is not None
        self._free_rows.extend(self.undo.freed)
        self.undo.end()
        self.undo = None
        if self.n == 0 and self.high_water:
            self.start_over()

    def start_over(self) -> None:
        """Give back what no memory uses any more; only when there is none."""
        self._forget_embeddings(np.float32)
        self.high_water = 0
        self._free_rows.clear()
        self.ids.clear()
        self.texts.clear()
        self.metas.clear()
        self._live = np.arange(self.capacity, dtype=np.int32)
        self._dense, self._live_count = True, 0
        self._emptied_at = self.structure_version

    def compact(self) -> None:
        """Give back the room of what was removed: rows in order of insertion, arrays of their length.

        Row numbers change: who keeps some over the lock asks `found_again`.
        """
        rows, n = self.live_rows().copy(), self.n
        now = np.full(self.high_water + 1, -1, np.int32)  # the last place is that of "no row"
        now[rows] = np.arange(n, dtype=np.int32)
        packed: dict[str, Any] = {}
        for name in SCALARS:
            column = getattr(self, name)[rows]
            packed[name] = now[column] if name in LINKS else column
        packed |= self._packed_vectors(rows, n)
        packed["_held"] = {int(now[row]): embedding for row, embedding in self._held.items()}
        places = rows.tolist()
        for name in ("ids", "texts", "metas"):
            values = getattr(self, name)
            packed[name] = [values[row] for row in places]
        packed["row_of"] = RowOf(zip(self.row_of, range(n), strict=True))
        packed |= {"high_water": n, "_free_rows": [], "_dense": True, "_compacted": True}
        packed |= {"_live": np.arange(n, dtype=np.int32), "_live_count": n}
        version = self.structure_version + 1
        packed |= {
            "structure_version": version,
            "value_version": self.value_version + 1,
            "_emptied_at": version,
        }
        vars(self).update(packed)  # in one step: Ctrl-C comes before it or after
        self._records.renumber(now)

    def found_again(self, rows: Rows, orders: NDArray[np.int64]) -> tuple[Rows, NDArray[np.bool_]]:
        """Where memories are that had these rows and serial numbers under an earlier lock, and which still are."""
        there = rows < self.capacity
        there[there] = self.order[rows[there]] == orders[there]
        if not self._compacted or there.all():
            return rows, there
        live = self.live_rows()
        at = np.minimum(np.searchsorted(self.order[live], orders), max(len(live) - 1, 0))
        if len(live) == 0:
            return rows, np.zeros(len(rows), bool)
        found = np.ascontiguousarray(live[at])
        return found, self.order[found] == orders

    def set_objects(
        self,
        rows: Rows,
        ids: list[str],
        texts: list[str],
        metas: list[dict[str, Any] | None],
    ) -> None:
        """Names and contents of new rows."""
        places, span = rows.tolist(), span_of(rows)
        if span is not None:
            self.ids[span], self.texts[span], self.metas[span] = ids, texts, metas
        else:
            for row, id, text, meta in zip(places, ids, texts, metas, strict=True):
                self.ids[row], self.texts[row], self.metas[row] = id, text, meta
        self.row_of.update(zip(ids, places, strict=True))

    def _changed_structure(self, rows: Rows) -> None:
        self.structure_version += 1
        self.value_version += 1
        self.changed_at[rows if len(rows) != 1 else rows[0]] = self.structure_version
        self._journal.append((self.structure_version, rows))

    def moved(self, rows: Rows) -> None:
        """Note that the points of these rows changed."""
        self._changed_structure(rows)

    def changed_rows(self, since: int) -> Rows | None:
        """Rows that appeared, vanished or moved after `structure_version` was `since`, each once, ascending.

        None where the store was empty in between: then no row is what it was. The journal answers for the last
        changes at once, the `changed_at` column for older ones.
        """
        missed = self.structure_version - since
        if missed == 0:
            return np.empty(0, np.int32)
        if since < self._emptied_at:
            return None
        if missed > len(self._journal):
            return np.flatnonzero(self.changed_at[: self.high_water] > since).astype(np.int32)
        recent = [np.atleast_1d(rows) for version, rows in islice(reversed(self._journal), missed)]
        return np.unique(np.concatenate(recent)).astype(np.int32)

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
            if k
            not in ("lock", "undo", "file", "_records", "_meta_guard", "_filtered", "_journal", "_writer")
        }
        used = self.high_water
        for name in SCALARS:
            state[name] = state[name][: max(used, LEAST_CAPACITY)].copy()
        state |= self._packed_vectors(np.arange(used, dtype=np.int32), len(state["order"]))
        del state["_writer"]
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
        self._records = HeldRecords()
        self._writer = _kernels.RowWriter()
        self._meta_guard = threading.Lock()
        self._filtered = None


def check_window(valid_from: int, valid_until: int, where: str) -> None:
    """Refuse a validity window that ends before it begins (UTC microseconds)."""
    if MISSING not in (valid_from, valid_until) and valid_until < valid_from:
        raise ValueError(f"{where}: valid_until lies before valid_from, so it would never be valid")
