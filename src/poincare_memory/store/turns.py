"""The turn to write to a file: one process at a time has it."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from . import sql
from .errors import StoreBusyError, StoreWriteError

LONGEST_NAP: Final = 0.005  # between two tries


def take_turn(
    connection: Callable[[], sqlite3.Connection], where: str, patience: float, guard: threading.Lock
) -> None:
    """Begin to write, waiting for other processes. SQLite's own waiting would hold its locks through a fork."""
    deadline = time.monotonic() + patience
    nap = 0.0005
    while True:
        try:
            with guard:
                sql.begin_writing(connection())
            return
        except sqlite3.OperationalError as error:
            if not sql.is_busy(error):
                raise StoreWriteError(f"{where}: not written ({error}); nothing was changed") from error
            if time.monotonic() >= deadline:
                raise StoreBusyError(
                    f"{where}: another process kept its turn to write for {patience:g} s; nothing was changed. "
                    "Try again, keep transactions short, or open with a longer busy_timeout"
                ) from None
        except sqlite3.Error as error:
            raise ValueError(
                f"{where}: not a memory store any more ({error}); nothing was changed"
            ) from error
        time.sleep(nap * (0.5 + random.random()))
        nap = min(2 * nap, LONGEST_NAP)


@contextmanager
def turn(connection: sqlite3.Connection, where: str, patience: float) -> Iterator[None]:
    """The turn for one transaction, which is rolled back where the block raises."""
    take_turn(lambda: connection, where, patience, threading.Lock())
    try:
        yield
        sql.commit(connection)
    finally:
        sql.roll_back(connection)


def adopt(connection: sqlite3.Connection, where: str, patience: float) -> None:
    """Make a file of format 1 a live one; ValueError where it holds what ours do not."""
    strange = sql.foreign_parts(connection)
    if strange:
        raise ValueError(f"{where}: not opened, because {strange[0]!r} in its schema is not of our making")
    with turn(connection, where, patience):
        sql.make_live(connection)
