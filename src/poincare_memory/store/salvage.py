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
from .schema import HISTORY_TABLE

MOST_FAULTS: Final = 100
LARGEST_GAP: Final = 100_000  # positions that are tried one by one
FIELDS: Final = (
    "pos", "id", "text", "parent", "t", "valid_from", "valid_until", "access_count", "last_accessed", "meta",
    "point", "embedding",
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table that is read around what is damaged in it."""

    name: str
    key: str  # the column that numbers its rows
    fields: tuple[str, ...]  # as archives name them

    @property
    def query(self) -> str:
        columns = ("parent_id" if field == "parent" else field for field in self.fields)
        return f"SELECT {', '.join(columns)} FROM {self.name}"

    def row(self, values: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(self.fields, values, strict=True))


RECORDS: Final = Table("records", "pos", FIELDS)
VERSIONS: Final = Table("pm_history", "serial", ("serial", *FIELDS, *EXTRAS, "began", "replaced"))


class Broken(str):
    """A text that is no UTF-8 any more, with stand-ins for what is not."""


@dataclass
class Unreadable:
    """Rows after the number `last` and before `first` (None: the end) cannot be read."""

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


def rows(connection: sqlite3.Connection, table: Table) -> Iterator[dict[str, Any] | Unreadable]:
    """Rows in order of their numbers; where some cannot be read, an `Unreadable` in their place."""
    left = 2 * sql.size(connection)  # a hostile file may hold more than it is large
    last: int | None = None
    failure = ""
    try:
        for values in connection.execute(f"{table.query} ORDER BY {table.key}"):
            left -= sum(len(value) for value in values if isinstance(value, str | bytes))
            if left < 0:
                yield Unreadable(last, None, f"its {table.name} are larger than the file")
                return
            last = values[0]
            yield table.row(values)
    except (sqlite3.DatabaseError, OverflowError) as error:
        failure = str(error)
    if failure:
        yield from _after(connection, table, last, failure)


def _after(
    connection: sqlite3.Connection, table: Table, last: int | None, failure: str
) -> Iterator[dict[str, Any] | Unreadable]:
    """What comes after a fault: read from the end backwards, and then what lies between, one by one."""
    tail: list[dict[str, Any]] = []
    try:
        for values in connection.execute(f"{table.query} ORDER BY {table.key} DESC"):
            if last is not None and values[0] <= last:
                break
            tail.append(table.row(values))
    except (sqlite3.DatabaseError, OverflowError):
        pass
    first = tail[-1][table.key] if tail else None
    start = -1 if last is None else last
    end = start + LARGEST_GAP if first is None else min(first, start + LARGEST_GAP)
    for number in range(start + 1, end):
        try:
            found = connection.execute(f"{table.query} WHERE {table.key} = ?", (number,)).fetchone()
        except (sqlite3.DatabaseError, OverflowError):
            continue
        if found is not None:
            yield table.row(found)
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


def info(connection: sqlite3.Connection, key: str) -> Any:
    """What pm_info says; None where it says nothing that can be read."""
    with suppress(sqlite3.DatabaseError):
        return sql.info(connection, key)
    return None


def keeps_versions(connection: sqlite3.Connection) -> bool:
    """Whether there is a table of past versions, of our making."""
    try:
        made = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'pm_history'").fetchone()
    except sqlite3.DatabaseError:
        return False
    return made is not None and made[0] == HISTORY_TABLE
