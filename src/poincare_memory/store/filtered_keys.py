"""Metadata keys that filters ask for again and again, each in a column that every write is taken into.

What may have changed is read again before a column answers: rows that came, went or moved (the columns' journal),
rows that got other metadata (`changed`), and rows whose metadata dict was handed out, as long as anybody holds it or
a part of it, since it may be changed in place.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..retrieval.conditions import Truth, values_under
from ..retrieval.key_column import PLAIN, KeyColumn
from .filtered_fields import field_truth

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns

    Mask = NDArray[np.uint8]

USES: Final = 2  # filters on a key until it gets a column
MOST_KEYS: Final = 32
LEAST_CANDIDATES: Final = 1000  # fewer are looked at one by one
SLACK: Final = 1000  # entries of a column's table, beyond two a row, that no memory has any more


class FilteredKeys:
    """Of one store; its columns call `changed` and `handed_out`, filters `using`."""

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._uses: dict[Any, int] = {}
        self._kept: dict[Any, KeyColumn] = {}  # those used last at the end
        self._version = -1
        self._stale: set[int] = set()
        self._exposed: set[int] = set()

    def changed(self, rows: Rows) -> None:
        """These rows get other metadata; under the write lock."""
        self._stale.update(rows.tolist())

    def handed_out(self, row: int) -> None:
        """Its metadata dict, which the caller holds, may be changed in place from now on."""
        self._exposed.add(row)

    def _find_exposed(self, columns: Columns) -> None:
        """Rows whose metadata somebody holds already."""
        metas = columns.metas
        self._exposed.update(row for row in range(len(metas)) if _is_held(metas, row))

    def using(self, columns: Columns, rows: Rows | None, count: int, ask: Callable[[Lookup], Mask]) -> Mask:
        """What `ask` makes of the columns, for these rows or the first `count`; under the read lock."""
        with self._guard:
            try:
                self._catch_up(columns)
            except BaseException:  # a KeyboardInterrupt: half in step is out of step
                self._kept.clear()
                raise
            return ask(Lookup(self, columns, rows, count))

    def column(self, columns: Columns, key: Any, counted: set[Any]) -> KeyColumn | None:
        """The column of a key; None until it was asked for often enough. `counted`: keys of this filter."""
        found = self._kept.pop(key, None)
        if found is None:
            if key not in counted:
                counted.add(key)
                self._uses[key] = self._uses.get(key, 0) + 1
            if self._uses[key] < USES:
                self._forget_rare()
                return None
            if not self._kept:
                self._find_exposed(columns)
            found = KeyColumn(columns.high_water)
            found.put(range(columns.high_water), values_under(key, columns.metas))
        self._kept[key] = found
        if len(self._kept) > MOST_KEYS:
            oldest = next(iter(self._kept))
            del self._kept[oldest], self._uses[oldest]
        return found

    def _forget_rare(self) -> None:
        if len(self._uses) > 100 * MOST_KEYS:  # a filter on ever new keys
            self._uses = dict.fromkeys(self._kept, USES)

    def _catch_up(self, columns: Columns) -> None:
        changed = columns.changed_rows(self._version)
        self._version = columns.structure_version
        if changed is None or not self._kept:  # read anew when a filter asks
            self._kept.clear()
            self._stale.clear()
            self._exposed.clear()
            return
        exposed = list(self._exposed)
        if not len(changed) and not self._stale and not exposed:
            return
        self._exposed.difference_update(exposed)  # whoever is handed one out meanwhile adds it again
        rows = sorted(
            {row for row in (*changed.tolist(), *self._stale, *exposed) if row < columns.high_water}
        )
        self._stale.clear()
        self._read(columns, rows)
        # An undone change may have given a memory back the very dict that somebody holds.
        self._exposed.update(row for row in rows if _is_held(columns.metas, row))

    def _read(self, columns: Columns, rows: list[int]) -> None:
        metas = [columns.metas[row] for row in rows]
        for key, column in list(self._kept.items()):
            if column.distinct > 2 * columns.n + SLACK:
                del self._kept[key]
                continue
            if len(column) < columns.high_water:
                column.extend(columns.capacity)
            column.put(rows, values_under(key, metas))


class Lookup:
    """Columns for the memories that one filter is asked about."""

    def __init__(self, keys: FilteredKeys, columns: Columns, rows: Rows | None, count: int) -> None:
        self._keys = keys
        self._columns = columns
        self._rows, self._count = rows, count
        self._chosen: Any = slice(0, count) if rows is None else rows
        self._counted: set[Any] = set()

    def truth(self, key: Any, name: str, operand: Any, missing_matches: bool) -> Truth | None:
        """One operator on a key; None where there is no column, or it cannot tell."""
        column = self._keys.column(self._columns, key, self._counted)
        found = None if column is None else column.truth(name, operand, missing_matches)
        return None if found is None else found[self._chosen]

    def field_truth(self, field: str, name: str, operand: Any) -> Truth | None:
        """One operator on a field of the record; None where its values have to be looked at."""
        return field_truth(self._columns, self._rows, self._count, field, name, operand)

    def positions_with(self, key: Any) -> NDArray[np.intp] | None:
        """Which of the memories have the key; None where there is no column."""
        column = self._keys.column(self._columns, key, self._counted)
        return None if column is None else np.flatnonzero(column.has_any()[self._chosen])


# --- who holds metadata -------------------------------------------------------------------------------------


def _holders(container: Any, key: Any) -> int:
    return sys.getrefcount(container[key])


ALONE: Final = _holders([{}], 0)  # references to what only its container holds


def _is_held(metas: list[dict[str, Any] | None], row: int) -> bool:
    """Whether anybody else has a row's metadata, or a container in it, and so may change it."""
    meta = metas[row]
    if meta is None:
        return False
    flat = _is_flat(meta.values())
    del meta
    if flat:
        return _holders(metas, row) > ALONE
    try:
        return _is_held_somewhere(metas, row)
    except RuntimeError:  # it is being changed
        return True


def _is_held_somewhere(metas: Any, row: int) -> bool:
    waiting: list[tuple[Any, Any]] = [(metas, row)]
    while waiting:
        container, key = waiting.pop()
        if type(container[key]) not in (dict, list, tuple) or _holders(container, key) > ALONE:
            return True  # what contains itself has a second holder
        inner = container[key]
        if not _is_flat(inner.values() if type(inner) is dict else inner):
            items = inner.items() if type(inner) is dict else enumerate(inner)
            waiting += [(inner, at) for at, value in items if type(value) not in PLAIN]
    return False


def _is_flat(values: Iterable[Any]) -> bool:
    return PLAIN.issuperset(map(type, values))
