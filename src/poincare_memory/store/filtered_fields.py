"""Conditions on `id`, `parent` and `text`: by a look-up, by rows, or in one pass of C over the texts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..retrieval.conditions import ORDERS, Truth, value_test
from ..retrieval.key_column import PLAIN

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns

NEGATED: Final = {"$ne": "$eq", "$nin": "$in"}
IN_ONE_PASS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    **ORDERS,
    "$eq": operator.eq,
    "$contains": operator.contains,
}


def field_truth(
    columns: Columns, rows: Rows | None, count: int, field: str, name: str, operand: Any
) -> Truth | None:
    """One operator on a field of these rows, or the first `count`, as `conditions.field_test` has it.

    None where values have to be looked at one by one.
    """
    opposite = NEGATED.get(name)
    if opposite is not None:
        truth = field_truth(columns, rows, count, field, opposite, operand)
        return None if truth is None else ~truth
    if field == "parent":
        return _of_parents(columns, rows, count, name, operand)
    if field not in ("id", "text"):
        return None
    if name == "$exists":
        return np.full(count, bool(operand))
    if field == "id" and (wanted := _strings(name, operand)) is not None:
        return _are(columns, rows, count, wanted)
    values: Sequence[Any] = columns.ids if field == "id" else columns.texts
    chosen = values if rows is None else map(values.__getitem__, rows.tolist())
    return _in_one_pass(chosen, count, name, operand)


def _strings(name: str, operand: Any) -> list[str] | None:
    """The strings that `$eq` or `$in` asks for; None for other operators, and operands that strings may equal oddly."""
    wanted = [operand] if name == "$eq" else list(operand) if name == "$in" else None
    if wanted is None or not PLAIN.issuperset(map(type, wanted)):
        return None
    return [one for one in wanted if type(one) is str]


def _are(columns: Columns, rows: Rows | None, count: int, ids: Iterable[str]) -> Truth:
    """Which of the rows these ids name."""
    found = [row for id in ids if (row := columns.row_of.get(id)) is not None]
    named = np.zeros(columns.high_water, bool)
    named[found] = True
    return named[:count] if rows is None else named[rows]


def _of_parents(columns: Columns, rows: Rows | None, count: int, name: str, operand: Any) -> Truth:
    """One test a distinct parent."""
    parents = columns.parent[:count] if rows is None else columns.parent[rows]
    if name == "$exists":
        return np.asarray((parents >= 0) == bool(operand), dtype=bool)
    met = np.zeros(columns.high_water + 1, bool)  # the last place is that of "no parent"
    met[parents] = True
    test, ids = value_test(name, operand), columns.ids
    passing = np.zeros(len(met), bool)
    distinct = np.flatnonzero(met)
    passing[distinct] = [test(None if row == columns.high_water else ids[row]) for row in distinct.tolist()]
    truth: NDArray[np.bool_] = passing[parents]
    return truth


def _in_one_pass(values: Iterable[Any], count: int, name: str, operand: Any) -> Truth | None:
    """An operator on strings, without a call of Python for each."""
    if name == "$in":
        wanted = _strings(name, operand)
        return (
            None if wanted is None else np.fromiter(map(frozenset(wanted).__contains__, values), bool, count)
        )
    if type(operand) is str:
        return np.fromiter(map(IN_ONE_PASS[name], values, repeat(operand)), bool, count)
    return np.zeros(count, bool) if type(operand) in PLAIN else None
