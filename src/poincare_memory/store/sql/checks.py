"""What is checked of a file before its records are believed."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import lt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._core import _kernels
from ..digests import settings_digest
from .rows import UNDIGESTED


def digest_of_settings(connection: sqlite3.Connection) -> int:
    return settings_digest(connection.execute("SELECT key, value FROM config").fetchall())


def refuse_computed(connection: sqlite3.Connection, where: str) -> None:
    """A store's columns hold what they say; one that a hostile file computes could be of any size."""
    for table in ("config", "records"):
        for column in connection.execute(f"PRAGMA table_xinfo({table})"):
            if column[6]:
                raise ValueError(f"{where}: not a memory store: {table}.{column[1]} is a computed column")


def check_structure(connection: sqlite3.Connection, where: str, what: str = "1") -> None:
    """SQLite's own check of a table, or of the whole file up to the first fault."""
    found = connection.execute(f"PRAGMA integrity_check({what})").fetchone()[0]
    if found != "ok":
        raise ValueError(f"{where}: damaged: {found}")


def verify_settings(connection: sqlite3.Connection, where: str) -> None:
    noted = connection.execute("SELECT digest FROM pm_config_digest").fetchall()
    if noted and noted != [(digest_of_settings(connection),)]:
        raise ValueError(f"{where}: damaged: config does not match its digest")


class NotedDigests:
    """Noted digests, in order of `pos`, compared with the records as they come, in the same order.

    Every digest must find its record. A record without one was written by a program that keeps none.
    """

    def __init__(self, noted: Iterator[tuple[Any, ...]], where: str) -> None:
        self._noted = noted
        self._waiting: list[tuple[Any, ...]] = []  # noted, and their records not read yet
        self._where = where
        self._last: int | None = None  # pos of the record before

    def verify(self, columns: Mapping[str, list[Any]], digests: NDArray[np.int64]) -> None:
        """The next records, and what their digests are."""
        self._waiting += islice(self._noted, max(0, len(digests) - len(self._waiting)))
        positions, counts, accessed = (columns[name] for name in UNDIGESTED)
        if _kernels.digests_match(self._waiting, positions, counts, accessed, digests, self._last):
            self._waiting = []
        else:
            self._check_order(self._last, positions, "records")
            found = list(zip(positions, counts, accessed, digests.tolist(), strict=True))
            self._compare_each(found, columns["id"])
        self._last = columns["pos"][-1]

    def _compare_each(self, found: Sequence[tuple[Any, ...]], ids: Sequence[Any]) -> None:
        self._check_order(None, [row[0] for row in self._waiting], "pm_digest")
        waiting = deque(self._waiting)
        for row, id in zip(found, ids, strict=True):
            if not waiting or waiting[0][0] > row[0]:
                continue
            if waiting[0][0] < row[0]:
                raise self._lost(waiting[0][0])
            if waiting.popleft() != row:
                raise self._damaged(f"record {id!r:.80} at position {row[0]} does not match its digest")
        self._waiting = list(waiting)

    def _check_order(self, before: int | None, positions: Sequence[Any], table: str) -> None:
        known = set(map(type, positions)) == {int} and (before is None or before < positions[0])
        if known and all(map(lt, positions, positions[1:])):
            return
        for pos in positions:
            if type(pos) is not int or (before is not None and pos <= before):
                raise ValueError(
                    f"{self._where}: damaged: {table}.pos does not order its table ({pos!r:.80})"
                )
            before = pos

    def finish(self) -> None:
        """After the last record."""
        for pos, *_ in chain(self._waiting, self._noted):
            raise self._lost(pos)

    def _lost(self, pos: Any) -> ValueError:
        return self._damaged(f"the record at position {pos!r:.80} is missing")

    def _damaged(self, message: str) -> ValueError:
        return ValueError(
            f"{self._where}: damaged: {message} "
            "(if a program replaced the whole table on purpose, empty the table pm_digest)"
        )
