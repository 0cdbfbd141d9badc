"""The two connections to the file of a live store, and whether its name still leads to that file."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from pathlib import Path

from . import sql
from .errors import StoreClosedError, StoreWriteError

Identity = tuple[int, int]  # device and inode


class Connections:
    """One to write with, one to ask whether anything was committed; made anew after a fork or a replacement.

    SQLite is called only under the locks of `LiveFile`.
    """

    def __init__(self, path: Path, synchronous: str, patience: float) -> None:
        self.path = path
        self.where = str(path)
        self.closed = False
        self._synchronous = synchronous
        self._patience = patience
        self._orphaned = False
        self._identity: Identity = (0, 0)
        self.writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self.seen = -1  # data_version of the reader when it last looked

    def use(self, writer: sqlite3.Connection) -> sqlite3.Connection:
        """Write with this one; the reader."""
        self.writer = writer
        sql.never_wait(writer)
        return self._connect_reader()

    def _connect_reader(self) -> sqlite3.Connection:
        self._reader = sql.connect(self.path, "rw", self._patience)
        self._identity = identity(self.path)
        self.seen = -1
        return self._reader

    def close(self) -> None:
        for connection in (self._reader, self.writer):
            if connection is not None:
                connection.close()
        self._reader = self.writer = None

    def are_open(self) -> bool:
        return self._reader is not None

    def check_use(self) -> None:
        """StoreClosedError where the file may not be used any more."""
        if self.closed:
            raise StoreClosedError(f"{self.where}: this memory was closed; open it again")
        if self._orphaned:
            raise StoreClosedError(orphaned(self.where))

    def open_reader(self) -> sqlite3.Connection:
        self.check_use()
        if self._reader is None:
            writer = sql.connect(self.path, "rw", timeout=0)
            sql.write_ahead(writer, self._synchronous)
            return self.use(writer)
        return self._reader

    def open_writer(self) -> sqlite3.Connection:
        self.open_reader()
        assert self.writer is not None
        return self.writer

    # --- the file under its name --------------------------------------------------------------------------

    def is_replaced(self) -> bool:
        try:
            return identity(self.path) != self._identity
        except FileNotFoundError:  # between the two steps of a replacement, or for good: a write will tell
            return False

    def are_at(self, path: Path) -> bool:
        """Whether this is the file at `path`."""
        try:
            return identity(path) == identity(self.path)
        except OSError:
            return False

    def check_place(self) -> None:
        """StoreWriteError where the name leads to another file by now, or to none."""
        try:
            there = identity(self.path)
        except FileNotFoundError:
            raise StoreWriteError(
                f"{self.where}: the file was removed or moved while it was open; nothing was changed"
            ) from None
        if there != self._identity:
            raise StoreWriteError(
                f"{self.where}: the file was replaced by another while it was open; nothing was changed"
            )

    # --- fork ---------------------------------------------------------------------------------------------

    def abandon(self) -> None:
        """In a child that was forked while they were in use: it believes to have locks that are its parent's."""
        self._orphaned = True
        _orphaned_files.add(self._identity)
        for connection in (self._reader, self.writer):  # never closed, not even at exit
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        self._reader = self.writer = None


def identity(path: Path) -> Identity:
    """Another one is another file, whatever its name."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


_orphaned_files: set[Identity] = set()


def refuse_orphaned(path: Path) -> None:
    """A child that was forked while its parent used a file can never use it safely."""
    if _orphaned_files and path.exists() and identity(path) in _orphaned_files:
        raise StoreClosedError(orphaned(str(path)))


def orphaned(where: str) -> str:
    return f"{where}: this process was forked while the file was in use (inside a transaction?); use it elsewhere"
