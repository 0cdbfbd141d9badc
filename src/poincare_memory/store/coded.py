"""Directions in eight bits a number: what an exact scan reads of every memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns

FEW: Final = 256  # candidates that are scored exactly at once, rather than encode a store for them
CACHE_LINE: Final = 64  # bytes


class CodedRows(NamedTuple):
    """Arrays of one length, as `_kernels.encode_rows` fills them."""

    codes: NDArray[np.int8]
    scale: NDArray[np.float32]
    error: NDArray[np.float32]


class CodedDirections:
    """Codes of a store's directions, made when a search first asks and brought up to date by every later one.

    A code and its proven error bound take a quarter of the bytes of float32; the scan reads these, and the float64
    directions only of what they cannot exclude (``src/_core/codes.hpp``).
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()  # readers are many
        self._rows: CodedRows | None = None
        self._version = -1  # `structure_version` of the columns they are those of

    def of(self, columns: Columns, asked: int) -> CodedRows | None:
        """Codes of all rows, for a scan of `asked` candidates; None where they do not pay. Under the read lock."""
        if self._rows is None and asked < FEW:
            return None
        with self._guard:
            if self._rows is None or self._version != columns.structure_version:
                self._rows = self._up_to_date(columns)
                self._version = columns.structure_version
            return self._rows

    def _up_to_date(self, columns: Columns) -> CodedRows:
        changed = None if self._rows is None else columns.changed_rows(self._version)
        coded = self._rows
        width = _kernels.code_stride(columns.dim)
        if coded is not None and coded.codes.shape[1] != width:
            coded = changed = None
        if coded is None or len(coded.codes) < columns.high_water:
            coded = _room(columns.capacity, width, coded)
        _kernels.encode_rows(columns.direction, _to_encode(columns, changed), *coded)
        return coded


def _room(n: int, width: int, old: CodedRows | None) -> CodedRows:
    """Arrays of n rows that begin with the old ones; what is not used yet is address space, no memory."""
    new = CodedRows(_aligned(n, width), np.empty(n, np.float32), np.empty(n, np.float32))
    if old is not None:
        used = len(old.codes)
        new.codes[:used], new.scale[:used], new.error[:used] = old
    return new


def _aligned(n: int, width: int) -> NDArray[np.int8]:
    """Room for n rows that begins where a cache line does: no read of a wide register takes two."""
    room = np.empty(n * width + CACHE_LINE - 1, np.int8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + n * width].reshape(n, width)


def _to_encode(columns: Columns, changed: Rows | None) -> Rows:
    rows: Any = columns.live_rows() if changed is None else changed[columns.order[changed] >= 0]
    return np.ascontiguousarray(rows)
