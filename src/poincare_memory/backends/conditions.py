"""What of a filter a server can be asked: a tree of tests that every engine writes in its own language.

An engine need not know every test, nor decide each exactly: where a filter wants a test to hold, the engine may answer
with more memories, where it wants it not to hold, with fewer that do. What comes back is checked in this process.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Generic, TypeVar

import numpy as np

from ..retrieval.conditions import EXACT, FIELDS, NUMERIC_FIELDS, ORDERS
from ..retrieval.conditions import _instant as instant_of

__all__ = ["OPEN", "Condition", "Every", "Holds", "Language", "Not", "Some", "condition_of", "sendable"]


@dataclass(frozen=True)
class Every:
    """All of them hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Some:
    """One of them holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """It does not hold."""

    part: Condition


@dataclass(frozen=True)
class Open:
    """Anything may be the case."""


@dataclass(frozen=True)
class Holds:
    """One operator on what a memory has under a key of its metadata, or in a field of its record.

    ``$in`` (a tuple of values; False and 0, True and 1 are equal), ``$exists``, ``$gt`` and its like (a string or a
    number), ``$contains`` (one value). None holds where nothing is there.
    """

    key: str
    name: str
    operand: Any = None
    of_field: bool = False


Condition = Every | Some | Not | Open | Holds
OPEN: Final = Open()
ALWAYS: Final = Every(())
NEVER: Final = Some(())


def condition_of(filters: Any) -> Condition:
    """What a filter, which `compile_filter` has found right, asks of a server; `OPEN` for functions."""
    if not isinstance(filters, Mapping):
        return ALWAYS if filters is None else OPEN
    parts: list[Condition] = []
    for key, wanted in filters.items():
        if not (isinstance(key, str) and key.startswith("$")):
            parts.append(_of_key(key, wanted))
        elif key == "$not":
            parts.append(Not(condition_of(wanted)))
        else:
            each = tuple(condition_of(part) for part in wanted)
            parts.append(Every(each) if key == "$and" else Some(each))
    return parts[0] if len(parts) == 1 else Every(tuple(parts))


def _of_key(key: Any, wanted: Any) -> Condition:
    if not isinstance(key, str) or not _can_be_sent(key):
        return OPEN
    if not isinstance(wanted, Mapping) or not any(
        isinstance(name, str) and name[:1] == "$" for name in wanted
    ):
        if wanted is None and key not in FIELDS:  # a missing key counts as None
            return Some((Holds(key, "$in", (None,)), Not(Holds(key, "$exists"))))
        wanted = {"$eq": wanted}
    parts = tuple(
        Not(_of_key(key, operand)) if name == "$not" else _one(key, name, operand)
        for name, operand in wanted.items()
    )
    return parts[0] if len(parts) == 1 else Every(parts)


def _one(key: str, name: str, operand: Any) -> Condition:
    operand = operand.item() if isinstance(operand, np.generic) else operand
    if name in ("$ne", "$nin"):
        return Not(_one(key, "$eq" if name == "$ne" else "$in", operand))
    of_meta = _of_metadata(key, name, operand)
    if key not in FIELDS:
        return of_meta
    own = Holds(key, "$exists")  # metadata of that name comes before the field
    return Some((Every((own, of_meta)), Every((Not(own), _of_field(key, name, operand)))))


# --- metadata ---------------------------------------------------------------------------------------------------


def _of_metadata(key: str, name: str, operand: Any) -> Condition:
    if name == "$exists":
        return Holds(key, name) if operand else Not(Holds(key, name))
    if name in ("$eq", "$in"):
        return _among(key, [operand] if name == "$eq" else operand)
    if name == "$contains":
        return Holds(key, name, operand) if _is_plain(operand) else OPEN
    if operand is None:
        return NEVER  # it has no order
    return Holds(key, name, operand) if _has_order(operand) else OPEN


def _among(key: str, values: Iterable[Any]) -> Condition:
    values = list(values)
    known = tuple(value for value in values if _is_plain(value))
    test = Holds(key, "$in", known) if known else NEVER
    return test if len(known) == len(values) else Some((test, OPEN))


def _is_plain(value: Any) -> bool:
    """Servers compare it as Python does."""
    if value is None or type(value) is bool:
        return True
    if type(value) is str:
        return _can_be_sent(value)
    return type(value) in (int, float) and -EXACT <= value <= EXACT


def _has_order(value: Any) -> bool:
    return _is_plain(value) and type(value) in (str, int, float)


def _can_be_sent(text: str) -> bool:
    return "\x00" not in text and _is_unicode(text)


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text)


def sendable(ids: Iterable[Any]) -> list[str]:
    """Those that a memory may have: strings that can be written as UTF-8."""
    return [id for id in ids if isinstance(id, str) and _is_unicode(id)]


# --- fields of the record ---------------------------------------------------------------------------------------


def _of_field(field: str, name: str, operand: Any) -> Condition:
    if name == "$exists":
        there: Condition = ALWAYS if field != "parent" else Not(Holds(field, "$in", (None,), True))
        return there if operand else Not(there)
    return (_of_number if field in NUMERIC_FIELDS else _of_string)(field, name, operand)


def _of_number(field: str, name: str, operand: Any) -> Condition:
    if name == "$contains":
        return NEVER
    values = operand if name == "$in" else [operand]
    numbers = []
    for value in values:
        number = instant_of(value) if field == "t" else _number(value)
        if number is None:
            continue
        if not -EXACT <= number <= EXACT:
            return OPEN
        numbers.append(number)
    if not numbers:
        return NEVER
    if name in ORDERS:
        return Holds(field, name, numbers[0], True)
    return Holds(field, "$in", tuple(numbers), True)


def _number(value: Any) -> float | int | None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    number = value.item() if isinstance(value, np.number) else value
    return None if isinstance(number, float) and math.isnan(number) else number


def _of_string(field: str, name: str, operand: Any) -> Condition:
    values = list(operand) if name == "$in" else [operand]
    if any(
        isinstance(value, date) or not (_is_plain(value) or type(value) in (int, float)) for value in values
    ):
        return OPEN
    known = tuple(value for value in values if value is None or isinstance(value, str))
    if field != "parent":
        known = tuple(value for value in known if value is not None)
    if name in ("$eq", "$in"):
        return Holds(field, "$in", known, True) if known else NEVER
    return Holds(field, name, known[0], True) if known and known[0] is not None else NEVER


# --- in the language of an engine -------------------------------------------------------------------------------

Said = TypeVar("Said")


class Language(ABC, Generic[Said]):
    """How an engine writes conditions; True and False stand for what always or never holds."""

    @abstractmethod
    def test(self, test: Holds, wide: bool) -> Said | bool | None:
        """One test: what holds for at least (`wide`) or at most the memories that pass; None where it has no words."""

    @abstractmethod
    def every(self, parts: list[Said]) -> Said:
        """All of these."""

    @abstractmethod
    def some(self, parts: list[Said]) -> Said:
        """At least one of these."""

    @abstractmethod
    def none(self, part: Said) -> Said:
        """Not this."""

    def say(self, condition: Condition, wide: bool = True) -> Said | bool:
        """What holds for all memories (and maybe more) that pass; with `wide` False for no others (and maybe fewer)."""
        if isinstance(condition, Holds):
            said = self.test(condition, wide)
            return wide if said is None else said
        if isinstance(condition, Open):
            return wide
        if isinstance(condition, Not):
            part = self.say(condition.part, not wide)
            return not part if isinstance(part, bool) else self.none(part)
        neutral = isinstance(condition, Every)
        parts: list[Said] = []
        for one in condition.parts:
            part = self.say(one, wide)
            if not isinstance(part, bool):
                parts.append(part)
            elif part is not neutral:
                return not neutral
        if not parts:
            return neutral
        if len(parts) == 1:
            return parts[0]
        return self.every(parts) if neutral else self.some(parts)
