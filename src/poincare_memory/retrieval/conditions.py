"""Conditions of a filter that is a mapping: each is compiled to a function of many memories at once."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ..temporal.instants import to_micros

Truth = NDArray[np.bool_]
Test = Callable[[Any], bool]
"""Of one value that is there."""

FIELDS: Final = ("t", "level", "parent", "access_count", "id", "text")
"""Fields of a record that a filter may name; `t` in UTC microseconds, `parent` None at a root."""

NUMERIC_FIELDS: Final = ("t", "level", "access_count")
DEEPEST: Final = 100  # levels of nesting in a filter
ORDERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS: Final = ("$contains", "$eq", "$exists", *sorted(ORDERS), "$in", "$ne", "$nin", "$not")
COMBINATIONS: Final = ("$and", "$or", "$not")
MISSING: Final = object()
EXACT: Final = 2**53  # integers up to it are floats

_PLAIN = (str, int, float, bool, type(None))


class Columns(Protocol):
    """Answers to conditions on metadata keys and record fields of all memories at once, where they are at hand."""

    def truth(self, key: Any, name: str, operand: Any, missing_matches: bool) -> Truth | None: ...

    def field_truth(self, field: str, name: str, operand: Any) -> Truth | None: ...

    def positions_with(self, key: Any) -> NDArray[np.intp] | None: ...


class Memories:
    """Metadata, and record fields and columns where they are at hand, of the memories a filter is asked about."""

    def __init__(
        self,
        metas: Sequence[Mapping[str, Any] | None],
        field: Callable[[str], NDArray[Any] | list[Any]] | None = None,
        columns: Columns | None = None,
    ) -> None:
        self.metas = metas
        self.field = field
        self.columns = columns

    def __len__(self) -> int:
        return len(self.metas)

    def values(self, key: Any) -> list[Any]:
        """What each memory has under a key or a path, `MISSING` where nothing."""
        return values_under(key, self.metas)

    def with_own(self, key: str) -> Iterable[int]:
        """Positions of memories whose metadata has this very key."""
        found = None if self.columns is None else self.columns.positions_with(key)
        if found is not None:
            return map(int, found)
        return [i for i, meta in enumerate(self.metas) if meta is not None and key in meta]


def values_under(key: Any, metas: Iterable[Mapping[str, Any] | None]) -> list[Any]:
    """What each has under a key or a path, `MISSING` where nothing."""
    if isinstance(key, str) and "." in key:
        path = key.split(".")
        return [MISSING if meta is None else _at(meta, key, path) for meta in metas]
    return [MISSING if meta is None else meta.get(key, MISSING) for meta in metas]


def _at(meta: Mapping[str, Any], key: str, path: list[str]) -> Any:
    found = meta.get(key, MISSING)
    if found is not MISSING:
        return found
    value: Any = meta
    for step in path:
        if not isinstance(value, Mapping) or step not in value:
            return MISSING
        value = value[step]
    return value


Condition = Callable[[Memories], Truth]


# --- combinations -------------------------------------------------------------------------------------------


def compile_mapping(filters: Mapping[Any, Any], where: str = "filters", depth: int = 1) -> Condition:
    """All conditions of a mapping must hold; `where` is what an error calls it."""
    if depth > DEEPEST:
        raise ValueError(f"filters: nested deeper than {DEEPEST} levels (or contains itself)")
    conditions: list[Condition] = []
    for key, wanted in filters.items():
        if not (isinstance(key, str) and key.startswith("$")):
            conditions.append(_of_key(key, wanted, f"{where}[{key!r}]", depth))
        elif key == "$not":
            conditions.append(_negated(_part(wanted, f"{where}['$not']", depth)))
        elif key in ("$and", "$or"):
            if not isinstance(wanted, list | tuple) or not wanted:
                raise ValueError(f"{where}[{key!r}]: expected a list of filters, got {wanted!r:.80}")
            parts = [_part(part, f"{where}[{key!r}][{i}]", depth) for i, part in enumerate(wanted)]
            conditions.append(_all(parts) if key == "$and" else _any(parts))
        else:
            raise ValueError(
                f"{where}: unknown operator {key!r:.80}; known here are {', '.join(COMBINATIONS)} "
                "and, below a key, " + ", ".join(OPERATORS)
            )
    return _all(conditions)


def _part(filters: Any, where: str, depth: int) -> Condition:
    if not isinstance(filters, Mapping):
        raise ValueError(f"{where}: expected a mapping of conditions, got {filters!r:.80}")
    return compile_mapping(filters, where, depth + 1)


def _all(conditions: Sequence[Condition]) -> Condition:
    if len(conditions) == 1:
        return conditions[0]

    def condition(memories: Memories) -> Truth:
        truth = np.ones(len(memories), dtype=bool)
        for part in conditions:
            truth &= part(memories)
        return truth

    return condition


def _any(conditions: Sequence[Condition]) -> Condition:
    def condition(memories: Memories) -> Truth:
        truth = np.zeros(len(memories), dtype=bool)
        for part in conditions:
            truth |= part(memories)
        return truth

    return condition


def _negated(condition: Condition) -> Condition:
    return lambda memories: ~condition(memories)


# --- one key ------------------------------------------------------------------------------------------------


def _of_key(key: Any, wanted: Any, where: str, depth: int) -> Condition:
    if not isinstance(wanted, Mapping) or not any(isinstance(k, str) and k[:1] == "$" for k in wanted):
        return _one(key, "$eq", wanted, missing_matches=wanted is None)
    conditions: list[Condition] = []
    for name, operand in wanted.items():
        if name not in OPERATORS:
            raise ValueError(f"{where}: unknown operator {name!r:.80}; known are {', '.join(OPERATORS)}")
        if name == "$not":
            if not isinstance(operand, Mapping) or not operand or depth >= DEEPEST:
                raise ValueError(f"{where}['$not']: expected a mapping of operators, got {operand!r:.80}")
            if not all(isinstance(k, str) and k[:1] == "$" for k in operand):
                raise ValueError(f"{where}['$not']: expected operators, got {operand!r:.80}")
            conditions.append(_negated(_of_key(key, operand, f"{where}['$not']", depth + 1)))
            continue
        _check_operand(name, operand, where)
        conditions.append(_one(key, name, operand, missing_matches=_matches_missing(name, operand)))
    return _all(conditions)


def _check_operand(name: str, operand: Any, where: str) -> None:
    if name in ("$in", "$nin") and not isinstance(operand, list | tuple | set | frozenset):
        raise ValueError(f"{where}[{name!r}]: expected a list of values, got {operand!r:.80}")
    if name == "$exists" and not isinstance(operand, bool | np.bool_):
        raise ValueError(f"{where}['$exists']: expected True or False, got {operand!r:.80}")


def _matches_missing(name: str, operand: Any) -> bool:
    return name in ("$ne", "$nin") or (name == "$exists" and not operand)


def _one(key: Any, name: str, operand: Any, missing_matches: bool) -> Condition:
    """One operator on one key: of the metadata where a memory has the key, of the record otherwise."""
    operand = _plain(operand)
    test = value_test(name, operand)

    def of_values(values: Sequence[Any]) -> Truth:
        if name == "$eq" and isinstance(operand, _PLAIN) and not missing_matches:
            try:  # what most filters ask, several times faster
                return np.fromiter([value == operand for value in values], bool, len(values))
            except (TypeError, ValueError):
                pass  # a value that compares element by element, like an array
        if name in ORDERS and (truth := _numbers_in_order(values, name, operand)) is not None:
            return truth
        return np.fromiter(
            (missing_matches if value is MISSING else test(value) for value in values), bool, len(values)
        )

    def of_metadata(memories: Memories) -> Truth:
        if memories.columns is not None:
            truth = memories.columns.truth(key, name, operand, missing_matches)
            if truth is not None:
                return truth
        return of_values(memories.values(key))

    if key not in FIELDS:
        return of_metadata
    of_field = field_test(key, name, operand)

    def condition(memories: Memories) -> Truth:
        if memories.field is None:
            return of_metadata(memories)
        truth = None if memories.columns is None else memories.columns.field_truth(key, name, operand)
        if truth is None:
            truth = of_field(memories.field(key))
        for i in memories.with_own(key):
            truth[i] = test((memories.metas[i] or {})[key])
        return truth

    return condition


def _numbers_in_order(values: Sequence[Any], name: str, operand: Any) -> Truth | None:
    """The comparison of plain numbers all at once; None where something else is among them."""
    if type(operand) not in (int, float) or not set(map(type, values)) <= {int, float}:
        return None
    if not -EXACT <= operand <= EXACT:
        return None
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        return None
    if not np.all(np.abs(numbers) <= EXACT):  # an integer that float64 may not hold, or NaN
        return None
    return np.asarray(ORDERS[name](numbers, operand), dtype=bool)


# --- values -------------------------------------------------------------------------------------------------


def value_test(name: str, operand: Any) -> Test:
    """The test of one value by an operator."""
    operand = _plain(operand)
    if name == "$exists":
        return lambda value: bool(operand)
    if name == "$ne":
        equal = value_test("$eq", operand)
        return lambda value: not equal(value)
    if name == "$nin":
        among = value_test("$in", operand)
        return lambda value: not among(value)
    if name == "$contains":
        return lambda value: _contains(value, operand)
    if name == "$in":
        return _among(list(operand))
    instant = _instant(operand) if isinstance(operand, date) else None
    if name == "$eq":
        if instant is not None:
            return lambda value: _instant(value) == instant
        return lambda value: _equal(value, operand)
    compare = ORDERS[name]
    if instant is not None:
        return lambda value: (got := _instant(value)) is not None and compare(got, instant)
    return lambda value: _ordered(compare, value, operand)


def _plain(operand: Any) -> Any:
    """NumPy's scalars as Python's: its floats cannot be compared with integers beyond all floats."""
    return operand.item() if isinstance(operand, np.generic) else operand


def _among(wanted: list[Any]) -> Test:
    tests = [value_test("$eq", one) for one in wanted if not isinstance(one, str)]
    strings = {one for one in wanted if isinstance(one, str)}

    def test(value: Any) -> bool:
        return (isinstance(value, str) and value in strings) or any(same(value) for same in tests)

    return test


def _equal(value: Any, wanted: Any) -> bool:
    try:
        return bool(value == wanted)
    except (ValueError, TypeError):  # a value that compares element by element, like an array
        return bool(np.array_equal(value, wanted))


def _ordered(compare: Callable[[Any, Any], Any], value: Any, operand: Any) -> bool:
    if isinstance(value, bool) is not isinstance(operand, bool):
        return False  # True is no number here
    try:
        return bool(compare(value, operand))
    except (TypeError, ValueError):
        return False


def _contains(value: Any, operand: Any) -> bool:
    if isinstance(value, str):
        return isinstance(operand, str) and operand in value
    if isinstance(value, Mapping):
        return isinstance(operand, str) and operand in value
    if isinstance(value, list | tuple):
        same = value_test("$eq", operand)
        return any(same(element) for element in value)
    return False


def _instant(value: Any) -> int | None:
    """UTC microseconds of a datetime, a date (its midnight, UTC) or an ISO 8601 string; None for what is none."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value[:-1] + "+00:00" if value[-1:] in ("Z", "z") else value)
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    try:
        return to_micros(value)
    except (TypeError, ValueError):
        return None


