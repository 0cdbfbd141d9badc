"""What can still be read of a damaged file: row by row, around pages that cannot be.

The SQL of `diagnosis`; that of whole files is `sql`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from . import sql
from .archive import EXTRAS

MOST_FAULTS: Final = 100
LARGEST_GAP: Final = 100_000  # positions that are tried one by one
RECORD: Final = (
    "SELECT pos, id, text, parent_id, t, valid_from, valid_until, access_count, last_accessed, meta, point, embedding "
    "FROM records"
)
FIELDS: Final = (
    "pos", "id", "text", "parent", "t", "valid_from", "valid_until", "access_count", "last_accessed", "meta",
    "point", "embedding",
)  # fmt: skip


class Broken(str):
    """A text that is no UTF-8 any more, with stand-ins for what is not."""


@dataclass
class Unreadable:
    """Positions after `last` and before `first` (None: the end) cannot be read."""

    last: int | None
    first: int | None
    reason: str


@contextmanager
def opened(file: Path, at_rest: bool) -> Iterator[sqlite3.Connection]:
    """A connection that reads texts of any bytes."""
    with sql.peeking(file) if at_rest else closing(sql.connect(file, "ro", sql.READ_PATIENCE)) as connection:
        connection.text_factory = _decoded
        yield connection


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return Broken(data.decode("utf-8", "replace"))


def structure_faults(connection: sqlite3.Connection) -> list[str]:
    """What SQLite's own check finds."""
    try:
        found = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({MOST_FAULTS})")]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [line for message in found if message != "ok" for line in message.splitlines()]


def settings(connection: sqlite3.Connection) -> dict[str, str | None]:
    """config as it stands there: JSON texts."""
    found: dict[str, str | None] = {}
    try:
        for key, value in connection.execute("SELECT key, value FROM config"):
            if isinstance(key, str):
                found[key] = value if isinstance(value, str) else None
    except sqlite3.DatabaseError:
        pass
    return found


def settings_digest(connection: sqlite3.Connection) -> str | None:
    """What is wrong with the digest of the settings, if it can be told."""
    try:
        sql.verify_settings(connection, "")
    except ValueError as error:
        return str(error).removeprefix(": damaged: ")
    except sqlite3.DatabaseError:
        pass
    return None


def records(connection: sqlite3.Connection) -> Iterator[dict[str, Any] | Unreadable]:
    """Records in order of position; where some cannot be read, an `Unreadable` in their place."""
    left = 2 * sql.size(connection)  # a hostile file may hold more than it is large
    last: int | None = None
    failure = ""
    try:
        for row in connection.execute(f"{RECORD} ORDER BY pos"):
            left -= sum(len(value) for value in row if isinstance(value, str | bytes))
            if left < 0:
                yield Unreadable(last, None, "its records are larger than the file")
                return
            last = row[0]
            yield dict(zip(FIELDS, row, strict=True))
    except (sqlite3.DatabaseError, OverflowError) as error:
        failure = str(error)
    if failure:
        yield from _after(connection, last, failure)


def _after(
    connection: sqlite3.Connection, last: int | None, failure: str
) -> Iterator[dict[str, Any] | Unreadable]:
    """What comes after a fault: read from the end backwards, and then what lies between, one by one."""
    tail: list[dict[str, Any]] = []
    try:
        for row in connection.execute(f"{RECORD} ORDER BY pos DESC"):
            if last is not None and row[0] <= last:
                break
            tail.append(dict(zip(FIELDS, row, strict=True)))
    except (sqlite3.DatabaseError, OverflowError):
        pass
    first = tail[-1]["pos"] if tail else None
    start = -1 if last is None else last
    end = start + LARGEST_GAP if first is None else min(first, start + LARGEST_GAP)
    for pos in range(start + 1, end):
        try:
            row = connection.execute(f"{RECORD} WHERE pos = ?", (pos,)).fetchone()
        except (sqlite3.DatabaseError, OverflowError):
            continue
        if row is not None:
            yield dict(zip(FIELDS, row, strict=True))
    yield Unreadable(last, first, failure)
    yield from reversed(tail)


def extras(connection: sqlite3.Connection) -> dict[str, tuple[Any, ...]]:
    """id -> digest of the text it was written for, and the `EXTRAS`."""
    found: dict[str, tuple[Any, ...]] = {}
    with suppress(sqlite3.DatabaseError):
        for id, *values in connection.execute(f"SELECT id, digest, {', '.join(EXTRAS)} FROM pm_extra"):
            found[id] = tuple(values)
    return found


def digests(connection: sqlite3.Connection) -> dict[int, int]:
    """pos -> digest."""
    found: dict[int, int] = {}
    with suppress(sqlite3.DatabaseError):
        found.update(connection.execute("SELECT pos, digest FROM pm_digest"))
    return found


def keeps_versions(connection: sqlite3.Connection) -> bool:
    try:
        return connection.execute("SELECT 1 FROM pm_history LIMIT 1").fetchone() is not None
    except sqlite3.DatabaseError:
        return False
