"""The only module with SQL: stores as SQLite files of format 1, which the reference reads and writes too."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .archive import Archive, Floats, archive_of, store_of
from .atomic import replacing

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from ..temporal.policies import DecayPolicy
    from .state import Store

SCHEMA = (
    "CREATE TABLE config (key TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE records (pos INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT, parent_id TEXT, t TEXT, "
    "valid_from TEXT, valid_until TEXT, access_count INTEGER, last_accessed TEXT, meta TEXT, "
    "point BLOB, embedding BLOB)",
)
INSERT = f"INSERT INTO records VALUES ({', '.join('?' * 12)})"
# Columns of `records` that hold the fields of an archive, in the order of the archive's names.
COLUMNS = {
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
PAGE_SIZE = 32768  # a record with its vectors is several kilobytes: small pages would chain overflow pages
SIDECARS = ("-wal", "-shm", "-journal")


def save(store: Store, path: str | os.PathLike[str]) -> None:
    """Write a store to `path` in one step; what was there stays until the new file is complete.

    Raises
    ------
    ValueError
        If `path` holds something that is not a store: it is left alone.
    """
    target = Path(os.path.realpath(path))
    _refuse_foreign(target)
    archive = archive_of(store)
    with replacing(target) as temporary:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
            _write(connection, archive)
        _fold_sidecars(target)


def _write(connection: sqlite3.Connection, archive: Archive) -> None:
    # The file is new and has another name until it is complete: it needs no journal of its own, and
    # `replacing` flushes it.
    for pragma in (
        f"page_size = {PAGE_SIZE}",
        "journal_mode = OFF",
        "synchronous = OFF",
        "locking_mode = EXCLUSIVE",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("BEGIN")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO config VALUES (?, ?)",
        ((key, json.dumps(value)) for key, value in archive.config.items()),
    )
    connection.executemany(INSERT, _rows(archive))
    connection.execute("COMMIT")


def _rows(archive: Archive) -> Iterator[tuple[Any, ...]]:
    fields = archive.fields
    metas = ("{}" if not meta else json.dumps(meta, allow_nan=False) for meta in fields["meta"])
    yield from zip(
        range(len(archive)),
        *(fields[name] for name in COLUMNS if name != "meta"),
        metas,
        _blobs(archive.points),
        _blobs(archive.embeddings),
        strict=True,
    )


def _blobs(matrix: Floats) -> Iterator[memoryview]:
    """Each row as little-endian float64 bytes, without a copy."""
    data = np.ascontiguousarray(matrix, "<f8").reshape(-1).data.cast("B")
    width = 8 * matrix.shape[1]
    return (data[start : start + width] for start in range(0, len(data), width))


def _refuse_foreign(target: Path) -> None:
    """A file that is neither empty nor a store is somebody's: never replace it."""
    if not target.exists() or target.stat().st_size == 0:
        return
    if not target.is_file():
        raise ValueError(f"{target}: expected a file, found something else")
    try:
        with _reading(target) as connection:
            foreign = not {"config", "records"} <= _tables(connection)
    except sqlite3.DatabaseError as error:
        raise ValueError(
            f"{target}: not replaced, because it is not a readable memory store ({error})"
        ) from error
    if foreign:
        raise ValueError(f"{target}: not replaced, because it is another application's database")


def _fold_sidecars(target: Path) -> None:
    """Take the old file's write-ahead log back into it and remove it: SQLite would replay it into the new file."""
    if not any(os.path.exists(f"{target}{suffix}") for suffix in SIDECARS):
        return
    if target.exists():
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(target)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    for suffix in SIDECARS:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{target}{suffix}")


def load(
    path: str | os.PathLike[str],
    *,
    embedder: Embedder | None = None,
    decay: DecayPolicy | None = None,
    clock: Callable[[], datetime] | None = None,
) -> Store:
    """Store from a file of format 1, every value checked; the file is only read.

    Raises
    ------
    FileNotFoundError
        If there is no such file; none is created.
    ValueError
        If the file is not a store, is damaged, or holds a value that is not allowed, named by record and field.
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such file")
    try:
        with _reading(file) as connection:
            archive = _read(connection, str(file))
    except sqlite3.Error as error:
        raise ValueError(f"{file}: not a readable memory store ({error})") from error
    return store_of(archive, str(file), embedder=embedder, decay=decay, clock=clock)


@contextlib.contextmanager
def _reading(file: Path) -> Iterator[sqlite3.Connection]:
    address = f"{file.absolute().as_uri()}?mode=ro"
    with contextlib.closing(
        sqlite3.connect(address, uri=True, timeout=30, isolation_level=None)
    ) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")  # a hostile file's views and triggers run nothing
        yield connection


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _read(connection: sqlite3.Connection, where: str) -> Archive:
    connection.execute("BEGIN")  # one snapshot for both tables
    if not {"config", "records"} <= _tables(connection):
        raise ValueError(f"{where}: not a memory store: it has no tables config and records")
    config = _config(connection, where)
    dim = config.get("dim")
    if not isinstance(dim, int) or isinstance(dim, bool) or dim < 1:
        raise ValueError(f"{where}: config: dim: expected an integer of at least 1, got {dim!r}")
    selected = ", ".join((*COLUMNS.values(), "point", "embedding"))
    rows = connection.execute(f"SELECT {selected} FROM records ORDER BY pos").fetchall()
    columns = list(zip(*rows, strict=True)) or [() for _ in range(len(COLUMNS) + 2)]
    fields = dict(zip(COLUMNS, map(list, columns[:-2]), strict=True))
    fields["meta"] = [_meta(text, i, where) for i, text in enumerate(fields["meta"])]
    return Archive(
        config,
        fields,
        _matrix(columns[-2], "point", dim, where),
        _matrix(columns[-1], "embedding", dim, where),
    )


def _config(connection: sqlite3.Connection, where: str) -> dict[str, Any]:
    config = {}
    for key, value in connection.execute("SELECT key, value FROM config"):
        try:
            config[str(key)] = json.loads(value)
        except (TypeError, ValueError, RecursionError):
            raise ValueError(f"{where}: config: {key!r:.80} does not hold JSON") from None
    return config


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
