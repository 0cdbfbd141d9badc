"""All SQL that is run (but on damaged files: `salvage`); what the tables are is told by `schema`.

What other processes do to a live file is told by `pm_change`, which triggers fill, whoever writes.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice, repeat
from operator import eq, lt
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from .archive import EXTRAS, Floats
from .digests import record_digests, settings_digest
from .schema import (
    CONFIGURED,
    DIGEST_TABLES,
    DIGEST_TRIGGERS,
    HISTORY_PARTS,
    LIVE_TABLES,
    LIVE_TRIGGERS,
    SCHEMA,
)

PAGE_SIZE: Final = 32768  # of saved files: a record with its vectors is several kilobytes
LIVE_PAGE_SIZE: Final = 4096  # of live files: a small write touches few, small pages
READ_PATIENCE: Final = 10.0  # seconds to wait for a program that keeps a file locked
LOG_LENGTH: Final = 100_000  # entries of pm_change that are kept
LOG_SLACK: Final = 20_000  # and how many more there may be before they are cut

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


# --- connections --------------------------------------------------------------------------------------


def connect(file: Path, mode: str, timeout: float) -> sqlite3.Connection:
    """Connection in autocommit; `mode` is "ro", "rw" or "rwc". Any thread may use it, one at a time."""
    return _connected(file, f"mode={mode}", timeout)


def _connected(file: Path, how: str, timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{file.absolute().as_uri()}?{how}",
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


@contextlib.contextmanager
def reading(file: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect(file, "ro", timeout=READ_PATIENCE)) as connection:
        yield connection


@contextlib.contextmanager
def peeking(file: Path) -> Iterator[sqlite3.Connection]:
    """Read the file alone, without locks, and leave nothing beside it: it must not be changing."""
    with contextlib.closing(_connected(file, "mode=ro&immutable=1", timeout=0)) as connection:
        yield connection


def is_busy(error: sqlite3.OperationalError) -> bool:
    return "locked" in str(error) or "busy" in str(error)


def needs_recovery(error: sqlite3.OperationalError) -> bool:
    """Whether a reader may not take back what a program that died left half done."""
    return "readonly" in str(error)


@contextlib.contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One consistent state for all reads inside."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def parts(connection: sqlite3.Connection) -> set[str]:
    """Names of everything in the schema."""
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def is_store(connection: sqlite3.Connection) -> bool:
    """Whether the tables of format 1 are there: real ones; a virtual one, which would run an extension, has no root."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
    return {"config", "records"} <= {name for (name,) in found}


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
    for statement in (*SCHEMA, *DIGEST_TABLES.values(), LIVE_TABLES["pm_extra"]):
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO config VALUES (?, ?)", ((key, json.dumps(value)) for key, value in config.items())
    )


def guard(connection: sqlite3.Connection) -> None:
    """From now on the digests of a new file follow what is changed in it."""
    for statement in DIGEST_TRIGGERS.values():
        connection.execute(statement)
    seal_settings(connection)


def seal_settings(connection: sqlite3.Connection) -> None:
    """Note the digest of the settings as they are."""
    connection.execute("DELETE FROM pm_config_digest")
    connection.execute("INSERT INTO pm_config_digest VALUES (?)", (_settings_digest(connection),))


def seal(connection: sqlite3.Connection, positions: Iterable[int]) -> None:
    """Note the digests of these records as they are."""
    for pos in positions:
        row = connection.execute(f"{_LIVE} WHERE r.pos = ?", (pos,)).fetchone()
        if row is not None:
            _put_digests(connection, _columns_of([row]))


def _put_digests(connection: sqlite3.Connection, columns: Mapping[str, Sequence[Any]]) -> None:
    """Note the digests of records, which are given as `_READ` names them."""
    digests = {name: columns[name] for name in _UNDIGESTED} | {"digest": _digests_of(columns)}
    _put(connection, "INSERT OR REPLACE INTO pm_digest", digests)


def _digests_of(columns: Mapping[str, Sequence[Any]]) -> list[int]:
    return record_digests([values for name, values in columns.items() if name not in _UNDIGESTED])


def record_digest(record: Mapping[str, Any], extras: Sequence[Any]) -> int:
    """Digest of one record, its fields named as those of an archive; `extras` are its values in pm_extra, if any."""
    columns = {column: record[name] for name, column in COLUMNS.items()} | {**record}
    values = [columns[name] for name in _RECORD if name not in _UNDIGESTED]
    return record_digests([[value] for value in (*values, *extras)])[0]


