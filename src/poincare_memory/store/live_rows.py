"""Rows that come and go: which hold a memory, in which order, and which of them moved since when."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..distinct import distinct
from .arrays import SCALARS, RowOf, Rows, span_of
from .stored_record import StoredRecord
from .tree_links import TreeLinks
from .undo import LINKS

if TYPE_CHECKING:
    from .room import Room

JOURNAL_LENGTH = 1024


class LiveRows(TreeLinks):
    """Memories by row and by id, in order of insertion.

    A serial number (`order`) is a memory's alone, while a freed row (`order == -1`) is used again.

    Attributes
    ----------
    ids, texts, metas : lists of length `high_water`
        None in freed rows; None in `metas` also stands for {}.
    row_of : RowOf
        id -> row, in order of insertion.
    structure_version, value_version : int
        Counts of changes: the first of those in which rows appeared, vanished or moved (see `changed_rows`),
        the second of all. A `meta` changed in place through a record counts as neither.
    """

    def __init__(self, dim: int, room: Room | None = None) -> None:
        super().__init__(dim, room)
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
        self._records = _kernels.HeldRecords(StoredRecord)

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

    def make_room_for_one(self, embedding_dtype: Any) -> None:
        """Make room for one more memory, in whatever there is one of a row."""
        self.reserve(1, embedding_dtype)
        if self._written is not None and not len(self._written):
            self.start_embeddings(embedding_dtype)
        if self._live_count is not None and self.n == len(self._live):
            self._grow_live(self.n + 1)

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
        return distinct(np.concatenate(recent)).astype(np.int32)
