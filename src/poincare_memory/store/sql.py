"""The only module with SQL. Format 1 (`config`, `records`) is shared with the reference; tables of ours begin with pm_.

What other processes do to a live file is told by `pm_change`, which triggers fill, whoever writes.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .archive import Floats

PAGE_SIZE: Final = 32768  # of saved files: a record with its vectors is several kilobytes
LIVE_PAGE_SIZE: Final = 4096  # of live files: a small write touches few, small pages
LOG_LENGTH: Final = 100_000  # entries of pm_change that are kept
LOG_SLACK: Final = 20_000  # and how many more there may be before they are cut

SCHEMA: Final = (
    "CREATE TABLE config (key TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE records (pos INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT, parent_id TEXT, t TEXT, "
    "valid_from TEXT, valid_until TEXT, access_count INTEGER, last_accessed TEXT, meta TEXT, "
    "point BLOB, embedding BLOB)",
)
INSERT: Final = f"INSERT INTO records VALUES ({', '.join('?' * 12)})"
# Columns of `records` that hold the fields of an archive, in the order of the archive's names.
COLUMNS: Final = {
    "id": "id",
    "text": "text",
    "parent": "parent_id",
    "t": "t",
    "valid_from": "valid_from",
    "valid_until": "valid_until",
    "access_count": "access_count",
    "last_accessed": "last_accessed",
    "meta": "meta",
}

# Kinds of entries of pm_change.
INSERTED, UPDATED, DELETED, TOUCHED, CONFIGURED = 1, 2, 3, 4, 5
LIVE_TABLES: Final = {
    "pm_info": "CREATE TABLE pm_info (key TEXT PRIMARY KEY, value)",
    "pm_change": "CREATE TABLE pm_change (seq INTEGER PRIMARY KEY, kind INTEGER, id TEXT)",
    "pm_extra": "CREATE TABLE pm_extra (id TEXT PRIMARY KEY, digest INTEGER, recorded_at INTEGER, "
    "pinned INTEGER, attached INTEGER) WITHOUT ROWID",
}
_OBSERVED: Final = "pos, id, text, parent_id, t, valid_from, valid_until, meta, point, embedding"


def _trigger(name: str, event: str, *actions: str) -> str:
    return f"CREATE TRIGGER {name} AFTER {event} BEGIN {' '.join(f'{action};' for action in actions)} END"


def _log(kind: int, id: str) -> str:
    return f"INSERT INTO pm_change (kind, id) VALUES ({kind}, {id})"


LIVE_TRIGGERS: Final = {
    name: _trigger(name, event, *actions)
    for name, event, actions in (
        ("pm_inserted", "INSERT ON records", (_log(INSERTED, "new.id"),)),
        (
            "pm_updated",
            f"UPDATE OF {_OBSERVED} ON records",
            (
                _log(UPDATED, "new.id"),
                f"INSERT INTO pm_change (kind, id) SELECT {DELETED}, old.id WHERE old.id IS NOT new.id",
            ),
        ),
        (
            "pm_deleted",
            "DELETE ON records",
            (_log(DELETED, "old.id"), "DELETE FROM pm_extra WHERE id = old.id"),
        ),
        ("pm_touched", "UPDATE OF access_count, last_accessed ON records", (_log(TOUCHED, "new.id"),)),
        ("pm_extra_updated", "UPDATE ON pm_extra", (_log(UPDATED, "new.id"),)),
        ("pm_config_inserted", "INSERT ON config", (_log(CONFIGURED, "new.key"),)),
        ("pm_config_updated", "UPDATE ON config", (_log(CONFIGURED, "new.key"),)),
        ("pm_config_deleted", "DELETE ON config", (_log(CONFIGURED, "old.key"),)),
    )
}


# --- connections --------------------------------------------------------------------------------------


def connect(file: Path, mode: str, timeout: float) -> sqlite3.Connection:
    """Connection in autocommit; `mode` is "ro", "rw" or "rwc". Any thread may use it, one at a time."""
    address = f"{file.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")  # what a hostile schema calls, runs nothing
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def reading(file: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect(file, "ro", timeout=30)) as connection:
        yield connection


@contextlib.contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One consistent state for all reads inside."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def is_store(connection: sqlite3.Connection) -> bool:
    return {"config", "records"} <= tables(connection)


def journal_off(connection: sqlite3.Connection) -> None:
    """For a new file under another name, which whoever makes it flushes: no journal."""
    for pragma in (
        f"page_size = {PAGE_SIZE}",
        "journal_mode = OFF",
        "synchronous = OFF",
        "locking_mode = EXCLUSIVE",
    ):
        connection.execute(f"PRAGMA {pragma}")


def fold(connection: sqlite3.Connection) -> None:
    """Take a write-ahead log back into its file, and use none any more."""
    connection.execute("PRAGMA journal_mode = DELETE")


# --- format 1, written --------------------------------------------------------------------------------


def create(connection: sqlite3.Connection, config: dict[str, Any]) -> None:
    for statement in SCHEMA:
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO config VALUES (?, ?)", ((key, json.dumps(value)) for key, value in config.items())
    )


def insert(
    connection: sqlite3.Connection,
    positions: Iterable[int],
    fields: dict[str, list[Any]],
    points: Floats,
    embeddings: NDArray[Any],
) -> None:
    """New rows of `records`."""
    rows = zip(
        positions,
        *(fields[name] for name in COLUMNS if name != "meta"),
        map(meta_text, fields["meta"]),
        blobs(points),
        blobs(embeddings),
        strict=True,
    )
    connection.executemany(INSERT, rows)


def meta_text(meta: dict[str, Any] | None) -> str:
    return json.dumps(meta, allow_nan=False) if meta else "{}"


def blobs(matrix: NDArray[Any]) -> Iterator[memoryview]:
    """Each row as little-endian float64 bytes."""
    data = np.ascontiguousarray(matrix, "<f8").reshape(-1).data.cast("B")
    width = 8 * matrix.shape[1]
    return (data[start : start + width] for start in range(0, len(data), width))


# --- format 1, read -----------------------------------------------------------------------------------


@dataclass
class Found:
    """Records as a file holds them, in order of `pos`; meta parsed, nothing else checked yet."""

    positions: list[Any]
    fields: dict[str, list[Any]]
    points: Floats
    embeddings: Floats
    extras: list[tuple[Any, ...]]  # recorded_at, pinned, attached; empty where there is no pm_extra

    def __len__(self) -> int:
        return len(self.positions)


_RECORD: Final = ", ".join(f"r.{name}" for name in ("pos", *COLUMNS.values(), "point", "embedding"))
_EXTRA: Final = "x.digest, x.recorded_at, x.pinned, x.attached"
_JOINED: Final = f"SELECT {_RECORD}, {_EXTRA} FROM records r LEFT JOIN pm_extra x ON x.id = r.id"


def read(connection: sqlite3.Connection, dim: int, where: str) -> Found:
    """All records of a file of format 1."""
    rows = connection.execute(f"SELECT {_RECORD} FROM records r ORDER BY r.pos").fetchall()
    return _found(rows, dim, where)


def read_live(
    connection: sqlite3.Connection, dim: int, where: str, ids: Sequence[str] | None = None
) -> Found:
    """All records of a live file, or those with these ids that there are."""
    if ids is None:
        return _found(connection.execute(f"{_JOINED} ORDER BY r.pos").fetchall(), dim, where)
    rows = []
    for id in ids:
        rows += connection.execute(f"{_JOINED} WHERE r.id = ?", (id,)).fetchall()
    rows.sort(key=lambda row: row[0])
    return _found(rows, dim, where)


def _found(rows: list[tuple[Any, ...]], dim: int, where: str) -> Found:
    width = len(COLUMNS) + 3
    columns = list(zip(*(row[:width] for row in rows), strict=True)) or [() for _ in range(width)]
    fields = dict(zip(COLUMNS, map(list, columns[1:-2]), strict=True))
    fields["meta"] = [_meta(text, i, where) for i, text in enumerate(fields["meta"])]
    extras = []
    for row in rows:
        if len(row) == width:
            break
        known = row[width] is not None and row[width] == digest(row[2])
        extras.append(row[width + 1 :] if known else (None, None, None))
    return Found(
        list(columns[0]),
        fields,
        _matrix(columns[-2], "point", dim, where),
        _matrix(columns[-1], "embedding", dim, where),
        extras,
    )


def digest(text: Any) -> int:
    """Tells whether a row of pm_extra still belongs to the record it was written for."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else -1


