"""Memories as portable, strict JSON: ``{"config": …, "records": […]}``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import _kernels
from .archive import EXTRAS, FIELDS, Archive, Block, Floats, written
from .atomic import write_text
from .filling import empty_store, store_of
from .json_records import NUMBERS, archive_by_record, refused, unique
from .room import Precision, room_of
from .sqlite import is_database, refuse_foreign
from .standins import standin_embedder, standin_policy

if TYPE_CHECKING:
    from ..embed.base import Embedder
    from ..temporal.policies import DecayPolicy
    from .state import Store

OF_A_MEMORY = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"(config|records)"\s*:')


def to_json(store: Store, path: str | os.PathLike[str] | None = None, indent: int | None = None) -> str:
    """JSON text of a store; also written to `path`, in one step, where one is given.

    Raises
    ------
    ValueError
        If `path` holds something that is neither a memory's JSON nor a store: it is left alone.
    """
    if path is not None:
        _refuse_foreign(Path(os.path.realpath(path)))
    text = written(store, _compact if indent is None else lambda archive: _indented(archive, indent))
    if path is not None:
        write_text(path, text)
    return text


def _refuse_foreign(target: Path) -> None:
    if not target.is_file() or target.stat().st_size == 0:
        return
    if is_database(target):  # asked first: closing a database would drop the locks this process has on it
        refuse_foreign(target)
        return
    with open(target, "rb") as file:
        start = file.read(100)
    if not OF_A_MEMORY.match(start):
        raise ValueError(f"{target}: not replaced, because it is not a memory's JSON")


def _compact(archive: Archive) -> str:
    """The text that ``json.dumps`` gives, several times faster: numbers are written natively."""
    records: list[str] = []
    for points, embeddings in archive.vectors:
        vectors = zip(_kernels.decimal_lists(points), _kernels.decimal_lists(embeddings), strict=True)
        for i, (point, embedding) in enumerate(vectors, len(records)):
            head = json.dumps(_head(archive, i), allow_nan=False)
            records.append(f'{head[:-1]}, "point": {point}, "embedding": {embedding}}}')
    return f'{{"config": {json.dumps(archive.config, allow_nan=False)}, "records": [{", ".join(records)}]}}'


def _head(archive: Archive, i: int) -> dict[str, Any]:
    """Fields of a record; ours only where they say something."""
    fields = archive.fields
    extras = {name: fields[name][i] for name in EXTRAS if fields[name][i] is not None}
    return {name: fields[name][i] for name in FIELDS} | extras


def _indented(archive: Archive, indent: int) -> str:
    """The text that ``json.dumps`` gives, of one record after the other: all their numbers at once take much memory."""
    records: list[str] = []
    inner = "\n" + " " * (2 * indent)
    for points, embeddings in archive.vectors:
        for i, (point, embedding) in enumerate(zip(points, embeddings, strict=True), len(records)):
            record = {**_head(archive, i), "point": point.tolist(), "embedding": embedding.tolist()}
            text = json.dumps(record, indent=indent, allow_nan=False)  # texts in it have no line breaks
            records.append(text.replace("\n", inner))
    config, _, _ = json.dumps(
        {"config": archive.config, "records": []}, indent=indent, allow_nan=False
    ).rpartition("[")
    if not records:
        return f"{config}[]\n}}"
    outer = "\n" + " " * indent
    return f"{config}[{inner}{f',{inner}'.join(records)}{outer}]\n}}"


def from_json(
    source: str | bytes | os.PathLike[str],
    *,
    embedder: Embedder | None = None,
    decay: DecayPolicy | None = None,
    clock: Callable[[], datetime] | None = None,
    precision: Precision = "full",
) -> Store:
    """Store from JSON text, or from the file at a path.

    A string that begins with a brace or bracket (after white space and a byte order mark) is text, any other a
    path.
    """
    room = room_of(precision)
    text, where = _text_of(source)
    archive = archive_by_record(text)
    if archive is not None:
        return store_of(archive, where, embedder=embedder, decay=decay, clock=clock, room=room)
    payload = _parsed(text, where)
    if not isinstance(payload, Mapping):
        raise ValueError(
            f"{where}: expected an object with 'config' and 'records', got {type(payload).__name__}"
        )
    config = payload.get("config")
    # Before any record is looked at: a file of another format may have other records.
    dim = empty_store(config, where, embedder=embedder, decay=decay, clock=clock).columns.dim
    return store_of(
        Archive(dict(config or {}), *_records_of(payload.get("records"), dim, where)),
        where,
        embedder=embedder,
        decay=decay,
        clock=clock,
        room=room,
    )


def parts_of_json(source: str | bytes | os.PathLike[str]) -> tuple[Embedder | None, DecayPolicy | None]:
    """Stand-ins for an embedder and a policy that files do not keep, None where they do: for what asks neither."""
    payload = _parsed(*_text_of(source))
    config = payload.get("config") if isinstance(payload, Mapping) else None
    if not isinstance(config, Mapping):
        return None, None
    return standin_embedder(config), standin_policy(config)


def _text_of(source: str | bytes | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(source, bytes | bytearray):
        return _decoded(bytes(source), "JSON"), "JSON"
    if isinstance(source, str):
        stripped = source.lstrip("\ufeff \t\r\n")
        if stripped[:1] in ("{", "["):
            return stripped, "JSON"
    elif not isinstance(source, os.PathLike):
        raise TypeError(f"source: expected a path or JSON text, got {type(source).__name__}")
    with open(source, "rb") as file:
        return _decoded(file.read(), os.fspath(source)), os.fspath(source)


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: expected a JSON export, which is UTF-8 text: {error}") from error


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=refused, object_pairs_hook=unique)
    except RecursionError:
        raise ValueError(f"{where}: not a memory's JSON: nested too deep") from None
    except ValueError as error:
        raise ValueError(f"{where}: not valid JSON: {error}") from error


def _records_of(records: Any, dim: int, where: str) -> tuple[dict[str, list[Any]], list[Block], int]:
    if not isinstance(records, list):
        raise ValueError(f"{where}: records: expected an array, got {type(records).__name__}")
    for i, record in enumerate(records):
        if not isinstance(record, dict):
            raise ValueError(f"{where}: record {i}: expected an object, got {type(record).__name__}")
        for name in (*FIELDS, "point", "embedding"):
            if name not in record:
                raise ValueError(f"{where}: record {i}: {name!r} is missing")
    fields = {name: [record[name] for record in records] for name in FIELDS}
    fields |= {name: [record.get(name) for record in records] for name in EXTRAS}
    if not records:
        return fields, [], 0
    vectors = (_matrix(records, "point", dim, where), _matrix(records, "embedding", dim, where))
    return fields, [vectors], len(records)


def _matrix(records: list[dict[str, Any]], name: str, dim: int, where: str) -> Floats:
    # Lengths first, so that a declared dimension allocates nothing that the file does not fill.
    for i, record in enumerate(records):
        vector = record[name]
        if not isinstance(vector, list) or len(vector) != dim:
            found = f"{len(vector)} of them" if isinstance(vector, list) else type(vector).__name__
            raise ValueError(f"{where}: record {i}: {name}: expected {dim} numbers, got {found}")
        if not set(map(type, vector)) <= NUMBERS:
            raise ValueError(f"{where}: record {i}: {name}: expected numbers only")
    matrix = np.empty((len(records), dim))
    for i, record in enumerate(records):
        try:
            matrix[i] = record[name]
        except OverflowError:
            raise ValueError(f"{where}: record {i}: {name}: a number is too large") from None
    return matrix
