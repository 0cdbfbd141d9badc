"""How a change takes itself back: images of rows from before it, put back in reverse.

A log lives as long as a transaction (a single edit of a live store is one). It also tells which memories were
born, gone or changed, and in what, so that the file behind the store can be brought up to date.
"""

from __future__ import annotations

import contextlib
import copy
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from types import FrameType

    from .arrays import Rows
    from .columns import Columns

# What of a memory changed, as bits.
BORN: Final = 1
VALUES: Final = 2  # text, metadata, times
PARENT: Final = 4
POINT: Final = 8
EMBEDDING: Final = 16
COUNTS: Final = 32  # set by hand; those of searches are counted apart
EXTRA: Final = 64  # what format 1 does not hold

LINKS: Final = ("parent", "first_child", "last_child", "next_sibling", "prev_sibling")
PLACE: Final = ("direction", "radius", "level", "directed", "learnt")
_VECTORS: Final = {"direction", "embedding"}
_MIXED_FROM: Final = {"direction", "parent"}
_LISTS: Final = {"text": "texts", "meta": "metas"}
_BITS: Final = {
    "text": VALUES,
    "meta": VALUES,
    "t": VALUES,
    "valid_from": VALUES,
    "valid_until": VALUES,
    "parent": PARENT,
    "direction": POINT,
    "embedding": EMBEDDING,
    "access_count": COUNTS,
    "last_accessed": COUNTS,
    "attached": EXTRA,
    "pinned": EXTRA,
    "recorded_at": EXTRA,
}


class Mark:
    """Where a memory that was touched is, or was, and in what it changed."""

    __slots__ = ("bits", "row")

    def __init__(self, row: int, bits: int) -> None:
        self.row = row
        self.bits = bits