# --- fields of the record -----------------------------------------------------------------------------------


def field_test(field: str, name: str, operand: Any) -> Callable[[Any], Truth]:
    """The test of a whole column; `parent` of a root is None, and does not exist."""
    if field not in NUMERIC_FIELDS:
        return _object_test(field, name, operand)
    if name == "$exists":
        return lambda column: np.full(len(column), bool(operand))
    if name in ("$ne", "$nin"):
        opposite = field_test(field, "$eq" if name == "$ne" else "$in", operand)
        return lambda column: ~opposite(column)
    if name == "$contains":
        return lambda column: np.zeros(len(column), dtype=bool)
    convert = _instant if field == "t" else _number
    if name == "$in":
        wanted = [number for one in operand if (number := convert(one)) is not None]
        return lambda column: np.isin(column, np.array(wanted, dtype=column.dtype if field == "t" else float))
    number = convert(operand)
    compare = operator.eq if name == "$eq" else ORDERS[name]
    if number is None:
        return lambda column: np.zeros(len(column), dtype=bool)
    return lambda column: np.asarray(compare(column, number), dtype=bool)


def _number(value: Any) -> float | None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer beyond all floats
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(number) else number


def _object_test(field: str, name: str, operand: Any) -> Callable[[Any], Truth]:
    if field == "parent" and name == "$exists":
        return lambda values: np.fromiter(((value is not None) == operand for value in values), bool)
    test = value_test(name, operand)
    return lambda values: np.fromiter((test(value) for value in values), bool, len(values))
