"""The words of a store's texts, kept in step with its columns."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..retrieval.lexical import WordTable

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns


class StoreWords:
    """Built at the first search that asks for it; every later one takes in what was written since."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._table: WordTable | None = None
        self._version = -1
        self._known: list[str | None] = []  # the text of each row as the table has it
        self._process = os.getpid()

    def scores(self, columns: Columns, query: str) -> tuple[Rows, NDArray[np.float64]]:
        """Rows that share a word with `query`, ascending, and their BM25 scores; under the store's lock."""
        if self._process != os.getpid():  # a child must not use its parent's connection, nor its guard
            self.__init__()  # type: ignore[misc]
        with self._guard:
            return self._in_step(columns).scores(query)

    def _in_step(self, columns: Columns) -> WordTable:
        changed: Rows | None = None
        if self._table is not None:
            changed = columns.changed_rows(self._version)
        if self._table is None or changed is None:
            self._forget()
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

    def _take_in(self, table: WordTable, columns: Columns, changed: Rows) -> None:
        known, texts = self._known, columns.texts
        known.extend([None] * (columns.high_water - len(known)))
        moved = changed.tolist()
        order = columns.order
        new = {row: texts[row] if order[row] >= 0 else None for row in moved if row < len(texts)}
        fresh = [row for row, text in new.items() if text is not known[row]]
        table.drop(row for row in fresh if known[row] is not None)
        table.put((row, text) for row in fresh if (text := new[row]) is not None)
        for row in fresh:
            known[row] = new[row]