def read_config(connection: sqlite3.Connection, where: str) -> dict[str, Any]:
    config = {}
    for key, value in connection.execute("SELECT key, value FROM config"):
        try:
            config[str(key)] = json.loads(value)
        except (TypeError, ValueError, RecursionError):
            raise ValueError(f"{where}: config: {key!r:.80} does not hold JSON") from None
    return config


def checked_dim(config: dict[str, Any], where: str) -> int:
    dim = config.get("dim")
    if not isinstance(dim, int) or isinstance(dim, bool) or dim < 1:
        raise ValueError(f"{where}: config: dim: expected an integer of at least 1, got {dim!r}")
    return dim


def _meta(text: Any, i: int, where: str) -> Any:
    if text is None or text == "{}":
        return None
    try:
        meta = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"{where}: record {i}: meta does not hold JSON") from None
    if not isinstance(meta, dict):
        raise ValueError(f"{where}: record {i}: meta: expected a JSON object, got {text!r:.80}")
    return meta


def _matrix(blobs: tuple[Any, ...], name: str, dim: int, where: str) -> Floats:
    for i, blob in enumerate(blobs):
        if not isinstance(blob, bytes) or len(blob) != 8 * dim:
            found = f"{len(blob)} bytes" if isinstance(blob, bytes) else type(blob).__name__
            raise ValueError(f"{where}: record {i}: {name}: expected {8 * dim} bytes of float64, got {found}")
    return np.frombuffer(b"".join(blobs), "<f8").astype(np.float64, copy=False).reshape(len(blobs), dim)


