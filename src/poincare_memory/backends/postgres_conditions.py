"""Conditions in the SQL of PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ..retrieval.conditions import NUMERIC_FIELDS
from .conditions import Holds, Language
from .rows import Where

__all__ = ["Sql", "holdable", "where_sql"]

_COMPARISONS: Final = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_EVERYTHING: Final = "facts @> '\"*\"'"  # of metadata that PostgreSQL cannot hold: it passes every condition
_FEW: Final = 8  # so many values are asked for one by one, which the index of `facts` serves


@dataclass(frozen=True)
class Sql:
    """Text with placeholders, and what they stand for; it is true or false of a row, never unknown."""

    text: str
    values: tuple[Any, ...] = ()


def where_sql(where: Where) -> Sql:
    """The conditions on a row."""
    parts: list[Sql] = [Sql("true")]
    if where.below is not None:
        parts.append(Sql("path && %s", (holdable(where.below),)))
    if where.parents is not None:
        known = holdable(parent for parent in where.parents if parent is not None)
        parts.append(Sql("(parent = ANY(%s) OR (parent IS NULL AND %s))", (known, None in where.parents)))
    if where.ids is not None:
        parts.append(Sql("id = ANY(%s)", (holdable(where.ids),)))
    if where.but is not None:
        parts.append(Sql("id <> %s", (where.but,)))
    if where.radius is not None:
        parts.append(Sql("radius = %s", (where.radius,)))
    if where.known_by is not None:
        parts.append(Sql("(recorded_at IS NULL OR recorded_at <= %s)", (where.known_by,)))
    passing = _LANGUAGE.say(where.passing)
    if isinstance(passing, Sql):
        parts.append(Sql(f"({passing.text} OR {_EVERYTHING})", passing.values))
    elif not passing:
        parts.append(Sql(_EVERYTHING))
    return _joined(" AND ", parts)


def holdable(ids: Iterable[str]) -> list[str]:
    """Ids that PostgreSQL can hold: no other memory is there."""
    return [id for id in ids if "\x00" not in id]


def _joined(word: str, parts: list[Sql]) -> Sql:
    return Sql(
        word.join(part.text for part in parts), tuple(value for part in parts for value in part.values)
    )


class _Words(Language[Sql]):
    def every(self, parts: list[Sql]) -> Sql:
        joined = _joined(" AND ", parts)
        return Sql(f"({joined.text})", joined.values)

    def some(self, parts: list[Sql]) -> Sql:
        joined = _joined(" OR ", parts)
        return Sql(f"({joined.text})", joined.values)

    def none(self, part: Sql) -> Sql:
        return Sql(f"NOT {part.text}", part.values)

    def test(self, test: Holds, wide: bool) -> Sql:
        if not test.of_field:
            return _of_metadata(test)
        return (_of_number if test.key in NUMERIC_FIELDS else _of_string)(test)


_LANGUAGE: Final = _Words()


# --- metadata ---------------------------------------------------------------------------------------------------


def _of_metadata(test: Holds) -> Sql:
    value = _under(test.key)
    if test.name == "$exists":
        return Sql(f"({value.text} IS NOT NULL)", value.values)
    if test.name == "$in":
        return _among(test, value)
    if test.name == "$contains":
        return _contains(test.operand, value)
    kind, shown = "string", '{} COLLATE "C" {} %s'
    if not isinstance(test.operand, str):
        kind, shown = "number", "({})::numeric {} %s::numeric"
    comparison = shown.format(f"({value.text} #>> '{{}}')", _COMPARISONS[test.name])
    operand = test.operand if isinstance(test.operand, str) else repr(test.operand)
    return Sql(
        f"(CASE WHEN jsonb_typeof({value.text}) = '{kind}' THEN {comparison} ELSE false END)",
        (*value.values, *value.values, operand),
    )


def _under(key: str) -> Sql:
    """The value under a key, or under a path where no key has that very name; SQL's NULL where there is none."""
    if "." not in key:
        return Sql("(facts -> %s::text)", (key,))
    steps = key.split(".")
    return Sql(f"coalesce(facts -> %s::text, facts{' -> %s::text' * len(steps)})", (key, *steps))


def _among(test: Holds, value: Sql) -> Sql:
    wanted = list(dict.fromkeys(_told(one) for operand in test.operand for one in _equal_to(operand)))
    if "." in test.key or len(wanted) > _FEW:
        return Sql(
            f"coalesce({value.text} = ANY(%s::text[]::jsonb[]), false)",
            (*value.values, wanted),
        )
    name = _told(test.key)
    return Sql(
        f"({' OR '.join(['facts @> %s::jsonb'] * len(wanted))})",
        tuple(f"{{{name}: {one}}}" for one in wanted),
    )


def _contains(operand: Any, value: Sql) -> Sql:
    elements = [_told(one) for one in _equal_to(operand)]
    array = " OR ".join([f"{value.text} @> %s::jsonb"] * len(elements))
    values = [one for element in elements for one in (*value.values, element)]
    if not isinstance(operand, str):
        text = f"(CASE WHEN jsonb_typeof({value.text}) = 'array' THEN {array} ELSE false END)"
        return Sql(text, (*value.values, *values))
    text = (
        f"(CASE jsonb_typeof({value.text}) WHEN 'string' THEN strpos({value.text} #>> '{{}}', %s) > 0 "
        f"WHEN 'object' THEN {value.text} ? %s WHEN 'array' THEN {array} ELSE false END)"
    )
    return Sql(text, (*value.values, *value.values, operand, *value.values, operand, *values))


def _equal_to(value: Any) -> list[Any]:
    """What Python finds equal to a value, and JSON does not."""
    if isinstance(value, bool | int | float) and value in (0, 1):
        return [int(value), bool(value)]
    return [value]


def _told(value: Any) -> str:
    return json.dumps(value)


# --- fields of the record ---------------------------------------------------------------------------------------


def _of_number(test: Holds) -> Sql:
    if test.name == "$in":
        return Sql(f"({test.key} = ANY(%s::text[]::numeric[]))", ([repr(one) for one in test.operand],))
    return Sql(f"({test.key} {_COMPARISONS[test.name]} %s::numeric)", (repr(test.operand),))


def _of_string(test: Holds) -> Sql:
    if test.name == "$in":
        known = [one for one in test.operand if one is not None]
        text = f"(coalesce({test.key} = ANY(%s), false) OR ({test.key} IS NULL AND %s))"
        return Sql(text, (known, None in test.operand))
    if test.name == "$contains":
        return Sql(f"coalesce(strpos({test.key}, %s) > 0, false)", (test.operand,))
    return Sql(f'coalesce({test.key} COLLATE "C" {_COMPARISONS[test.name]} %s, false)', (test.operand,))
