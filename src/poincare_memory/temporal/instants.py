"""Instants: what users give as `datetime` and the store keeps as int64 UTC microseconds since 1970."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from poincare_memory._core import _kernels

MISSING_INSTANT = _kernels.MISSING_INSTANT
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def utcnow() -> datetime:
    """The present, with time zone UTC."""
    return datetime.now(timezone.utc)


def to_utc(t: datetime) -> datetime:
    """The same instant in UTC; a naive datetime is taken as UTC.

    Raises
    ------
    TypeError
        For anything but a `datetime`.
    ValueError
        Where the instant leaves the years 1 to 9999 in UTC.
    """
    return _utc(t, "a time")


def _utc(t: datetime, name: str) -> datetime:
    if not isinstance(t, datetime):
        raise TypeError(f"{name} must be a datetime.datetime, got {type(t).__name__}: {t!r}")
    if t.tzinfo is timezone.utc:
        return t
    if t.utcoffset() is None:
        return t.replace(tzinfo=timezone.utc)
    try:
        return t.astimezone(timezone.utc)
    except OverflowError:
        raise ValueError(f"{name} = {t.isoformat()} lies outside the years 1 to 9999 in UTC") from None


def to_micros(t: datetime, name: str = "a time") -> int:
    """UTC microseconds since 1970; `name` is what an error calls the value."""
    since = _utc(t, name) - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def optional_micros(t: datetime | None, name: str = "a time") -> int:
    """`to_micros`, or `MISSING_INSTANT` for None."""
    return MISSING_INSTANT if t is None else to_micros(t, name)


def from_micros(micros: int) -> datetime | None:
    """Inverse of `to_micros`; None for `MISSING_INSTANT`."""
    return None if micros == MISSING_INSTANT else EPOCH + timedelta(microseconds=micros)