# --- live files ---------------------------------------------------------------------------------------


def write_ahead(connection: sqlite3.Connection, synchronous: str) -> str:
    """Use a write-ahead log; the journal mode that was had."""
    mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    connection.execute(f"PRAGMA synchronous = {synchronous.upper()}")
    return mode


def small_pages(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size = {LIVE_PAGE_SIZE}")


def begin_writing(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")


def commit(connection: sqlite3.Connection) -> None:
    connection.execute("COMMIT")


def roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def make_live(connection: sqlite3.Connection) -> None:
    """Add what is missing of our tables and triggers."""
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    for name, statement in (LIVE_TABLES | LIVE_TRIGGERS).items():
        if name not in there:
            connection.execute(statement)


def foreign_parts(connection: sqlite3.Connection) -> list[str]:
    """Names of triggers that are not ours, and of tables of format 1 that are not plain tables.

    They would run with every write, or make a read compute what it reads.
    """
    strange = []
    for kind, name, statement in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        if (kind == "trigger" and statement != LIVE_TRIGGERS.get(name)) or (
            name in LIVE_TABLES and statement != LIVE_TABLES[name]
        ):
            strange.append(str(name))
    for name, count in (("config", 2), ("records", 12)):
        columns = connection.execute(f"PRAGMA table_xinfo({name})").fetchall()
        if len(columns) != count or any(column[6] for column in columns):
            strange.append(name)
    return strange


def data_version(connection: sqlite3.Connection) -> int:
    """Changes whenever another connection has committed."""
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


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


def meta_at(connection: sqlite3.Connection, pos: int) -> tuple[str, str | None] | None:
    """id and meta of a record."""
    found: tuple[str, str | None] | None = connection.execute(
        "SELECT id, meta FROM records WHERE pos = ?", (pos,)
    ).fetchone()
    return found


def delete(connection: sqlite3.Connection, positions: Iterable[int]) -> int:
    return _each(connection, "DELETE FROM records WHERE pos = ?", ((pos,) for pos in positions))


def update_values(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> int:
    """(text, parent, t, valid_from, valid_until, meta, pos) each; how many there were."""
    return _each(
        connection,
        "UPDATE records SET text = ?, parent_id = ?, t = ?, valid_from = ?, valid_until = ?, meta = ? "
        "WHERE pos = ?",
        rows,
    )


def update_meta(connection: sqlite3.Connection, rows: Iterable[tuple[str, int]]) -> int:
    return _each(connection, "UPDATE records SET meta = ? WHERE pos = ?", rows)


def update_points(connection: sqlite3.Connection, rows: Iterable[tuple[Any, int]]) -> int:
    return _each(connection, "UPDATE records SET point = ? WHERE pos = ?", rows)


def update_embeddings(connection: sqlite3.Connection, rows: Iterable[tuple[Any, int]]) -> int:
    return _each(connection, "UPDATE records SET embedding = ? WHERE pos = ?", rows)


def update_counts(connection: sqlite3.Connection, rows: Iterable[tuple[int, str | None, int]]) -> int:
    return _each(connection, "UPDATE records SET access_count = ?, last_accessed = ? WHERE pos = ?", rows)


def add_accesses(connection: sqlite3.Connection, rows: Iterable[tuple[int, str, int]]) -> None:
    """(how many, the last of them, pos) each, on top of what other processes counted."""
    connection.executemany(
        "UPDATE records SET access_count = access_count + ?1, "
        "last_accessed = CASE WHEN last_accessed > ?2 THEN last_accessed ELSE ?2 END WHERE pos = ?3",
        rows,
    )


def put_extras(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """(id, digest, recorded_at, pinned, attached) each."""
    connection.executemany(
        "INSERT INTO pm_extra VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, "
        "recorded_at = excluded.recorded_at, pinned = excluded.pinned, attached = excluded.attached",
        rows,
    )


def put_config(connection: sqlite3.Connection, config: dict[str, Any]) -> None:
    connection.executemany(
        "INSERT INTO config VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        ((key, json.dumps(value)) for key, value in config.items()),
    )


def info(connection: sqlite3.Connection, key: str) -> Any:
    found = connection.execute("SELECT value FROM pm_info WHERE key = ?", (key,)).fetchone()
    return None if found is None else found[0]


def put_info(connection: sqlite3.Connection, key: str, value: Any) -> None:
    connection.execute(
        "INSERT INTO pm_info VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def _each(connection: sqlite3.Connection, statement: str, rows: Iterable[tuple[Any, ...]]) -> int:
    return connection.executemany(statement, rows).rowcount
