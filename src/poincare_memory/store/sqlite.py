"""Stores as SQLite files of format 1, which the reference reads and writes too."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from . import sql
from .archive import Archive, archive_of, store_of
from .atomic import replacing

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from ..temporal.policies import DecayPolicy
    from .state import Store

SIDECARS = ("-wal", "-shm", "-journal")


def save(store: Store, path: str | os.PathLike[str]) -> None:
    """Write a store to `path` in one step; what was there stays until the new file is complete.

    Raises
    ------
    ValueError
        If `path` holds something that is not a store: it is left alone.
    """
    target = Path(os.path.realpath(path))
    refuse_foreign(target)
    archive = archive_of(store)
    with replacing(target) as temporary:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
            _write(connection, archive)
        fold_sidecars(target)


def _write(connection: sqlite3.Connection, archive: Archive) -> None:
    sql.journal_off(connection)
    sql.begin_writing(connection)
    sql.create(connection, archive.config)
    sql.insert(connection, range(archive.count), archive.fields, archive.vectors)
    sql.guard(connection)
    sql.commit(connection)


def refuse_foreign(target: Path) -> None:
    """A file that is neither empty nor a store is somebody's: never replace it."""
    if not target.exists() or target.stat().st_size == 0:
        return
    if not target.is_file():
        raise ValueError(f"{target}: expected a file, found something else")
    try:
        with sql.reading(target) as connection:
            foreign = not sql.is_store(connection)
    except sqlite3.DatabaseError as error:
        raise ValueError(
            f"{target}: not replaced, because it is not a readable memory store ({error})"
        ) from error
    if foreign:
        raise ValueError(f"{target}: not replaced, because it is another application's database")


def fold_sidecars(target: Path) -> None:
    """Take the old file's write-ahead log back into it and remove it: SQLite would replay it into the new file."""
    if not any(os.path.exists(f"{target}{suffix}") for suffix in SIDECARS):
        return
    if target.exists():
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(target)) as connection:
            sql.fold(connection)
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
        with sql.reading(file) as connection, sql.snapshot(connection):
            archive = _read(connection, str(file))
            return store_of(archive, str(file), embedder=embedder, decay=decay, clock=clock)
    except sqlite3.Error as error:
        raise ValueError(f"{file}: not a readable memory store ({error})") from error


def _read(connection: sqlite3.Connection, where: str) -> Archive:
    if not sql.is_store(connection):
        raise ValueError(f"{where}: not a memory store: it has no tables config and records")
    config = sql.read_config(connection, where)
    fields = sql.no_fields()
    vectors = sql.read(connection, fields, sql.checked_dim(config, where), where)
    return Archive(config, fields, vectors, sql.count(connection))
