"""Memories as text files bring them: one `Entry` each, checked, with the line it comes from.

Errors are ``ValueError``s that begin with ``file:line`` or ``file:line:column``, as compilers write them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, Final, NoReturn

from ..temporal.instants import from_micros
from .checked_records import parse_instant

__all__ = ["NAMES", "Entry", "Source", "entry_of", "numbered_lines", "parsed_json", "values_of"]

Source = str | os.PathLike[str] | IO[bytes]
# What files call the fields of an entry; `parent` is an id.
NAMES: Final = (
    "id",
    "text",
    "parent",
    "t",
    "valid_from",
    "valid_until",
    "pinned",
    "access_count",
    "last_accessed",
    "meta",
)
TIMES: Final = ("t", "valid_from", "valid_until", "last_accessed")


@dataclass(slots=True)
class Entry:
    """A memory that is to be added.

    Parameters
    ----------
    text : str
        What to remember.
    line : int
        Where it begins in its file, from 1.
    id, parent, t, valid_from, valid_until, meta, pinned
        As arguments of `Memory.add`.
    access_count, last_accessed
        How often searches returned it, and when they did last.
    """

    text: str
    line: int
    id: str | None = None
    parent: str | None = None
    t: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    pinned: bool = False
    access_count: int = 0
    last_accessed: datetime | None = None
    meta: dict[str, Any] | None = None


Fail = Callable[[str, str], NoReturn]  # (name of a field, message)


def entry_of(values: Mapping[str, Any], line: int, fail: Fail) -> Entry:
    """An entry from the values of a file; None stands for what is not there."""
    for name in values:
        if name not in NAMES:
            fail(name, f"unknown field {name!r:.80}; known are {', '.join(NAMES)}")
    text = values.get("text")
    if not isinstance(text, str) or not text.strip():
        fail("text", f"text: expected a string that is not blank, got {text!r:.80}")
    entry = Entry(text, line)
    for name in ("id", "parent"):
        value = values.get(name)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            fail(name, f"{name}: expected a string that is not blank, got {value!r:.80}")
        setattr(entry, name, value)
    for name in TIMES:
        setattr(entry, name, _time(values.get(name), name, fail))
    pinned, count, meta = values.get("pinned"), values.get("access_count"), values.get("meta")
    if pinned not in (None, False, True):
        fail("pinned", f"pinned: expected true or false, got {pinned!r:.80}")
    if count is not None and (
        not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**63
    ):
        fail("access_count", f"access_count: expected an integer of at least 0, got {count!r:.80}")
    if meta is not None and not isinstance(meta, dict):
        fail("meta", f"meta: expected an object, got {type(meta).__name__} {meta!r:.80}")
    entry.pinned, entry.access_count, entry.meta = bool(pinned), count or 0, meta
    return entry


def _time(text: Any, name: str, fail: Fail) -> datetime | None:
    if text is None:
        return None
    try:
        return from_micros(parse_instant(text))
    except (TypeError, ValueError, AttributeError):
        fail(name, f"{name}: expected an ISO 8601 time such as 2026-01-31T12:00:00Z, got {text!r:.80}")


def values_of(fields: Mapping[str, list[Any]], i: int) -> dict[str, Any]:
    """What a file says of the i-th memory (`fields` as an archive has them), without what says nothing."""
    values = {name: fields[name][i] for name in NAMES if fields[name][i]}
    if "pinned" in values:
        values["pinned"] = True
    return values


def parsed_json(text: str, fail: Callable[[int, str], NoReturn]) -> Any:
    """The value of strict JSON text; `fail` is told at which character (from 0) it is none, and why."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError(f"an object has the same key twice, among {[key for key, _ in pairs]!r:.200}")
        return found

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        fail(error.pos, f"not valid JSON: {error.msg}")
    except RecursionError:
        fail(0, "not valid JSON: nested too deep")
    except ValueError as error:
        fail(0, f"not valid JSON: {error}")


def numbered_lines(
    source: Source, where: str, told: Callable[[int], object] | None = None
) -> Iterator[tuple[int, str]]:
    """Lines of UTF-8 text with their numbers from 1 and their line ends; `told` is called with the bytes of each.

    Raises
    ------
    ValueError
        Where a line is no UTF-8.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as stream:
            yield from numbered_lines(stream, where, told)
        return
    for number, data in enumerate(source, 1):
        try:
            line = data.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{where}:{number}:{error.start + 1}: expected UTF-8 text, got the byte {data[error.start]:#04x}"
            ) from None
        if told is not None:
            told(len(data))
        yield number, line
