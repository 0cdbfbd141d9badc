"""The values that memories have under one metadata key, as arrays: a condition on them costs microseconds."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, Final

import numpy as np

from .conditions import EXACT, MISSING, ORDERS, Truth, value_test

# Codes of values that are no entry of the table.
NOTHING: Final = -1
NUMBER: Final = -2
BOOLEAN: Final = -3
ODD: Final = -4  # looked at one by one
SPECIAL: Final = 4

MOST_PARTS: Final = 32  # of a list or mapping that is entered in the table
PLAIN: Final = frozenset((str, int, float, bool, type(None)))


class KeyColumn:
    """Numbers as float64; strings, None and small lists and mappings as numbers of a table of distinct values.

    What neither holds exactly (integers beyond 2**53, NaN, long lists, objects) is odd: `put` notes where it is, and
    `truth` asks for it.

    Examples
    --------
    >>> from poincare_memory.retrieval.key_column import KeyColumn
    >>> column = KeyColumn(4)
    >>> column.put([0, 1, 2], ["tea", 3, 2.5])
    >>> column.truth("$gte", 3, missing_matches=False).tolist()
    [False, True, False, False]
    """

    def __init__(self, length: int) -> None:
        self._code = np.full(length, NOTHING, np.int32)
        self._number = np.full(length, np.nan)
        self._codes: dict[Any, int] = {}
        self._values: list[Any] = []  # by code
        self._odd: dict[int, Any] = {}
        self._has_booleans = False

    def __len__(self) -> int:
        return len(self._code)

    @property
    def distinct(self) -> int:
        """Entries of the table, those that no memory has any more among them."""
        return len(self._values)

    def extend(self, length: int) -> None:
        """Room for more rows, which have nothing."""
        code, number = np.full(length, NOTHING, np.int32), np.full(length, np.nan)
        code[: len(self)], number[: len(self)] = self._code, self._number
        self._code, self._number = code, number

    def put(self, rows: Sequence[int], values: Iterable[Any]) -> None:
        """What these rows have now; `MISSING` stands for nothing."""
        codes, numbers = [], []
        known, odd = self._codes, self._odd
        for row, value in zip(rows, values, strict=True):
            kind, number = type(value), math.nan
            if kind is str:
                code = known.get(value)
                if code is None:
                    code = self._entered(value, value)
            elif value is MISSING:
                code = NOTHING
            elif kind is float or kind is int:
                code = NUMBER
                if (kind is int and not -EXACT <= value <= EXACT) or value != value:
                    code = ODD
                else:
                    number = float(value)
            elif kind is bool:
                code, number, self._has_booleans = BOOLEAN, float(value), True
            else:
                code = self._code_of(value)
            if code == ODD:
                odd[row] = value
            elif odd:
                odd.pop(row, None)
            codes.append(code)
            numbers.append(number)
        at = np.asarray(rows, dtype=np.intp)
        self._code[at], self._number[at] = codes, numbers

    def _code_of(self, value: Any) -> int:
        if value is None:
            key: Any = None
        elif type(value) in (list, dict):
            try:
                if not _is_small(value):
                    return ODD
                value = copy.deepcopy(value)
            except RuntimeError:  # somebody is changing it
                return ODD
            key = (repr(value),)  # tells 1 from True and from 1.0, and '1' from 1
        else:
            return ODD
        code = self._codes.get(key)
        return self._entered(key, value) if code is None else code

    def _entered(self, key: Any, value: Any) -> int:
        code = len(self._values)
        self._values.append(value)
        self._codes[key] = code
        return code

    def has_any(self) -> Truth:
        """Whether a row has a value."""
        return np.asarray(self._code != NOTHING, dtype=bool)

    def truth(self, name: str, operand: Any, missing_matches: bool) -> Truth | None:
        """One operator on every row, as `conditions.value_test` has it; None where arrays cannot tell."""
        negated = name in ("$ne", "$nin")
        truth = self._positive({"$ne": "$eq", "$nin": "$in"}.get(name, name), operand)
        if truth is None:
            return None
        if negated:
            np.logical_not(truth, out=truth)
        if name != "$exists" and missing_matches is not negated:  # so far nothing equals nothing
            truth[self._code == NOTHING] = missing_matches
        if self._odd:
            test = value_test(name, operand)
            for row, value in self._odd.items():
                truth[row] = test(value)
        return truth

    def _positive(self, name: str, operand: Any) -> Truth | None:
        """False where there is nothing."""
        if name == "$exists":
            return self.has_any() if operand else ~self.has_any()
        if name == "$contains":
            return self._by_table(value_test(name, operand))
        if name == "$in":
            return self._equal(list(operand)) if all(map(_comparable, operand)) else None
        if isinstance(operand, date):
            return self._by_table(value_test(name, operand))
        if not _comparable(operand):
            return None
        return self._equal([operand]) if name == "$eq" else self._ordered(name, operand)

    def _equal(self, wanted: list[Any]) -> Truth:
        numbers = [float(one) for one in wanted if isinstance(one, int | float)]
        codes = [
            self._codes[one] for one in wanted if not isinstance(one, int | float) and one in self._codes
        ]
        if len(codes) == 1:
            truth: Truth = self._code == codes[0]
        elif codes:
            among = np.zeros(len(self._values) + SPECIAL, bool)
            among[np.array(codes) + SPECIAL] = True
            truth = among[self._code + SPECIAL]
        elif len(numbers) == 1:
            return np.asarray(self._number == numbers[0], dtype=bool)
        else:
            truth = np.zeros(len(self), bool)
        if numbers:
            truth |= np.isin(self._number, numbers)
        return truth

    def _ordered(self, name: str, operand: Any) -> Truth:
        if type(operand) in (int, float):
            truth = np.asarray(ORDERS[name](self._number, operand), dtype=bool)
            if self._has_booleans:
                truth &= self._code == NUMBER
            return truth
        if type(operand) is bool:
            truth = np.asarray(ORDERS[name](self._number, float(operand)), dtype=bool)
            truth &= self._code == BOOLEAN
            return truth
        return self._by_table(value_test(name, operand))  # a string; None has no order

    def _by_table(self, test: Callable[[Any], bool]) -> Truth:
        passing = np.zeros(len(self._values) + SPECIAL, bool)
        passing[SPECIAL:] = [test(value) for value in self._values]
        truth: Truth = passing[self._code + SPECIAL]
        return truth


def _comparable(operand: Any) -> bool:
    """Whether comparing float64 is comparing with it."""
    return type(operand) in PLAIN and (type(operand) not in (int, float) or -EXACT <= operand <= EXACT)


def _is_small(value: Any) -> bool:
    """Whether a list or mapping has few parts, all of them such as JSON has."""
    waiting, parts = [value], 0
    while waiting:
        inner = waiting.pop()
        parts += len(inner)
        if parts > MOST_PARTS:
            return False
        for one in inner.values() if type(inner) is dict else inner:
            if type(one) in (list, dict):
                waiting.append(one)
            elif type(one) not in PLAIN:
                return False
    return True
