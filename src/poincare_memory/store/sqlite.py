"""Stores as SQLite files of format 1, which the reference reads and writes too."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import sql
from .archive import Archive, size_of, written
from .atomic import EarlyWriting, is_special, replacing
from .errors import StoreBusyError, StoreReadError, StoreWriteError
from .filling import store_of
from .room import Precision, room_of

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
    OSError
        If the file cannot be written; what was there is there still.
    """
    target = Path(os.path.realpath(path))
    refuse_foreign(target)
    live = store.columns.file
    if live is not None and live.is_at(target):  # its own file: all is there but what waits to be counted
        live.flush(store.columns)
        return
    written(store, lambda archive: _replace(target, archive))


def _replace(target: Path, archive: Archive) -> None:
    with replacing(target) as temporary:
        try:
            with (
                EarlyWriting(temporary) as disk,
                contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as connection,
            ):
                _write(connection, replace(archive, vectors=disk.along(archive.vectors, size_of)))
        except sqlite3.Error as error:
            raise StoreWriteError(f"{target}: not written ({error}); it is as it was") from error
        fold_sidecars(target)


def backup(store: Store, path: str | os.PathLike[str]) -> None:
    """Copy the file of a live store; see `Memory.backup`."""
    file = store.columns.file
    if file is None:
        save(store, path)
        return
    store.look()
    target = Path(os.path.realpath(path))
    refuse_foreign(target)
    if file.is_at(target):
        raise ValueError(f"{target}: a backup goes into another file than the store's own")
    file.backup(store.columns, target)


def _write(connection: sqlite3.Connection, archive: Archive) -> None:
    sql.journal_off(connection)
    sql.begin_writing(connection)
    sql.create(connection, archive.config)
    sql.insert(connection, range(archive.count), archive.fields, archive.vectors)
    sql.guard(connection)
    sql.commit(connection)


def is_database(file: Path) -> bool:
    """Whether SQLite takes it for a database, a store or not."""
    try:
        with sql.peeking(file) as connection:
            sql.parts(connection)
    except sqlite3.DatabaseError as error:
        return isinstance(error, sqlite3.OperationalError)
    return True


def refuse_foreign(target: Path) -> None:
    """A file that is neither empty nor a store is somebody's: never replace it."""
    if is_special(target):
        raise ValueError(f"{target}: expected a file, found something else")
    if not target.exists() or target.stat().st_size == 0:
        return
    try:
        with sql.peeking(target) as connection:  # another program's lock is no obstacle
            foreign = not sql.is_store(connection)
        if foreign:  # unless what it holds is still in its write-ahead log
            with sql.reading(target) as connection:
                foreign = not sql.is_store(connection)
    except sqlite3.Error as error:
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
    precision: Precision = "full",
) -> Store:
    """Store from a file of format 1, every value checked; the file is only read.

    Raises
    ------
    FileNotFoundError
        If there is no such file; none is created.
    ValueError
        If the file is not a store, is damaged, or holds a value that is not allowed, named by record and field.
    """
    room_of(precision)  # which it is to be
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(errno.ENOENT, "no such file", str(file))
    if is_special(file):
        raise ValueError(f"{file}: expected a file, found something else")
    where = str(file)

    def store_from(connection: sqlite3.Connection, run: sql.Run | None = None) -> Store:
        with sql.snapshot(connection):
            return store_of(
                archive_in(connection, where, run),
                where,
                embedder=embedder,
                decay=decay,
                clock=clock,
                room=room_of(precision),
            )

    try:
        store = _read_at_rest(file, store_from)
        if store is None:
            store = _read_beside_others(file, store_from)
    except sqlite3.OperationalError as error:
        if sql.is_busy(error):
            raise StoreBusyError(f"{file}: not read: another program keeps it locked") from error
        if sql.needs_recovery(error) or ("unable to open" in str(error) and _at_rest(file) is None):
            raise StoreReadError(
                f"{file}: a program died while writing it; to read it, its journal has to be rolled back first, which "
                "needs write access to the file and its folder"
            ) from error
        raise ValueError(f"{file}: not a readable memory store ({error})") from error
    except sqlite3.Error as error:
        raise ValueError(f"{file}: not a readable memory store ({error})") from error
    return store


def settings_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings that a file holds, unchecked; none of a file that is no store, which `load` then says."""
    try:
        with _looking(Path(path)) as connection:
            return sql.read_config(connection, str(path)) if sql.is_store(connection) else {}
    except (ValueError, sqlite3.Error):
        return {}


def ids_from(path: str | os.PathLike[str], start: str, most: int) -> list[str]:
    """The first ids of a file that begin so; none of a file that cannot be read."""
    if not os.path.isfile(path):
        return []
    try:
        with _looking(Path(path)) as connection:
            return sql.ids_from(connection, start, most) if sql.is_store(connection) else []
    except (OSError, sqlite3.Error):
        return []


def holds_versions(path: str | os.PathLike[str]) -> bool:
    """Whether a file keeps what memories were."""
    try:
        with _looking(Path(path)) as connection:
            return sql.keeps_versions(connection)
    except sqlite3.Error:
        return False


def _looking(file: Path) -> contextlib.AbstractContextManager[sqlite3.Connection]:
    """For a glance: leaves nothing beside a file at rest."""
    return sql.reading(file) if _at_rest(file) is None else sql.peeking(file)


def _read_at_rest(file: Path, store_from: Callable[..., Store]) -> Store | None:
    """What is in a file that no program is writing; None where one may be.

    Read without locks, and without the log that SQLite would make beside a file that was a live one: it would stay
    there, and cannot be made in a folder that is read-only. Whether the file really was at rest shows afterwards.
    """
    before = _at_rest(file)
    if before is None:
        return None
    try:
        with sql.peeking(file) as connection:
            try:
                store = store_from(connection, sql.direct(file))
            except RuntimeError:  # Python's module reads it then, or tells why not
                store = store_from(connection)
    except (ValueError, sqlite3.Error):
        if _at_rest(file) == before:
            raise
        return None
    return store if _at_rest(file) == before else None


def _read_beside_others(file: Path, store_from: Callable[[sqlite3.Connection], Store]) -> Store:
    """What is in a file that programs may be writing, or died writing: SQLite takes back what they did not finish."""
    try:
        with sql.reading(file) as connection:
            return store_from(connection)
    except sqlite3.OperationalError as error:
        if not sql.needs_recovery(error):
            raise
    with contextlib.closing(sql.connect(file, "rw", sql.READ_PATIENCE)) as connection:
        return store_from(connection)


def _at_rest(file: Path) -> tuple[int, ...] | None:
    """Tells one state of a file from another; None while there are journals beside it.

    The file is not opened for this: closing it would drop the locks of the connections this process has to it.
    """
    if any(os.path.exists(f"{os.path.realpath(file)}{suffix}") for suffix in SIDECARS):
        return None
    found = os.stat(file)
    return found.st_ino, found.st_size, found.st_mtime_ns


def archive_in(connection: sqlite3.Connection, where: str, run: sql.Run | None = None) -> Archive:
    """What a file holds, read along with what is asked of it; `run` as for `sql.read`."""
    if not sql.is_store(connection):
        raise ValueError(f"{where}: not a memory store: it has no tables config and records")
    config = sql.read_config(connection, where)
    fields = sql.no_fields()
    dim = sql.checked_dim(config, where)
    vectors = sql.read(connection, fields, dim, where, run=run)
    return Archive(config, fields, vectors, sql.count(connection, dim, where))
