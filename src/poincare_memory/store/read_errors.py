"""What a reader of a live store's file is told where SQLite fails."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from . import sql
from .errors import StoreBusyError, StoreReadError


@contextlib.contextmanager
def read_errors(where: str) -> Iterator[None]:
    """Within it, errors of SQLite are those of a memory; `where` is what they call the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise unreadable(where, error) from error


def unreadable(where: str, error: sqlite3.Error) -> Exception:
    """The error that says what SQLite's means for who reads."""
    if not isinstance(error, sqlite3.OperationalError) or "decode" in str(error):
        return ValueError(f"{where}: not a readable memory store any more ({error})")
    if sql.is_busy(error):
        return StoreBusyError(f"{where}: another process kept the file; nothing was changed")
    return StoreReadError(f"{where}: cannot be read ({error}); nothing was changed")
