"""Records and settings of a file of format 1, written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..._core import _kernels
from ..archive import EXTRAS
from ..digests import record_digests
from ..schema import DIGEST_TABLES, DIGEST_TRIGGERS, LIVE_TABLES, SCHEMA
from .checks import digest_of_settings
from .rows import (
    COLUMNS,
    NO_EXTRA,
    RECORD,
    UNDIGESTED,
    WITH_EXTRAS,
    columns_of,
    digest,
    digests_of,
    text_digests,
)

AT_ONCE: Final = 8192  # rows that are given to SQLite: it lets no signal in before it is done


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
    connection.execute("INSERT INTO pm_config_digest VALUES (?)", (digest_of_settings(connection),))


def seal(connection: sqlite3.Connection, positions: Iterable[int]) -> None:
    """Note the digests of these records as they are."""
    for pos in positions:
        row = connection.execute(f"{WITH_EXTRAS} WHERE r.pos = ?", (pos,)).fetchone()
        if row is not None:
            _put_digests(connection, columns_of([row]))


def _put_digests(connection: sqlite3.Connection, columns: Mapping[str, Sequence[Any]]) -> None:
    """Note the digests of records, which are given as `READ` names them."""
    digests = {name: columns[name] for name in UNDIGESTED} | {"digest": digests_of(columns)}
    put(connection, "INSERT OR REPLACE INTO pm_digest", digests)


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
    point, embedding = _Blobs(), _Blobs()
    for points, embeddings in vectors:
        block = slice(start, start + len(points))
        records = {name: values[block] for name, values in columns.items()}
        records |= {"point": point.of(points), "embedding": embedding.of(embeddings)}
        put(connection, "INSERT INTO records", records)
        records = {name: records[name] for name in RECORD} | {
            name: values[block] for name, values in extras.items()
        }
        digests += digests_of(records)
        start = block.stop
    noted = {name: columns[name] for name in UNDIGESTED} | {"digest": digests}
    put(connection, "INSERT OR REPLACE INTO pm_digest", noted)
    if extras:
        has_any = [noted is not None for noted in extras["text_digest"]]
        named = {"id": fields["id"], "digest": extras.pop("text_digest")} | extras
        chosen = {name: list(compress(values, has_any)) for name, values in named.items()}
        put(connection, "INSERT OR REPLACE INTO pm_extra", chosen)


def insert_one(connection: sqlite3.Connection, record: Mapping[str, Any], extras: Sequence[Any]) -> None:
    """`insert` of one: `record` by column, its vectors as bytes, and `extras` in their order."""
    noted = None if tuple(extras) == NO_EXTRA else digest(record["text"])
    values = [*(record[name] for name in RECORD[len(UNDIGESTED) :]), noted, *extras]
    digests = record_digests([[value] for value in values])
    _put_one(connection, "INSERT INTO records", record)
    uses = {name: record[name] for name in UNDIGESTED}
    _put_one(connection, "INSERT OR REPLACE INTO pm_digest", {**uses, "digest": digests[0]})
    if noted is not None:
        said = dict(zip(EXTRAS, extras, strict=True))
        _put_one(connection, "INSERT OR REPLACE INTO pm_extra", {"id": record["id"], "digest": noted, **said})


def _put_one(connection: sqlite3.Connection, verb: str, row: Mapping[str, Any]) -> None:
    """`put` of one row."""
    said = {name: value for name, value in row.items() if value is not None}
    connection.execute(_insertion(verb, tuple(said)), tuple(said.values()))


@lru_cache(maxsize=256)
def _insertion(verb: str, names: tuple[str, ...]) -> str:
    return f"{verb} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _extras_of(fields: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns of pm_extra for records that have any; none where no record has."""
    extras = {name: fields[name] for name in EXTRAS}
    if not any(map(says_something, extras.values())):
        return {}
    noted: list[int | None] = list(text_digests(fields["text"]))
    if all(None in values for values in extras.values()):  # some record may have none
        rows = zip(noted, *extras.values(), strict=True)
        noted = [None if row[1:] == NO_EXTRA else row[0] for row in rows]
    return {"text_digest": noted} | extras


def says_something(values: Sequence[Any]) -> bool:
    return values.count(None) < len(values)


def put(connection: sqlite3.Connection, verb: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Insert rows that are given as columns. One of nothing but NULL is left out: binding None takes long."""
    said = {name: values for name, values in columns.items() if says_something(values)}
    if not said:  # no rows
        return
    command = _insertion(verb, tuple(said))
    for start in range(0, len(next(iter(said.values()))), AT_ONCE):
        piece = slice(start, start + AT_ONCE)
        connection.executemany(command, zip(*(values[piece] for values in said.values()), strict=True))


def meta_text(meta: dict[str, Any] | None) -> str:
    return json.dumps(meta, allow_nan=False) if meta else "{}"


def blobs(matrix: NDArray[Any]) -> list[bytearray]:
    """Each row as little-endian float64 bytes; a bytearray, because Python's module takes long to bind others."""
    return _Blobs().of(matrix)


def blob(vector: NDArray[Any]) -> bytearray:
    """`blobs` of one."""
    return bytearray(np.ascontiguousarray(vector, "<f8").data.cast("B"))


class _Blobs:
    """What `blobs` makes of one matrix after the other, in the same bytearrays again and again."""

    def __init__(self) -> None:
        self._buffers: list[bytearray] = []

    def of(self, matrix: NDArray[Any]) -> list[bytearray]:
        """One a row, good until the next matrix."""
        data = np.ascontiguousarray(matrix, "<f8")
        n, width = len(data), 8 * data.shape[1]
        self._buffers += [bytearray(width) for _ in range(n - len(self._buffers))]
        _kernels.fill_buffers(data.view(np.uint8), self._buffers)
        return self._buffers if n == len(self._buffers) else self._buffers[:n]


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
