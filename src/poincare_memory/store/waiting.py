"""What a live store does not write at once: accesses that were counted, metadata that was changed in place."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from ..temporal.instants import iso
from . import sql
from .archive import checked_meta
from .metadata import copy_metadata

if TYPE_CHECKING:
    import sqlite3

    from .arrays import Rows
    from .columns import Columns
    from .undo import UndoLog

FLUSH_AFTER_MEMORIES: Final = 1000  # accesses of so many memories are written at once
FLUSH_AFTER_SECONDS: Final = 5.0
FEW: Final = 256  # so many metadata dicts are looked at every time
REST: Final = 20.0  # between two looks at the metadata, in multiples of what the last one took
_PLAIN: Final = frozenset((str, int, float, bool, type(None)))

HandedOut = tuple[dict[str, Any], dict[str, Any] | None]  # a metadata dict, and what the file has of it


class Waiting:
    """By `pos` of the memory. Readers hand metadata out under no lock; everything else is under the write lock."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._accesses: dict[int, list[int]] = {}  # pos -> how many, and the last of them
        self._since = 0.0
        self._metas: dict[int, HandedOut] = {}
        self._look_again_at = 0.0
        self._guard = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._accesses) or bool(self._metas)

    def is_due(self) -> bool:
        """Whether it is time to write: metadata changed, or accesses are many or wait long."""
        if self._metas and self._was_changed():
            return True
        if not self._accesses:
            return False
        return len(self._accesses) >= FLUSH_AFTER_MEMORIES or (
            time.monotonic() - self._since > FLUSH_AFTER_SECONDS
        )

    def put_off(self, seconds: float) -> None:
        """It could not be written now."""
        self._since = time.monotonic()
        self._look_again_at = self._since + seconds

    def forget(self, order: int) -> None:
        """A memory is gone."""
        self._accesses.pop(order, None)
        self._metas.pop(order, None)

    # --- accesses -----------------------------------------------------------------------------------------

    def touched(self, orders: list[int], now: int, undo: UndoLog | None) -> None:
        """Count an access of each."""
        accesses = self._accesses
        if not accesses:
            self._since = time.monotonic()
        before = {order: list(accesses[order]) if order in accesses else None for order in orders}
        for order in orders:
            entry = accesses.setdefault(order, [0, now])
            entry[0] += 1
            entry[1] = max(entry[1], now)
        if undo is not None:
            undo.step(lambda: self._untouch(before))

    def _untouch(self, before: dict[int, list[int] | None]) -> None:
        for order, entry in before.items():
            if entry is None:
                self._accesses.pop(order, None)
            else:
                self._accesses[order] = entry

    def add_to(self, columns: Columns, rows: Rows) -> None:
        """Count what is not yet written on top of the file's numbers, which these rows have now."""
        if not self._accesses:
            return
        for row in rows.tolist():
            entry = self._accesses.get(int(columns.order[row]))
            if entry is not None:
                columns.access_count[row] += entry[0]
                columns.last_accessed[row] = max(int(columns.last_accessed[row]), entry[1])

    def accesses(self) -> Iterator[tuple[int, str, int]]:
        """(how many, the last of them, pos) each."""
        return ((count, iso(last), pos) for pos, (count, last) in self._accesses.items())

    # --- metadata -----------------------------------------------------------------------------------------

    def handed_out(self, order: int, meta: dict[str, Any]) -> None:
        """A memory's metadata dict may be changed in place from now on."""
        with self._guard:
            known = self._metas.get(order)
            if known is None or known[0] is not meta:
                self._metas[order] = (meta, _copied(meta))

    def _was_changed(self) -> bool:
        """Whether some was changed in place; those nobody holds are let go. Many are looked at now and then only."""
        start = time.monotonic()
        if start < self._look_again_at:
            return False
        changed = False
        for order, entry in list(self._metas.items()):
            if _differs(*entry):
                changed = True
                break
            self._let_go(order, entry)
        if len(self._metas) > FEW:
            self._look_again_at = start + REST * (time.monotonic() - start)
        return changed

    def _let_go(self, order: int, entry: HandedOut) -> None:
        with self._guard:  # whoever is given it meanwhile holds it by now
            if sys.getrefcount(entry[0]) <= UNHELD and self._metas.get(order) is entry:
                del self._metas[order]

    def replaced_meta(self, order: int, theirs: dict[str, Any] | None) -> bool:
        """Whether what the file says now is to take the place of a memory's metadata.

        Not where only the dict that was handed out was changed: that is still to be written.
        """
        entry = self._metas.get(order)
        if entry is not None and not _differs(theirs or {}, entry[1]) and _differs(*entry):
            return False
        self._metas.pop(order, None)
        return True

    def write(
        self, connection: sqlite3.Connection, columns: Columns | None, moment: int | None, kept: Iterable[int]
    ) -> dict[int, dict[str, Any] | None]:
        """Write metadata that differs from the file's; what of each is in the file now, for `written`.

        Where there are `columns`, only what still is a memory's metadata: an update may have put other in its place.
        Where a `moment` is given, versions are kept, unless there are of these `kept` already.
        """
        changed: list[tuple[str, int]] = []
        looked_at: dict[int, dict[str, Any] | None] = {}
        for pos, (meta, _) in list(self._metas.items()):
            found = sql.meta_at(connection, pos)
            if found is None or (columns is not None and not _is_meta_of(columns, found[0], meta)):
                looked_at[pos] = None
                continue
            id, there = found
            looked_at[pos] = checked_meta(meta, id)
            text = sql.meta_text(looked_at[pos])
            if text != there and not (there is None and not meta):
                changed.append((text, pos))
        if not changed:
            return looked_at
        if moment is not None:
            versioned = set(kept)
            sql.put_versions(connection, [pos for _, pos in changed if pos not in versioned], moment)
        sql.update_meta(connection, changed)
        sql.seal(connection, (pos for _, pos in changed))
        return looked_at

    def drop_unwritable(self, connection: sqlite3.Connection) -> list[str]:
        """Let go of metadata that JSON cannot write, so that the rest can be; what is wrong with each."""
        wrong = []
        for pos, (meta, _) in list(self._metas.items()):
            found = sql.meta_at(connection, pos)
            try:
                checked_meta(meta, None if found is None else found[0])
            except (TypeError, ValueError) as error:
                del self._metas[pos]
                wrong.append(str(error))
        return wrong

    def written(self, looked_at: dict[int, dict[str, Any] | None]) -> None:
        """All of it is in the file."""
        self._accesses.clear()
        for pos, there in looked_at.items():
            entry = self._metas.get(pos)
            if entry is None:
                continue
            if there is None:
                del self._metas[pos]
                continue
            with self._guard:
                self._metas[pos] = entry = (entry[0], there)
            self._let_go(pos, entry)


def _copied(meta: dict[str, Any]) -> dict[str, Any] | None:
    if _PLAIN.issuperset(map(type, meta.values())):
        return dict(meta)
    try:
        return copy_metadata(meta)
    except (TypeError, ValueError):  # changed before; whoever writes it will say what is wrong
        return None


def _differs(meta: dict[str, Any], there: dict[str, Any] | None) -> bool:
    try:
        return bool(meta != there)
    except Exception:  # whatever a user put into it
        return True


def _is_meta_of(columns: Columns, id: str, meta: dict[str, Any]) -> bool:
    row = columns.row_of.get(id)
    return row is not None and columns.metas[row] is meta


def _count_references() -> int:
    meta: dict[str, Any] = {}
    metas, entry = [meta], (meta, None)
    del meta
    return sys.getrefcount(entry[0]) if metas else 0


UNHELD: Final = _count_references()  # references to a metadata dict that no user holds
