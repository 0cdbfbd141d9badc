"""Records of a file of format 1, read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from operator import eq
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..._core import _kernels
from ..archive import EXTRAS, Floats
from ..schema import DIGEST_TABLES, LIVE_TABLES
from .checks import NotedDigests, check_structure, refuse_computed, verify_settings
from .connections import Run, parts, size
from .rows import COLUMNS, NOTED, READ, RECORD, UNDIGESTED, WITH_EXTRAS, WITHOUT_EXTRAS, text_digests


@dataclass
class Found:
    """Records as a file holds them, in order of `pos`; meta parsed, nothing else checked yet."""

    positions: list[Any]
    fields: dict[str, list[Any]]
    points: Floats
    embeddings: Floats

    def __len__(self) -> int:
        return len(self.positions)

    def only(self, numbers: list[int]) -> Found:
        """Some of them."""
        return Found(
            [self.positions[i] for i in numbers],
            {name: [values[i] for i in numbers] for name, values in self.fields.items()},
            self.points[numbers],
            self.embeddings[numbers],
        )


BLOCK_BYTES: Final = 2**22  # of vectors that are read at once: few changes between SQLite's work and ours


def ids_from(connection: sqlite3.Connection, start: str, most: int) -> list[str]:
    """The first ids, in their own order, that begin so."""
    rows = connection.execute(
        "SELECT id FROM records WHERE id >= ? AND substr(id, 1, ?) = ? ORDER BY id LIMIT ?",
        (start, len(start), start, most),
    )
    return [id for (id,) in rows]


def count(connection: sqlite3.Connection, dim: int, where: str) -> int:
    """How many records there are; ValueError where their vectors would not fit into the file.

    A hostile tree, whose branches meet again, has more leaves than can be counted.
    """
    most = size(connection) // (16 * dim)
    query = "SELECT count(*) FROM (SELECT 1 FROM records LIMIT ?)"
    found: int = connection.execute(query, (most + 1,)).fetchone()[0]
    if found > most:
        raise _too_large(where)
    return found


def _too_large(where: str) -> ValueError:
    return ValueError(f"{where}: damaged: its records are larger than the file")


def no_fields() -> dict[str, list[Any]]:
    """One empty list a field of a record."""
    return {name: [] for name in (*COLUMNS, *EXTRAS)}


def read(
    connection: sqlite3.Connection,
    fields: dict[str, list[Any]],
    dim: int,
    where: str,
    positions: list[Any] | None = None,
    run: Run | None = None,
) -> Iterator[tuple[Floats, Floats]]:
    """Points and embeddings of all records of a file of format 1, in blocks, each good until the next.

    `fields` and `positions` grow along.
    """
    refuse_computed(connection, where)
    guarded = set(DIGEST_TABLES) <= parts(connection)
    if not guarded:
        check_structure(connection, where)
    extended = _has_extras(connection)
    if extended and guarded:
        check_structure(connection, where, "'pm_extra'")  # the digests speak of records only
    names = READ if extended and _any_extras(connection) else RECORD
    reading = _Reading(fields, dim, where, positions)
    yield from reading.blocks(*_all_rows(connection, names, guarded, where, run))


def _has_extras(connection: sqlite3.Connection) -> bool:
    made = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'pm_extra'").fetchone()
    return made is not None and made[0] == LIVE_TABLES["pm_extra"]


def _any_extras(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM pm_extra LIMIT 1").fetchone() is not None


def read_live(
    connection: sqlite3.Connection, dim: int, where: str, ids: Sequence[str] | None = None
) -> Found:
    """All records of a live file, or those with these ids that there are."""
    if ids is None:
        check_structure(connection, where, "'pm_extra'")
        return found_in(*_all_rows(connection, READ, True, where), dim, where)
    rows = []
    for id in ids:
        rows += connection.execute(f"{WITH_EXTRAS} WHERE r.id = ?", (id,)).fetchall()
    rows.sort(key=lambda row: row[0])
    noted = []
    for row in rows:
        noted += connection.execute(f"{NOTED} WHERE pos = ?", (row[0],)).fetchall()
    return found_in(Rows(READ, iter(rows)), NotedDigests(iter(noted), where), dim, where)


@dataclass
class Rows:
    """Rows of records that are being read.

    A file cannot hold more than its size: what a hostile one makes out of nothing (a long default value for
    columns that its rows do not have, pages that many rows share) ends the reading, not the memory.
    """

    names: tuple[str, ...]  # of the values of each: `READ`, or `RECORD` alone
    rows: Iterator[tuple[Any, ...]]
    size: int = 2**60  # of the file, where they are as many as it says


def _all_rows(
    connection: sqlite3.Connection,
    names: tuple[str, ...],
    guarded: bool,
    where: str,
    run: Run | None = None,
) -> tuple[Rows, NotedDigests]:
    """Rows and their digests; `run` is another way than the connection to run statements on the same file."""
    run = connection.execute if run is None else run
    noted: Iterator[tuple[Any, ...]] = iter(())
    if guarded:
        verify_settings(connection, where)
        noted = run(f"{NOTED} ORDER BY pos")
    found = run(f"{WITH_EXTRAS if names is READ else WITHOUT_EXTRAS} ORDER BY r.pos")
    return Rows(names, found, size(connection)), NotedDigests(noted, where)


class _Reading:
    """Rows taken apart: fields into lists that grow, vectors into blocks."""

    def __init__(
        self, fields: dict[str, list[Any]], dim: int, where: str, positions: list[Any] | None = None
    ) -> None:
        self.fields = fields
        self.positions: list[Any] = [] if positions is None else positions
        self._dim = dim
        self._where = where

    def blocks(self, found: Rows, digests: NotedDigests | None) -> Iterator[tuple[Floats, Floats]]:
        """Points and embeddings, good until the next block: memory that is used again needs no clearing."""
        most = min(max(BLOCK_BYTES // (16 * self._dim), 1), 1024)
        width = min(8 * self._dim, found.size)  # a declared dimension allocates no more than there may be
        room = 2 * found.size  # a database in UTF-16 may be read as longer UTF-8
        known = np.empty(most, np.int64)
        points, embeddings = (np.empty((most, width), np.uint8) for _ in range(2))
        rows = found.rows
        take = rows.take if isinstance(rows, _kernels.SqliteRows) else partial(_kernels.take_records, rows)
        while True:
            values: list[list[Any]] = [[] for _ in found.names]
            n, length, odd = take(
                most,
                room,
                len(UNDIGESTED),
                RECORD.index("point"),
                values,
                points,
                embeddings,
                known,
            )
            room -= length
            if n == 0:
                break
            if room < 0 or width < 8 * self._dim:
                raise _too_large(self._where)
            columns = dict(zip(found.names, values, strict=True))
            if digests is not None:
                digests.verify(columns, known[:n])
            self._check_vectors(odd)
            self._add(columns)
            yield _numbers(points[:n]), _numbers(embeddings[:n])
        if digests is not None:
            digests.finish()

    def _check_vectors(self, odd: list[tuple[int, int, Any]]) -> None:
        for i, at, value in odd:
            found = f"{len(value)} bytes" if isinstance(value, bytes) else type(value).__name__
            raise ValueError(
                f"{self._where}: record {len(self.positions) + i}: {RECORD[at]}: "
                f"expected {8 * self._dim} bytes of float64, got {found}"
            )

    def _add(self, columns: Mapping[str, Sequence[Any]]) -> None:
        first = len(self.positions)
        self.positions += columns["pos"]
        for name, column in COLUMNS.items():
            self.fields[name] += self._metas(columns["meta"], first) if name == "meta" else columns[column]
        if "text_digest" in columns:
            self._add_extras(columns)

    def _metas(self, texts: Sequence[Any], first: int) -> Iterable[Any]:
        if texts.count("{}") == len(texts):
            return repeat(None, len(texts))
        return (_meta(text, i, self._where) for i, text in enumerate(texts, first))

    def _add_extras(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """The `EXTRAS` of each record, where they were written for it as it is."""
        noted, found = columns["text_digest"], text_digests(columns["text"])
        if noted == found:
            for name in EXTRAS:
                self.fields[name] += columns[name]
            return
        written = list(map(eq, noted, found))
        for name in EXTRAS:
            values = zip(written, columns[name], strict=True)
            self.fields[name] += (value if holds else None for holds, value in values)


def _numbers(data: NDArray[np.uint8]) -> Floats:
    """Little-endian float64, a row of bytes each."""
    return data.view("<f8").astype(np.float64, copy=False)


def found_in(rows: Rows, digests: NotedDigests | None, dim: int, where: str) -> Found:
    reading = _Reading(no_fields(), dim, where)
    blocks = [(np.empty((0, dim)), np.empty((0, dim)))]
    blocks += ((points.copy(), embeddings.copy()) for points, embeddings in reading.blocks(rows, digests))
    points, embeddings = (np.concatenate(matrices) for matrices in zip(*blocks, strict=True))
    return Found(reading.positions, reading.fields, points, embeddings)


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
