"""What makes a file a live one, and its log of changes.

What other processes do to a live file is told by `pm_change`, which triggers fill, whoever writes.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from ..schema import DIGEST_TABLES, DIGEST_TRIGGERS, HISTORY_PARTS, LIVE_TABLES, LIVE_TRIGGERS
from .connections import parts

LOG_LENGTH: Final = 100_000  # entries of pm_change that are kept
LOG_SLACK: Final = 20_000  # and how many more there may be before they are cut


def make_live(connection: sqlite3.Connection) -> None:
    """Add what is missing of our tables and triggers."""
    there = parts(connection)
    for name, statement in _OURS.items():
        if name not in there:
            connection.execute(statement)


_OURS: Final = LIVE_TABLES | DIGEST_TABLES | LIVE_TRIGGERS | DIGEST_TRIGGERS


def is_live(connection: sqlite3.Connection) -> bool:
    """Whether it has a write-ahead log and all tables and triggers of ours."""
    mode: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
    return mode == "wal" and _OURS.keys() <= parts(connection)


def foreign_parts(connection: sqlite3.Connection) -> list[str]:
    """Names of triggers that are not ours, and of tables of format 1 that are not plain tables.

    They would run with every write, or make a read compute what it reads.
    """
    strange = []
    for kind, name, statement in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        ours = (_OURS | HISTORY_PARTS).get(name)
        if statement != ours and (kind == "trigger" or ours is not None):
            strange.append(str(name))
    for name, count in (("config", 2), ("records", 12)):
        columns = connection.execute(f"PRAGMA table_xinfo({name})").fetchall()
        if len(columns) != count or any(column[6] for column in columns):
            strange.append(name)
    return strange


def last_change(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT max(seq) FROM pm_change").fetchone()[0] or 0


def first_change(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT min(seq) FROM pm_change").fetchone()[0] or 0


def changes_since(connection: sqlite3.Connection, seq: int) -> list[tuple[int, int, str]]:
    """Entries of the log after `seq`: its number, kind and id."""
    return connection.execute(
        "SELECT seq, kind, id FROM pm_change WHERE seq > ? ORDER BY seq", (seq,)
    ).fetchall()


def cut_log(connection: sqlite3.Connection, last: int) -> None:
    connection.execute("DELETE FROM pm_change WHERE seq <= ?", (last - LOG_LENGTH,))


def all_positions(connection: sqlite3.Connection) -> dict[str, int]:
    """id -> pos of every record."""
    return dict(connection.execute("SELECT id, pos FROM records"))


def counts_of(connection: sqlite3.Connection, id: str) -> tuple[Any, Any] | None:
    """access_count and last_accessed of a record."""
    found: tuple[Any, Any] | None = connection.execute(
        "SELECT access_count, last_accessed FROM records WHERE id = ?", (id,)
    ).fetchone()
    return found


def text_of(connection: sqlite3.Connection, id: str) -> tuple[str, str | None] | None:
    """text and parent of a record."""
    found: tuple[str, str | None] | None = connection.execute(
        "SELECT text, parent_id FROM records WHERE id = ?", (id,)
    ).fetchone()
    return found


def meta_at(connection: sqlite3.Connection, pos: int) -> tuple[str, str | None] | None:
    """id and meta of a record."""
    found: tuple[str, str | None] | None = connection.execute(
        "SELECT id, meta FROM records WHERE pos = ?", (pos,)
    ).fetchone()
    return found
