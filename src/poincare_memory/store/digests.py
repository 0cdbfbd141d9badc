"""Digests of what a store's file holds: damage that SQLite cannot see is found when the file is read.

SQLite has no page checksums: a bit that flips inside a text or a vector reads back as another text or vector. Beside
its records a file therefore keeps a CRC-32 of each (and of its settings). An edit through SQL, by whatever
program, drops the digest of the record it changes (triggers in the file do that), so that only what changed
without SQL, on the disk or on the way to it, differs from its digest.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["record_digest", "settings_digest"]

_NOTHING = "\x01"


def record_digest(values: Sequence[Any], point: bytes | memoryview, embedding: bytes | memoryview) -> int:
    """CRC-32 of a record: its text values in the file's order, None where there is none, and its vectors.

    Examples
    --------
    >>> from poincare_memory.store.digests import record_digest
    >>> record_digest(("a", "hello", None), b"12345678", b"12345678")
    3378194607
    """
    return zlib.crc32(embedding, zlib.crc32(point, _of_texts(values)))


def settings_digest(items: Iterable[tuple[Any, Any]]) -> int:
    """CRC-32 of a file's settings, in whatever order they come."""
    return _of_texts([text for item in sorted(items, key=repr) for text in item])


def _of_texts(values: Sequence[Any]) -> int:
    try:
        text = "\0".join([_NOTHING if value is None else value for value in values])
    except TypeError:  # a value of a type that no store writes: it will not match, or be refused
        text = "\0".join(map(repr, values))
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
