"""What records were: a file's past versions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from ..archive import EXTRAS
from ..schema import CONFIGURED, HISTORY_PARTS
from .connections import parts
from .found import Found, Rows, found_in
from .rows import COLUMNS, READ, RECORD, SELECTED, SELECTED_EXTRAS, digest
from .writing import meta_text


def keep_versions(connection: sqlite3.Connection) -> None:
    """From now on there is room for what records were."""
    for statement in HISTORY_PARTS.values():
        connection.execute(statement)
    connection.execute(
        f"INSERT INTO pm_change (kind, id) VALUES ({CONFIGURED}, 'history')"
    )  # others have to know


def keeps_versions(connection: sqlite3.Connection) -> bool:
    return "pm_history" in parts(connection)


_BEGAN: Final = "(SELECT max(h.replaced) FROM pm_history h WHERE h.pos = r.pos)"


def put_versions(connection: sqlite3.Connection, positions: Iterable[int], moment: int) -> None:
    """Note these records as they are, for they are about to be replaced."""
    connection.executemany(
        f"INSERT INTO pm_history ({', '.join((*RECORD, *EXTRAS))}, began, replaced) "
        f"SELECT {SELECTED}, {SELECTED_EXTRAS}, {_BEGAN}, ? "
        "FROM records r LEFT JOIN pm_extra x ON x.id = r.id WHERE r.pos = ?",
        ((moment, pos) for pos in positions),
    )


def insert_versions(connection: sqlite3.Connection, versions: Iterable[dict[str, Any]]) -> None:
    """Past versions as they were read, their fields named as those of an archive."""
    names = ("serial", *RECORD, *EXTRAS, "began", "replaced")
    fields = {column: field for field, column in COLUMNS.items()}
    connection.executemany(
        f"INSERT INTO pm_history ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
        (
            tuple(
                meta_text(version["meta"]) if name == "meta" else version[fields.get(name, name)]
                for name in names
            )
            for version in versions
        ),
    )


_VERSION: Final = (
    f"SELECT {', '.join(f'h.{name}' for name in (*RECORD, *EXTRAS))}, h.began, h.replaced FROM pm_history h"
)


def versions_of(
    connection: sqlite3.Connection, id: str, dim: int, where: str
) -> tuple[Found, list[tuple[int | None, int]]]:
    """Past versions of a memory, the oldest first, and from when till when each stood."""
    return _versions(connection.execute(f"{_VERSION} WHERE h.id = ? ORDER BY h.serial", (id,)), dim, where)


def versions_at(
    connection: sqlite3.Connection, moment: int, dim: int, where: str
) -> tuple[Found, list[tuple[int | None, int]]]:
    """Of every memory that was replaced after a moment the version that came first after it, by `pos`."""
    first = "(SELECT min(g.replaced) FROM pm_history g WHERE g.pos = h.pos AND g.replaced > :moment)"
    chosen = f"(SELECT min(f.serial) FROM pm_history f WHERE f.pos = h.pos AND f.replaced = {first})"
    query = f"{_VERSION} WHERE h.replaced > :moment AND h.serial = {chosen} ORDER BY h.pos"
    return _versions(connection.execute(query, {"moment": moment}), dim, where)


def version_texts(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Serial number and text of every past version."""
    if not keeps_versions(connection):
        return []
    return connection.execute("SELECT serial, text FROM pm_history ORDER BY serial").fetchall()


def update_versions(connection: sqlite3.Connection, rows: Iterable[tuple[Any, Any, int]]) -> None:
    """(point, embedding, serial) each."""
    connection.executemany("UPDATE pm_history SET point = ?, embedding = ? WHERE serial = ?", rows)


def _versions(
    rows: Iterable[tuple[Any, ...]], dim: int, where: str
) -> tuple[Found, list[tuple[int | None, int]]]:
    width, text, spans, chunk = len(RECORD), RECORD.index("text"), [], []
    for row in rows:
        chunk.append((*row[:width], digest(row[text]), *row[width:-2]))
        spans.append((row[-2], row[-1]))
    return found_in(Rows(READ, iter(chunk)), None, dim, where), spans
