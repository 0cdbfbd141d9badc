"""The words of a store's texts, kept in step with its columns; those of a large live store in a file beside it."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from ..retrieval.lexical import WordTable, spaced

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns

logger = logging.getLogger("poincare_memory")

IN_FILE_FROM: Final = 10_000  # texts: 100,000 of them take one to four seconds to be read into a new table
SUFFIX: Final = "-words"

_in_files: weakref.WeakSet[WordTable] = weakref.WeakSet()


def _abandon() -> None:
    """In a forked child: files are its parent's, and closing one would take the parent's log away."""
    for table in _in_files:
        table.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon)


class StoreWords:
    """Built at the first search that asks for it; every later one takes in what was written since.

    Rows of the table are serial numbers (`Columns.order`). Where the memories live in a file, the table of many texts
    is kept in a file beside it, by the first process that asks; another makes do with memory. It is compared with the
    texts, one by one, before it is used: whatever happened to either meanwhile, and the file may go at any time.
    """

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._table: WordTable | None = None
        self._file: Path | None = None  # where the table is
        self._forget()

    def _forget(self) -> None:
        self.close()
        self._file = None
        self._version = -1
        self._known: list[str | None] = []  # the text of each row as the table has it,
        self._orders: list[int] = []  # and where
        self._process = os.getpid()

    def close(self) -> None:
        """Let the table go."""
        with self._guard:
            table, self._table = self._table, None
            if table is not None:
                table.close()

    def scores(self, columns: Columns, query: str) -> tuple[Rows, NDArray[np.float64]]:
        """Rows that share a word with `query` and their BM25 scores, oldest first; under the store's lock."""
        if self._process != os.getpid():  # a child must not use its parent's connection, nor its guard
            self.__init__()  # type: ignore[misc]  # begins anew
        with self._guard:
            try:
                orders, scores = self._in_step(columns).scores(query)
            except sqlite3.DatabaseError:  # of a file: damaged, or on a disk that is full
                logger.warning("the table of words is made anew, in memory", exc_info=True)
                self._remove_file()
                orders, scores = self._in_step(columns, in_memory=True).scores(query)
        live = columns.live_rows()
        places = np.searchsorted(columns.order[live], orders)
        return np.ascontiguousarray(live[places]), scores

    def _remove_file(self) -> None:
        file = self._file
        self._forget()
        if file is not None:
            for suffix in ("", "-wal", "-journal"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{file}{suffix}")

    def _in_step(self, columns: Columns, in_memory: bool = False) -> WordTable:
        changed = None if self._table is None else columns.changed_rows(self._version)
        if self._table is None or changed is None:
            self._forget()
            self._table = None if in_memory else self._from_file(columns)
            if self._table is None:
                self._table = WordTable()
            changed = np.arange(columns.high_water, dtype=np.int32)
        if len(changed):
            try:
                self._take_in(self._table, columns, changed)
            except BaseException:
                self._forget()  # half in step is out of step
                raise
        self._version = columns.structure_version
        return self._table

    def _from_file(self, columns: Columns) -> WordTable | None:
        """The table beside the store's file, made to agree with the texts; None where it is to be in memory."""
        path: Path | None = getattr(columns.file, "path", None)
        if path is None or columns.n < IN_FILE_FROM:
            return None
        file = path.with_name(path.name + SUFFIX)
        try:
            if not file.exists():  # as open to others as the texts are
                os.close(os.open(file, os.O_CREAT | os.O_WRONLY, path.stat().st_mode & 0o777))
            table = WordTable(file)
        except (sqlite3.Error, OSError) as error:
            logger.info("%s is not used (%s): words are kept in memory", file, error)
            return None
        _in_files.add(table)
        self._table, self._file = table, file
        self._compare(table, columns)
        return table

    def _compare(self, table: WordTable, columns: Columns) -> None:
        """Note which rows the table has as they are; drop the others from it."""
        live = columns.live_rows()
        row_at = dict(zip(columns.order[live].tolist(), live.tolist(), strict=True))
        known: list[str | None] = [None] * columns.high_water
        texts, strange = columns.texts, []
        for order, there in table.texts():
            row = row_at.get(order)
            text = None if row is None else texts[row]
            if row is None or text is None or (text != there and spaced(text) != there):
                strange.append(order)
            else:
                known[row] = text
        table.drop(strange)
        self._known, self._orders = known, columns.order[: columns.high_water].tolist()

    def _take_in(self, table: WordTable, columns: Columns, changed: Rows) -> None:
        known, orders, texts = self._known, self._orders, columns.texts
        missing = columns.high_water - len(known)
        known.extend([None] * missing)
        orders.extend([-1] * missing)
        rows = changed[changed < len(texts)]
        now = dict(zip(rows.tolist(), columns.order[rows].tolist(), strict=True))
        new = {row: texts[row] if order >= 0 else None for row, order in now.items()}
        fresh = [row for row, text in new.items() if text is not known[row] or orders[row] != now[row]]
        if not fresh:
            return
        table.drop([orders[row] for row in fresh if known[row] is not None])
        table.put((now[row], text) for row in fresh if (text := new[row]) is not None)
        for row in fresh:
            known[row], orders[row] = new[row], now[row]
