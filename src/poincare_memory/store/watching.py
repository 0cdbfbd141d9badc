"""What is committed to a live file while one looks on, whoever does it."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import sql
from .connections import identity
from .errors import StoreReadError
from .schema import CONFIGURED, DELETED, INSERTED, LIVE_TABLES, TOUCHED, UPDATED

__all__ = ["Event", "watch"]

KINDS: Final = {
    INSERTED: "added",
    UPDATED: "changed",
    DELETED: "removed",
    TOUCHED: "used",
    CONFIGURED: "settings",
}


@dataclass(frozen=True)
class Event:
    """Something that was committed.

    Parameters
    ----------
    kind : str
        "added", "changed", "removed", "used" (a search returned it), "settings", "replaced" (the file is another
        one) or "missed" (more happened than the file's log holds).
    id : str
        Of the memory; of "settings" the name of the setting, otherwise empty.
    text, parent : str or None
        Of the memory as it stands now; None where it is gone by now.
    """

    kind: str
    id: str = ""
    text: str | None = None
    parent: str | None = None


def watch(path: str | os.PathLike[str], interval: float = 0.5) -> Iterator[Event | None]:
    """Events of a live file from now on, in the order of their commits; None after every look.

    Nothing is written. The log of a live file holds 100,000 entries; a kind and id that follow each other at once are
    told once.

    Parameters
    ----------
    path : path
        A file that `Memory.open` uses or used.
    interval : float, default 0.5
        Seconds between two looks.

    Yields
    ------
    Event or None

    Raises
    ------
    ValueError
        For a file that is no live store.

    Examples
    --------
    >>> import os, tempfile
    >>> from poincare_memory import Memory
    >>> from poincare_memory.store.watching import watch
    >>> path = os.path.join(tempfile.mkdtemp(), "memory.db")
    >>> with Memory.open(path) as mem:
    ...     events = watch(path)
    ...     _ = next(events)  # from now on
    ...     _ = mem.add("green tea", id="tea")
    ...     next(events)
    ...     events.close()
    Event(kind='added', id='tea', text='green tea', parent=None)
    """
    file = Path(os.path.realpath(path))
    following: _Following | None = _Following(file)
    try:
        while True:
            assert following is not None
            yield from following.news()
            yield None
            time.sleep(interval)
            if following.replaced():
                following.close()
                following = None
                following = _Following(file)
                yield Event("replaced")
    finally:
        if following is not None:
            following.close()


class _Following:
    """A connection that reads the log from where it was."""

    def __init__(self, file: Path) -> None:
        if not file.is_file():
            raise FileNotFoundError(2, "no such file", str(file))
        self._file = file
        self._identity = identity(file)
        self._connection = sql.connect(file, "ro", sql.READ_PATIENCE)
        try:
            if not set(LIVE_TABLES) <= sql.parts(self._connection):
                raise ValueError(
                    f"{file}: nothing tells what changes in it: it is no live store (Memory.open makes it one)"
                )
            self._seen = sql.data_version(self._connection)
            self._seq = sql.last_change(self._connection)
        except sqlite3.DatabaseError as error:
            self.close()
            if isinstance(error, sqlite3.OperationalError) and sql.needs_recovery(error):
                raise StoreReadError(
                    f"{file}: cannot be followed: that needs write access to its folder"
                ) from error
            raise ValueError(f"{file}: not a readable memory store ({error})") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def replaced(self) -> bool:
        try:
            return identity(self._file) != self._identity
        except FileNotFoundError:
            raise FileNotFoundError(2, "the file is gone", str(self._file)) from None

    def news(self) -> Iterator[Event]:
        connection = self._connection
        version = sql.data_version(connection)
        if version == self._seen:
            return
        with sql.snapshot(connection):
            first, last = sql.first_change(connection), sql.last_change(connection)
            if first > self._seq + 1:
                yield Event("missed")
            before = None
            for _, kind, id in sql.changes_since(connection, self._seq):
                if (kind, id) == before:
                    continue
                before = (kind, id)
                if kind in KINDS:
                    yield self._event(KINDS[kind], id)
            self._seen, self._seq = version, last

    def _event(self, kind: str, id: str) -> Event:
        if kind == "settings":
            return Event(kind, str(id))
        text, parent = sql.text_of(self._connection, id) or (None, None)
        return Event(kind, id, text, parent)
