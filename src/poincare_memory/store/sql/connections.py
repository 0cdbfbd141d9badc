"""Connections to a store's file, and what they do to it as a whole."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..._core import _kernels

Run = Callable[[str], Iterator[tuple[Any, ...]]]  # a statement, into what it finds

PAGE_SIZE: Final = 32768  # of saved files: a record with its vectors is several kilobytes
SAVING_CACHE: Final = 500  # KiB: pages are written once, and while the processor has them in cache
LIVE_PAGE_SIZE: Final = 4096  # of live files: a small write touches few, small pages
COPIED_AT_ONCE: Final = 1024  # pages between two looks for Ctrl-C
ALONE: Final = "mode=ro&immutable=1"  # no locks, nothing left beside the file
READ_PATIENCE: Final = 10.0  # seconds to wait for a program that keeps a file locked


def connect(file: Path, mode: str, timeout: float) -> sqlite3.Connection:
    """Connection in autocommit; `mode` is "ro", "rw" or "rwc". Any thread may use it, one at a time."""
    return _connected(file, f"mode={mode}", timeout)


def _connected(file: Path, how: str, timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        _uri(file, how),
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")  # what a hostile schema calls, runs nothing
    except BaseException:
        connection.close()
        raise
    return connection


def _uri(file: Path, how: str) -> str:
    return f"{file.absolute().as_uri()}?{how}"


@contextlib.contextmanager
def reading(file: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect(file, "ro", timeout=READ_PATIENCE)) as connection:
        yield connection


@contextlib.contextmanager
def peeking(file: Path) -> Iterator[sqlite3.Connection]:
    """Read the file alone, without locks, and leave nothing beside it: it must not be changing."""
    with contextlib.closing(_connected(file, ALONE, timeout=0)) as connection:
        yield connection


def direct(file: Path) -> Run:
    """Runs statements on a file as `peeking` would, several times as fast, where the library of Python's module shows
    its functions; RuntimeError where it does not, and of whatever else goes wrong."""
    module: str | None = getattr(sys.modules.get("_sqlite3"), "__file__", None)
    return partial(_kernels.SqliteRows, module, _uri(file, ALONE))


def is_busy(error: sqlite3.OperationalError) -> bool:
    return "locked" in str(error) or "busy" in str(error)


def needs_recovery(error: sqlite3.OperationalError) -> bool:
    """Whether a reader may not take back what a program that died left half done."""
    return "readonly" in str(error)


class snapshot:
    """One consistent state for all reads inside.

    Not a generator: one that Ctrl-C keeps from being entered or left would end later, in the middle of other work.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._end()  # of a snapshot that Ctrl-C kept from being left
        try:
            self._connection.execute("BEGIN")
        except BaseException:
            self._end()
            raise

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def parts(connection: sqlite3.Connection) -> set[str]:
    """Names of everything in the schema."""
    return _named(connection, "SELECT name FROM sqlite_master")


def is_store(connection: sqlite3.Connection) -> bool:
    """Whether the tables of format 1 are there: real ones; a virtual one, which would run an extension, has no root."""
    found = _named(connection, "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
    return {"config", "records"} <= found


def _named(connection: sqlite3.Connection, statement: str) -> set[str]:
    try:
        return {name for (name,) in connection.execute(statement)}
    except (UnicodeDecodeError, sqlite3.DatabaseError) as error:
        # Its own message quotes a damaged schema and is no text then: an error of its own, of Python 3.10 no message.
        if isinstance(error, sqlite3.DatabaseError) and str(error):
            raise
        raise sqlite3.DatabaseError("malformed database schema") from error


def journal_off(connection: sqlite3.Connection) -> None:
    """For a new file under another name, which whoever makes it flushes: no journal."""
    for pragma in (
        f"page_size = {PAGE_SIZE}",
        "journal_mode = OFF",
        "synchronous = OFF",
        "locking_mode = EXCLUSIVE",
        f"cache_size = {-SAVING_CACHE}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def fold(connection: sqlite3.Connection) -> None:
    """Take a write-ahead log back into its file, and use none any more."""
    connection.execute("PRAGMA journal_mode = DELETE")


def size(connection: sqlite3.Connection) -> int:
    """Bytes of the file, its write-ahead log taken in."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(page_size)


def write_ahead(connection: sqlite3.Connection, synchronous: str) -> str:
    """Use a write-ahead log; the journal mode that was had."""
    mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    connection.execute(f"PRAGMA synchronous = {synchronous.upper()}")
    return mode


def never_wait(connection: sqlite3.Connection) -> None:
    """Fail at once while others write."""
    connection.execute("PRAGMA busy_timeout = 0")


def small_pages(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size = {LIVE_PAGE_SIZE}")


def begin_writing(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")


def commit(connection: sqlite3.Connection) -> None:
    connection.execute("COMMIT")


def roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def copy(source: sqlite3.Connection, target: Path) -> None:
    """The whole file, as of now, as one file without a write-ahead log; Ctrl-C ends it between two parts.

    All parts are read in one transaction: SQLite begins again otherwise whenever somebody has written meanwhile.
    """
    with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as connection:
        with snapshot(source):
            parts(source)  # a transaction sees what there is at its first read
            source.backup(connection, pages=COPIED_AT_ONCE, progress=_let_signals_in)
        fold(connection)


def _let_signals_in(*_: int) -> None:
    """Python sees to them wherever a function of its own begins."""


def give_back(connection: sqlite3.Connection, patience: float) -> None:
    """Make the file as small as what it holds."""
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * patience)}")
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        never_wait(connection)


def data_version(connection: sqlite3.Connection) -> int:
    """Changes whenever another connection has committed."""
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version
