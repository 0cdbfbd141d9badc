"""Digests of what a store's file holds: damage that SQLite cannot see is found when the file is read.

SQLite has no page checksums: a bit that flips inside a text or a vector reads back as another text or vector. Beside
its records a file therefore keeps a checksum of each (and of its settings). An edit through SQL, by whatever
program, drops the digest of the record it changes (triggers in the file do that), so that only what changed
without SQL, on the disk or on the way to it, differs from its digest.

A digest is a 64-bit number (``src/_core/digest.hpp``): vectors are most of a file, and a checksum that is read
with them must not cost more than the reading. It tells damage, not intent: whoever can write the file can write
the digest too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._core import _kernels

__all__ = ["record_digests", "settings_digest"]


def record_digests(columns: Sequence[Sequence[Any]]) -> list[int]:
    """Digest of each record; one sequence a field, of None, str, int, float and bytes-like values.

    None after the last other value of a record counts for nothing: a field that was added later changes no digest.

    Examples
    --------
    >>> from poincare_memory.store.digests import record_digests
    >>> record_digests([["a", "b"], [b"12345678", None], [None, None]]) == record_digests(
    ...     [["a", "b"], [b"12345678", None]]
    ... )
    True
    """
    digests = np.empty(len(columns[0]), np.int64)
    _kernels.record_digests(columns, digests)
    return digests.tolist()


def settings_digest(items: Iterable[tuple[Any, Any]]) -> int:
    """Digest of a file's settings, in whatever order they come."""
    in_order = sorted(items, key=repr)
    return record_digests([[value] for item in in_order for value in item])[0] if in_order else 0