def _settings_digest(connection: sqlite3.Connection) -> int:
    return settings_digest(connection.execute("SELECT key, value FROM config").fetchall())


def insert(
    connection: sqlite3.Connection,
    positions: Iterable[int],
    fields: dict[str, list[Any]],
    vectors: Iterable[tuple[NDArray[Any], NDArray[Any]]],
) -> None:
    """New rows of `records` and what belongs to them; `vectors` are blocks of points and embeddings."""
    columns: dict[str, list[Any]] = {column: fields[name] for name, column in COLUMNS.items()}
    columns |= {"pos": list(positions), "meta": list(map(meta_text, fields["meta"]))}
    extras = _extras_of(fields)
    start, digests = 0, list[int]()
    for points, embeddings in vectors:
        block = slice(start, start + len(points))
        records = {name: values[block] for name, values in columns.items()}
        records |= {"point": blobs(points), "embedding": blobs(embeddings)}
        _put(connection, "INSERT INTO records", records)
        records = {name: records[name] for name in _RECORD} | {
            name: values[block] for name, values in extras.items()
        }
        digests += _digests_of(records)
        start = block.stop
    noted = {name: columns[name] for name in _UNDIGESTED} | {"digest": digests}
    _put(connection, "INSERT OR REPLACE INTO pm_digest", noted)
    if extras:
        has_any = [noted is not None for noted in extras["text_digest"]]
        named = {"id": fields["id"], "digest": extras.pop("text_digest")} | extras
        chosen = {name: list(compress(values, has_any)) for name, values in named.items()}
        _put(connection, "INSERT OR REPLACE INTO pm_extra", chosen)