class UndoLog:
    """Under the write lock, for the columns it was made for.

    Attributes
    ----------
    marks : dict
        Serial number of a memory (`Columns.order`) -> `Mark`, for all that were born or changed or are gone;
        empty where no file has to learn of them.
    settings : dict
        Settings of the store that were set.
    embedder : dict or None
        Identity of the embedder that was set.
    freed : list of int
        Rows that were freed. Their vectors stay where they are, so none is used again before the log ends.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._steps: list[Callable[[], None]] = []
        self._metas: dict[int, dict[str, Any]] = {}  # handed out, by identity
        self._undoing = self._came_back = False
        self.marks: dict[int, Mark] = {}
        self.settings: dict[str, Any] = {}
        self.embedder: dict[str, Any] | None = None
        self.freed: list[int] = []

    def step(self, take_back: Callable[[], None]) -> None:
        """Note how something outside the columns is taken back."""
        self._steps.append(take_back)

    def mark(self, rows: Rows, bits: int) -> None:
        if self._columns.file is None:
            return
        marks = self.marks
        for order, row in zip(self._columns.order[rows].tolist(), rows.tolist(), strict=True):
            known = marks.get(order)
            if known is None:
                marks[order] = Mark(row, bits)
            else:
                known.bits |= bits

    def keep(self, rows: Rows, names: Iterable[str], persist: bool = True) -> None:
        """These fields of these rows are about to change; `persist` False: the file learns of it elsewhere."""
        columns, bits = self._columns, 0
        if "meta" in names:
            columns.new_metadata(rows)
        names = tuple(names)
        images: list[tuple[str, Any]] = []
        for name in names:
            bits |= _BITS.get(name, 0)
        if columns.folds and "embedding" not in names and not _MIXED_FROM.isdisjoint(names):
            names = (*names, "embedding")  # it is lost with them
        for name in names:
            if name in _LISTS:
                values = getattr(columns, _LISTS[name])
                images.append((_LISTS[name], [values[row] for row in rows.tolist()]))
            elif name == "embedding":
                images.append((name, columns.embeddings(rows)))
            else:
                images.append((name, getattr(columns, name)[rows]))
        if persist:
            self.mark(rows, bits)
        self._steps.append(lambda: self._put_back(rows, images))

    def keep_links(self, rows: Iterable[int]) -> None:
        """Tree links of these rows are about to change; -1 among them is ignored."""
        if self._undoing:
            return
        unique = np.array(sorted({row for row in rows if row >= 0}), np.int32)
        images = [(name, getattr(self._columns, name)[unique]) for name in LINKS]
        self._steps.append(lambda: self._put_back(unique, images))

    def keep_meta(self, meta: dict[str, Any]) -> None:
        """A metadata dict is handed out: it may be changed in place."""
        if id(meta) not in self._metas:
            self._keep_contents(meta)

    def _keep_contents(self, meta: dict[str, Any]) -> None:
        before = copy.deepcopy(meta)

        def put_back() -> None:
            meta.clear()
            meta.update(before)

        self._metas[id(meta)] = meta
        self._steps.append(put_back)

    def begin_part(self) -> int:
        """Where a part begins that may be taken back alone: an argument for `back_to`."""
        start = len(self._steps)
        for meta in list(self._metas.values()):  # whoever was given one may change it again
            self._keep_contents(meta)
        return start

    def allocated(self, rows: Rows) -> None:
        """These rows were just made."""
        kept = rows.copy()
        orders = self._columns.order[kept].tolist() if self._columns.file is not None else []
        for order, row in zip(orders, kept.tolist(), strict=False):
            self.marks[order] = Mark(row, BORN)

        def take_back() -> None:
            self._columns.discard(kept)
            if self._columns.file is not None:
                for order in orders:
                    self._columns.file.waiting.forget(order)

        self._steps.append(take_back)

    @property
    def length(self) -> int:
        """How many steps there are to take back."""
        return len(self._steps)

    def freeing(self, rows: Rows) -> None:
        """These rows are about to be freed."""
        self.mark(rows, 0)
        freed = FreedRows(self._columns, rows.copy())
        start = len(self.freed)

        def put_back() -> None:
            freed.put_back()
            del self.freed[start:]
            self._came_back = True

        self._steps.append(put_back)
        # After the step: a live row among these would be given to another memory.
        self.freed.extend(rows.tolist())

    def back_to(self, length: int) -> None:
        """Take back all but the first `length` steps."""
        with ctrl_c_held_back():
            self._undoing, self._came_back = True, False
            try:
                while len(self._steps) > length:
                    self._steps.pop()()
            finally:
                self._undoing = False
            if self._came_back:
                self._columns.resort()

    def _put_back(self, rows: Rows, images: list[tuple[str, Any]]) -> None:
        columns = self._columns
        # It may need a file: not for what is not written there.
        if any(name in _VECTORS for name, _ in images):
            columns.own_vectors()
        for name, image in images:
            if name == "metas":
                columns.new_metadata(rows)
            if isinstance(image, list):
                values = getattr(columns, name)
                for row, value in zip(rows.tolist(), image, strict=True):
                    values[row] = value
            elif name == "embedding":
                columns.hold_embeddings(rows, image)
            else:
                getattr(columns, name)[rows] = image
        if any(name == "direction" for name, _ in images):
            columns.moved(rows)
        else:
            columns.changed()

    def end(self) -> None:
        """No more steps are taken back: let go of what they keep, which this log is part of."""
        self._steps.clear()
        self._metas.clear()


@contextlib.contextmanager
def ctrl_c_held_back() -> Iterator[None]:
    """Ctrl-C comes after the block: what is taken back halfway is lost. (Signals reach the main thread only.)"""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])


class FreedRows:
    """Everything about rows that are about to be freed, but for vectors, which stay where they are."""

    def __init__(self, columns: Columns, rows: Rows) -> None:
        self._columns = columns
        self._rows = rows
        places = rows.tolist()
        self._ids = [columns.ids[row] for row in places]
        self._texts = [columns.texts[row] for row in places]
        self._metas = [columns.metas[row] for row in places]
        self._scalars: dict[str, NDArray[Any]] = {
            name: getattr(columns, name)[rows] for name in columns.scalar_names()
        }
        self._held, self._folded = columns.held_embeddings(rows), columns.folds
        self._records = {row: record for row in places if (record := columns.held_record(row)) is not None}

    def put_back(self) -> None:
        """Rows as they were; afterwards `Columns.resort` is due."""
        columns = self._columns
        for row, id, text, meta in zip(self._rows.tolist(), self._ids, self._texts, self._metas, strict=True):
            columns.ids[row], columns.texts[row], columns.metas[row] = id, text, meta
        for name, image in self._scalars.items():
            getattr(columns, name)[self._rows] = image
        columns.take_back_freed(self._rows, self._held, self._folded)
        for row, record in self._records.items():
            columns.rebind(row, record)
        columns.moved(self._rows)
