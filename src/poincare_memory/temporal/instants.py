"""Instants: datetimes as UTC microseconds since 1970, the form of every time column.

Microseconds are exact over all that :class:`datetime.datetime` holds (years 1 to 9999) and compare as
integers. A naive datetime is taken as UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

import numpy as np
import numpy.typing as npt

from .._core import _kernels

__all__ = [
    "EARLIEST",
    "LATEST",
    "MISSING",
    "bounds_column",
    "counts_column",
    "from_micros",
    "iso",
    "micros_column",
    "optional_iso",
    "optional_micros",
    "to_micros",
    "to_utc",
    "utcnow",
]

MISSING: int = _kernels.MISSING_INSTANT
"""Stands for "no instant" in an int64 column; smaller than every instant."""

EARLIEST: int = _kernels.EARLIEST_INSTANT
LATEST: int = _kernels.LATEST_INSTANT

Int64Array = npt.NDArray[np.int64]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_micros(t: datetime, name: str = "time") -> int:
    """Microseconds from 1970-01-01 UTC to ``t``; a naive datetime is taken as UTC.

    ``name`` is what an error calls the value.

    Raises
    ------
    TypeError
        If ``t`` is not a datetime (a date, a string, a number, a ``numpy.datetime64``).
    ValueError
        If it is ``pandas.NaT``, or outside the years 1 to 9999 once expressed in UTC.

    Examples
    --------
    >>> to_micros(datetime(1970, 1, 2))
    86400000000
    """
    return _kernels.micros_of(t, name)


def optional_micros(t: datetime | None, name: str = "time") -> int:
    """:func:`to_micros`, or :data:`MISSING` for None."""
    return MISSING if t is None else _kernels.micros_of(t, name)


def from_micros(micros: int) -> datetime | None:
    """Aware UTC datetime of ``micros`` microseconds since 1970-01-01 UTC; None for :data:`MISSING`.

    Raises
    ------
    ValueError
        If it is outside the years 1 to 9999.

    Examples
    --------
    >>> from_micros(86400000000)
    datetime.datetime(1970, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)
    """
    return None if micros == MISSING else _moment(micros)


def iso(micros: int) -> str:
    """ISO 8601 text of an instant that is there.

    Examples
    --------
    >>> iso(0)
    '1970-01-01T00:00:00+00:00'
    """
    return _moment(micros).isoformat()


def optional_iso(micros: int) -> str | None:
    """:func:`iso`, or None for :data:`MISSING`."""
    return None if micros == MISSING else iso(micros)


def to_utc(t: datetime) -> datetime:
    """``t`` in UTC; a naive datetime is taken as UTC.

    Parameters
    ----------
    t : datetime

    Returns
    -------
    datetime
        The same instant, aware.

    Raises
    ------
    TypeError
        If ``t`` is not a datetime.
    ValueError
        If it is outside the years 1 to 9999 once expressed in UTC.

    Examples
    --------
    >>> to_utc(datetime(2026, 1, 1)).isoformat()
    '2026-01-01T00:00:00+00:00'
    """
    if type(t) is datetime and t.tzinfo is timezone.utc:
        return t
    return _moment(_kernels.micros_of(t, "time"))


def utcnow() -> datetime:
    """The current time, aware, in UTC.

    Returns
    -------
    datetime

    Examples
    --------
    >>> utcnow().utcoffset()
    datetime.timedelta(0)
    """
    return datetime.now(timezone.utc)


def micros_column(moments: Iterable[datetime], name: str = "times") -> Int64Array:
    """:func:`to_micros` of many datetimes; an error names the place as ``name[i]``."""
    return _filled(tuple(moments), name, missing_allowed=False)


def bounds_column(bounds: Iterable[datetime | None], name: str = "bounds") -> Int64Array:
    """As :func:`micros_column`, with :data:`MISSING` where a bound is None."""
    return _filled(tuple(bounds), name, missing_allowed=True)


def counts_column(counts: Iterable[int], name: str = "access_counts") -> Int64Array:
    """Integers of any kind as an int64 column; an error names the place as ``name[i]``."""
    fixed = tuple(counts)
    column = np.empty(len(fixed), dtype=np.int64)
    _kernels.fill_counts(fixed, column, name)
    return column


def _filled(moments: tuple[datetime | None, ...], name: str, missing_allowed: bool) -> Int64Array:
    column = np.empty(len(moments), dtype=np.int64)
    _kernels.fill_micros(moments, column, name, missing_allowed)
    return column


def _moment(micros: int) -> datetime:
    if not EARLIEST <= micros <= LATEST:
        raise ValueError(f"{micros} microseconds since 1970 is outside the years 1 to 9999")
    return _EPOCH + timedelta(microseconds=int(micros))