def _extras_of(fields: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns of pm_extra for records that have any; none where no record has."""
    extras = {name: fields[name] for name in EXTRAS}
    if not any(map(_says_something, extras.values())):
        return {}
    noted: list[int | None] = list(text_digests(fields["text"]))
    if all(None in values for values in extras.values()):  # some record may have none
        rows = zip(noted, *extras.values(), strict=True)
        noted = [None if row[1:] == _NO_EXTRA else row[0] for row in rows]
    return {"text_digest": noted} | extras


def _says_something(values: Sequence[Any]) -> bool:
    return values.count(None) < len(values)


def _put(connection: sqlite3.Connection, verb: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Insert rows that are given as columns. One of nothing but NULL is left out: binding None takes long."""
    said = {name: values for name, values in columns.items() if _says_something(values)}
    if not said:  # no rows
        return
    statement = f"{verb} ({', '.join(said)}) VALUES ({', '.join('?' * len(said))})"
    connection.executemany(statement, zip(*said.values(), strict=True))


def meta_text(meta: dict[str, Any] | None) -> str:
    return json.dumps(meta, allow_nan=False) if meta else "{}"


def blobs(matrix: NDArray[Any]) -> list[bytearray]:
    """Each row as little-endian float64 bytes; a bytearray, because Python's module takes long to bind others."""
    data = np.ascontiguousarray(matrix, "<f8").reshape(-1).data.cast("B")
    width = 8 * matrix.shape[1]
    return [bytearray(data[start : start + width]) for start in range(0, len(data), width)]


# --- format 1, read -----------------------------------------------------------------------------------


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


# What digests do not speak of, so that uses can be counted without them: pm_digest holds copies.
_UNDIGESTED: Final = ("pos", "access_count", "last_accessed")
_RECORD: Final = (
    *_UNDIGESTED,
    *(column for column in COLUMNS.values() if column not in _UNDIGESTED),
    "point",
    "embedding",
)
_SELECTED: Final = ", ".join(f"r.{name}" for name in _RECORD)
_EXTRAS: Final = ", ".join(f"x.{name}" for name in EXTRAS)
_LIVE: Final = f"SELECT {_SELECTED}, x.digest, {_EXTRAS} FROM records r LEFT JOIN pm_extra x ON x.id = r.id"
_PLAIN: Final = f"SELECT {_SELECTED} FROM records r"
_READ: Final = (*_RECORD, "text_digest", *EXTRAS)  # names of the columns that `_LIVE` selects
_NOTED: Final = f"SELECT {', '.join((*_UNDIGESTED, 'digest'))} FROM pm_digest"
_NO_EXTRA: Final = (None,) * len(EXTRAS)
BLOCK_BYTES: Final = 2**20  # of vectors that are read at once: they stay in the processor's cache


def _columns_of(rows: Sequence[tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Column by column what `_LIVE` or `_PLAIN` selected."""
    return dict(zip(_READ, zip(*rows, strict=True), strict=False))


def size(connection: sqlite3.Connection) -> int:
    """Bytes of the file, its write-ahead log taken in."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(page_size)


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
) -> Iterator[tuple[Floats, Floats]]:
    """Points and embeddings of all records of a file of format 1, in blocks; `fields`, `positions` grow along."""
    refuse_computed(connection, where)
    guarded = set(DIGEST_TABLES) <= parts(connection)
    if not guarded:
        _check_structure(connection, where)
    extended = _has_extras(connection)
    if extended and guarded:
        _check_structure(connection, where, "'pm_extra'")  # the digests speak of records only
    names = _READ if extended and _any_extras(connection) else _RECORD
    reading = _Reading(fields, dim, where, positions)
    yield from reading.blocks(*_all_rows(connection, names, guarded, where))


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
        _check_structure(connection, where, "'pm_extra'")
        return _found(*_all_rows(connection, _READ, True, where), dim, where)
    rows = []
    for id in ids:
        rows += connection.execute(f"{_LIVE} WHERE r.id = ?", (id,)).fetchall()
    rows.sort(key=lambda row: row[0])
    noted = []
    for row in rows:
        noted += connection.execute(f"{_NOTED} WHERE pos = ?", (row[0],)).fetchall()
    return _found(_Rows(_READ, iter(rows)), _Digests(iter(noted), where), dim, where)


@dataclass
class _Rows:
    """Rows of records that are being read.

    A file cannot hold more than its size: what a hostile one makes out of nothing (a long default value for
    columns that its rows do not have, pages that many rows share) ends the reading, not the memory.
    """

    names: tuple[str, ...]  # of the values of each: `_READ`, or `_RECORD` alone
    rows: Iterator[tuple[Any, ...]]
    size: int = 2**60  # of the file, where they are as many as it says


def _all_rows(
    connection: sqlite3.Connection, names: tuple[str, ...], guarded: bool, where: str
) -> tuple[_Rows, _Digests]:
    noted: Iterator[tuple[Any, ...]] = iter(())
    if guarded:
        verify_settings(connection, where)
        noted = connection.execute(f"{_NOTED} ORDER BY pos")
    found = connection.execute(f"{_LIVE if names is _READ else _PLAIN} ORDER BY r.pos")
    return _Rows(names, found, size(connection)), _Digests(noted, where)


def refuse_computed(connection: sqlite3.Connection, where: str) -> None:
    """A store's columns hold what they say; one that a hostile file computes could be of any size."""
    for table in ("config", "records"):
        for column in connection.execute(f"PRAGMA table_xinfo({table})"):
            if column[6]:
                raise ValueError(f"{where}: not a memory store: {table}.{column[1]} is a computed column")


def _check_structure(connection: sqlite3.Connection, where: str, what: str = "1") -> None:
    """SQLite's own check of a table, or of the whole file up to the first fault."""
    found = connection.execute(f"PRAGMA integrity_check({what})").fetchone()[0]
    if found != "ok":
        raise ValueError(f"{where}: damaged: {found}")


def verify_settings(connection: sqlite3.Connection, where: str) -> None:
    noted = connection.execute("SELECT digest FROM pm_config_digest").fetchall()
    if noted and noted != [(_settings_digest(connection),)]:
        raise ValueError(f"{where}: damaged: config does not match its digest")


class _Digests:
    """Noted digests, in order of `pos`, compared with the records as they come, in the same order.

    Every digest must find its record. A record without one was written by a program that keeps none.
    """

    def __init__(self, noted: Iterator[tuple[Any, ...]], where: str) -> None:
        self._noted = noted
        self._waiting: list[tuple[Any, ...]] = []  # noted, and their records not read yet
        self._where = where
        self._last: int | None = None  # pos of the record before

    def verify(self, columns: Mapping[str, Sequence[Any]], digests: Sequence[int]) -> None:
        """The next records, and what their digests are."""
        self._check_order(self._last, columns["pos"], "records")
        self._last = columns["pos"][-1]
        found = list(zip(*(columns[name] for name in _UNDIGESTED), digests, strict=True))
        self._waiting += islice(self._noted, max(0, len(found) - len(self._waiting)))
        if self._waiting == found:
            self._waiting = []
        else:
            self._compare_each(found, columns["id"])

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


class _Reading:
    """Rows taken apart: fields into lists that grow, vectors into blocks."""

    def __init__(
        self, fields: dict[str, list[Any]], dim: int, where: str, positions: list[Any] | None = None
    ) -> None:
        self.fields = fields
        self.positions: list[Any] = [] if positions is None else positions
        self._dim = dim
        self._where = where

    def blocks(self, found: _Rows, digests: _Digests | None) -> Iterator[tuple[Floats, Floats]]:
        most = min(max(BLOCK_BYTES // (16 * self._dim), 1), 1024)
        width = min(8 * self._dim, found.size)  # a declared dimension allocates no more than there may be
        room = 2 * found.size  # a database in UTF-16 may be read as longer UTF-8
        known = np.empty(most, np.int64)
        while True:
            values: list[list[Any]] = [[] for _ in found.names]
            points, embeddings = (np.empty((most, width), np.uint8) for _ in range(2))
            n, length, odd = _kernels.take_records(
                found.rows,
                most,
                room,
                len(_UNDIGESTED),
                _RECORD.index("point"),
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
                digests.verify(columns, known[:n].tolist())
            self._check_vectors(odd)
            self._add(columns)
            yield _numbers(points[:n]), _numbers(embeddings[:n])
        if digests is not None:
            digests.finish()

    def _check_vectors(self, odd: list[tuple[int, int, Any]]) -> None:
        for i, at, value in odd:
            found = f"{len(value)} bytes" if isinstance(value, bytes) else type(value).__name__
            raise ValueError(
                f"{self._where}: record {len(self.positions) + i}: {_RECORD[at]}: "
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


def _found(rows: _Rows, digests: _Digests | None, dim: int, where: str) -> Found:
    reading = _Reading(no_fields(), dim, where)
    blocks = [(np.empty((0, dim)), np.empty((0, dim))), *reading.blocks(rows, digests)]
    points, embeddings = (np.concatenate(matrices) for matrices in zip(*blocks, strict=True))
    return Found(reading.positions, reading.fields, points, embeddings)


def text_digests(texts: Sequence[Any]) -> list[int]:
    """Tell whether rows of pm_extra still belong to the records they were written for."""
    return record_digests([texts])


def digest(text: Any) -> int:
    """`text_digests` of one."""
    return text_digests([text])[0]


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


# --- live files ---------------------------------------------------------------------------------------


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


def make_live(connection: sqlite3.Connection) -> None:
    """Add what is missing of our tables and triggers."""
    there = parts(connection)
    for name, statement in _OURS.items():
        if name not in there:
            connection.execute(statement)


_OURS: Final = LIVE_TABLES | DIGEST_TABLES | LIVE_TRIGGERS | DIGEST_TRIGGERS


def is_live(connection: sqlite3.Connection) -> bool:
    """Whether it has a write-ahead log and all tables and triggers of ours."""
    mode: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
    return mode == "wal" and _OURS.keys() <= parts(connection)


def foreign_parts(connection: sqlite3.Connection) -> list[str]:
    """Names of triggers that are not ours, and of tables of format 1 that are not plain tables.

    They would run with every write, or make a read compute what it reads.
    """
    strange = []
    for kind, name, statement in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        ours = (_OURS | HISTORY_PARTS).get(name)
        if statement != ours and (kind == "trigger" or ours is not None):
            strange.append(str(name))
    for name, count in (("config", 2), ("records", 12)):
        columns = connection.execute(f"PRAGMA table_xinfo({name})").fetchall()
        if len(columns) != count or any(column[6] for column in columns):
            strange.append(name)
    return strange


def copy(source: sqlite3.Connection, target: Path) -> None:
    """The whole file, as of now, as one file without a write-ahead log."""
    with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as connection:
        source.backup(connection)
        fold(connection)


def give_back(connection: sqlite3.Connection, patience: float) -> None:
    """Make the file as small as what it holds."""
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * patience)}")
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        never_wait(connection)


def keep_versions(connection: sqlite3.Connection) -> None:
    """From now on there is room for what records were."""
    for statement in HISTORY_PARTS.values():
        connection.execute(statement)
    connection.execute(
        f"INSERT INTO pm_change (kind, id) VALUES ({CONFIGURED}, 'history')"
    )  # others have to know


def keeps_versions(connection: sqlite3.Connection) -> bool:
    return "pm_history" in parts(connection)


_BEGAN: Final = "(SELECT max(h.replaced) FROM pm_history h WHERE h.pos = r.pos)"


def put_versions(connection: sqlite3.Connection, positions: Iterable[int], moment: int) -> None:
    """Note these records as they are, for they are about to be replaced."""
    connection.executemany(
        f"INSERT INTO pm_history ({', '.join((*_RECORD, *EXTRAS))}, began, replaced) "
        f"SELECT {_SELECTED}, {_EXTRAS}, {_BEGAN}, ? "
        "FROM records r LEFT JOIN pm_extra x ON x.id = r.id WHERE r.pos = ?",
        ((moment, pos) for pos in positions),
    )


_VERSION: Final = (
    f"SELECT {', '.join(f'h.{name}' for name in (*_RECORD, *EXTRAS))}, h.began, h.replaced FROM pm_history h"
)


def versions_of(
    connection: sqlite3.Connection, id: str, dim: int, where: str
) -> tuple[Found, list[tuple[int | None, int]]]:
    """Past versions of a memory, the oldest first, and from when till when each stood."""
    return _versions(connection.execute(f"{_VERSION} WHERE h.id = ? ORDER BY h.serial", (id,)), dim, where)


def versions_at(
    connection: sqlite3.Connection, moment: int, dim: int, where: str
) -> tuple[Found, list[tuple[int | None, int]]]:
    """Of every memory that was replaced after a moment the version that came first after it, by `pos`."""
    first = "(SELECT min(g.replaced) FROM pm_history g WHERE g.pos = h.pos AND g.replaced > :moment)"
    chosen = f"(SELECT min(f.serial) FROM pm_history f WHERE f.pos = h.pos AND f.replaced = {first})"
    query = f"{_VERSION} WHERE h.replaced > :moment AND h.serial = {chosen} ORDER BY h.pos"
    return _versions(connection.execute(query, {"moment": moment}), dim, where)


def version_texts(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Serial number and text of every past version."""
    if not keeps_versions(connection):
        return []
    return connection.execute("SELECT serial, text FROM pm_history ORDER BY serial").fetchall()


def update_versions(connection: sqlite3.Connection, rows: Iterable[tuple[Any, Any, int]]) -> None:
    """(point, embedding, serial) each."""
    connection.executemany("UPDATE pm_history SET point = ?, embedding = ? WHERE serial = ?", rows)


def _versions(
    rows: Iterable[tuple[Any, ...]], dim: int, where: str
) -> tuple[Found, list[tuple[int | None, int]]]:
    width, text, spans, chunk = len(_RECORD), _RECORD.index("text"), [], []
    for row in rows:
        chunk.append((*row[:width], digest(row[text]), *row[width:-2]))
        spans.append((row[-2], row[-1]))
    return _found(_Rows(_READ, iter(chunk)), None, dim, where), spans


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


def text_of(connection: sqlite3.Connection, id: str) -> tuple[str, str | None] | None:
    """text and parent of a record."""
    found: tuple[str, str | None] | None = connection.execute(
        "SELECT text, parent_id FROM records WHERE id = ?", (id,)
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


def update_vectors(connection: sqlite3.Connection, rows: Iterable[tuple[Any, Any, int]]) -> int:
    """(point, embedding, pos) each; how many there were."""
    return _each(connection, "UPDATE records SET point = ?, embedding = ? WHERE pos = ?", rows)


def update_counts(connection: sqlite3.Connection, rows: Iterable[tuple[int, str | None, int]]) -> int:
    return _each(connection, "UPDATE records SET access_count = ?, last_accessed = ? WHERE pos = ?", rows)


def add_accesses(connection: sqlite3.Connection, rows: Iterable[tuple[int, str, int]]) -> None:
    """(how many, the last of them, pos) each, on top of what other processes counted."""
    connection.executemany(
        "UPDATE records SET access_count = access_count + ?, "
        "last_accessed = max(coalesce(last_accessed, ''), ?) WHERE pos = ?",
        rows,
    )


def put_extras(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """(id, text, *EXTRAS) each."""
    rows = ((id, digest(text), *extras) for id, text, *extras in rows)
    connection.executemany(
        f"INSERT INTO pm_extra VALUES (?, ?{', ?' * len(EXTRAS)}) ON CONFLICT (id) DO UPDATE SET "
        + ", ".join(f"{name} = excluded.{name}" for name in ("digest", *EXTRAS)),
        rows,
    )


def put_config(connection: sqlite3.Connection, config: dict[str, Any]) -> None:
    connection.executemany(
        "INSERT INTO config VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        ((key, json.dumps(value)) for key, value in config.items()),
    )
    seal_settings(connection)


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
