"""The text of a memory's JSON, taken apart record by record.

The whole of a large text as Python objects takes several times the memory of its vectors, and long to let go of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

import numpy as np

from .archive import EXTRAS, FIELDS, Archive, Block

HEAD: Final = re.compile(r'[ \t\r\n]*\{[ \t\r\n]*"config"[ \t\r\n]*:[ \t\r\n]*')
RECORDS: Final = re.compile(r'[ \t\r\n]*,[ \t\r\n]*"records"[ \t\r\n]*:[ \t\r\n]*\[[ \t\r\n]*')
COMMA: Final = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
END: Final = re.compile(r"[ \t\r\n]*\][ \t\r\n]*\}[ \t\r\n]*\Z")
NUMBERS: Final = {float, int}
NUMBERS_AT_ONCE: Final = 2**15  # of a block: a vector of a hostile length makes no room for many


def refused(constant: str) -> NoReturn:
    """NaN and infinities, which Python would read."""
    raise ValueError(f"{constant} is not JSON")


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key comes twice: the first of the two would be lost in silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"an object has the same key twice, among {[key for key, _ in pairs]!r:.200}")
    return found


def archive_by_record(text: str) -> Archive | None:
    """What a text holds that is as our own are; None for any other, sound or not."""
    head = HEAD.match(text)
    if head is None:
        return None
    decoder = json.JSONDecoder(parse_constant=refused, object_pairs_hook=unique)
    try:
        config, at = decoder.raw_decode(text, head.end())
        records = RECORDS.match(text, at)
        dim = config.get("dim") if isinstance(config, Mapping) else None
        if records is None or type(dim) is not int or dim < 1:
            return None
        return _archive_of(config, _each_record(decoder, text, records.end()), dim)
    except (KeyError, OverflowError, RecursionError, ValueError):
        return None


def _each_record(decoder: json.JSONDecoder, text: str, at: int) -> Iterator[Any]:
    if END.match(text, at) is not None:
        return
    while True:
        record, at = decoder.raw_decode(text, at)
        yield record
        comma = COMMA.match(text, at)
        if comma is None:
            break
        at = comma.end()
    if END.match(text, at) is None:
        raise ValueError("more than a memory's JSON")


def _archive_of(config: Mapping[str, Any], records: Iterator[Any], dim: int) -> Archive | None:
    fields: dict[str, list[Any]] = {name: [] for name in (*FIELDS, *EXTRAS)}
    vectors: list[Block] = []
    count, block = 0, max(1, NUMBERS_AT_ONCE // dim)
    for record in records:
        if not isinstance(record, dict):
            return None
        point, embedding = record["point"], record["embedding"]
        if not (_is_vector(point, dim) and _is_vector(embedding, dim)):
            return None
        place = count % block
        if place == 0:
            vectors.append((np.empty((block, dim)), np.empty((block, dim))))
        vectors[-1][0][place], vectors[-1][1][place] = point, embedding
        for name in FIELDS:
            fields[name].append(record[name])
        for name in EXTRAS:
            fields[name].append(record.get(name))
        count += 1
    if count % block:
        points, embeddings = vectors[-1]
        vectors[-1] = (points[: count % block], embeddings[: count % block])
    return Archive(dict(config), fields, vectors, count)


def _is_vector(value: Any, dim: int) -> bool:
    return isinstance(value, list) and len(value) == dim and set(map(type, value)) <= NUMBERS
