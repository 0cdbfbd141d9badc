"""The records of a store that somebody holds: one object a row, as long as it is held."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from .stored_record import StoredRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .columns import Columns

LEAST_SWEEP = 1024  # so many records are remembered before the dead among them are looked for


class HeldRecords:
    """Weak references by row.

    Dead ones are swept out now and then: a `WeakValueDictionary`, which does it one by one, costs a search
    that returns ten records a third of its time. The columns own this and not the other way round: a cycle would keep
    all vectors of a store that nobody uses until the garbage collector comes by.
    """

    def __init__(self) -> None:
        self._by_row: dict[int, weakref.ref[StoredRecord]] = {}
        self._sweep_at = LEAST_SWEEP
        self._guard = threading.Lock()

    def held(self, row: int) -> StoredRecord | None:
        """The record of a row if somebody holds it."""
        reference = self._by_row.get(row)
        return None if reference is None else reference()

    def of(self, columns: Columns, row: int) -> StoredRecord:
        """The record of a row, made where nobody holds one."""
        found = self.held(row)
        if found is not None:
            return found
        with self._guard:
            found = self.held(row)
            if found is None:
                found = StoredRecord.bind(columns, row)
                self._by_row[row] = weakref.ref(found)
                if len(self._by_row) >= self._sweep_at:
                    self._sweep()
            return found

    def many(self, columns: Columns, rows: list[int]) -> list[StoredRecord]:
        """Records of rows, which may repeat: one turn of the guard for all."""
        by_row, bind = self._by_row, StoredRecord.bind
        found = []
        with self._guard:
            for row in rows:
                held = by_row.get(row)
                record = None if held is None else held()
                if record is None:
                    record = bind(columns, row)
                    by_row[row] = weakref.ref(record)
                found.append(record)
            if len(by_row) >= self._sweep_at:
                self._sweep()
        return found

    def rebind(self, row: int, record: StoredRecord) -> None:
        """A released record whose memory came back."""
        record.bind_again(row)
        self._by_row[row] = weakref.ref(record)

    def release(self, rows: list[int]) -> None:
        """Let records keep their last values: their rows are about to be freed."""
        for row in rows:  # all before any is freed: a record also reads its parent's row
            record = self.held(row)
            self._by_row.pop(row, None)
            if record is not None:
                record.release()

    def renumber(self, now: NDArray[np.int32]) -> None:
        """Rows have other numbers now."""
        held = [(row, record) for row in list(self._by_row) if (record := self.held(row)) is not None]
        self._by_row = {}
        for row, record in held:
            self.rebind(int(now[row]), record)

    def _sweep(self) -> None:
        self._by_row = {row: held for row, held in list(self._by_row.items()) if held() is not None}
        self._sweep_at = max(LEAST_SWEEP, 2 * len(self._by_row))
