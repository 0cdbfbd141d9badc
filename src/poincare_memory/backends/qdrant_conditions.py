"""Conditions as filters of Qdrant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..retrieval.conditions import NUMERIC_FIELDS
from .conditions import Holds, Language
from .qdrant_points import CONTAINS, EVERYTHING, HAS, IS, STRING, fact
from .rows import Where

try:
    from qdrant_client import models
except ImportError as error:
    raise ImportError(
        'Memory.connect("qdrant://...") needs the "qdrant" extra: pip install "poincare-memory[qdrant]"'
    ) from error

__all__ = ["where_filter"]

_NAMES: Final = {"parent": "up", "id": "id", "text": "text"}


def where_filter(where: Where) -> Any:
    """The conditions on a point; None where all may come."""
    must, without = [], []
    if where.below is not None:
        must.append(_among("path", where.below))
    if where.parents is not None:
        must.append(_among("up", [parent or "" for parent in where.parents]))
    if where.ids is not None:
        must.append(_among("id", where.ids))
    if where.but is not None:
        without.append(_among("id", [where.but]))
    if where.radius is not None:
        must.append(_among("radius_key", [repr(where.radius)]))
    if where.known_by is not None:  # where that is not told, it may have been
        without.append(models.FieldCondition(key="recorded_at", range=models.Range(gt=where.known_by)))
    passing = _LANGUAGE.say(where.passing)
    if not isinstance(passing, bool):
        must.append(models.Filter(should=[passing, _among("facts", [EVERYTHING])]))
    elif not passing:
        must.append(_among("facts", [EVERYTHING]))
    return models.Filter(must=must, must_not=without) if must or without else None


def _among(key: str, values: Iterable[str]) -> Any:
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


class _Words(Language[Any]):
    def every(self, parts: list[Any]) -> Any:
        return models.Filter(must=parts)

    def some(self, parts: list[Any]) -> Any:
        return models.Filter(should=parts)

    def none(self, part: Any) -> Any:
        return models.Filter(must_not=[part])

    def test(self, test: Holds, wide: bool) -> Any:
        if not test.of_field:
            return _of_metadata(test, wide)
        return (_of_number if test.key in NUMERIC_FIELDS else _of_string)(test)


_LANGUAGE: Final = _Words()


def _of_metadata(test: Holds, wide: bool) -> Any:
    if test.name == "$exists":
        return _facts([fact(HAS, test.key)])
    if test.name == "$in":
        known = [fact(IS, test.key, value) for value in test.operand]
        return None if None in known and wide else _facts(known)
    if test.name == "$contains":
        element = fact(CONTAINS, test.key, test.operand)
        if not isinstance(test.operand, str):
            return _facts([element])
        if element is None:
            return None
        return _facts(
            [element, fact(STRING, test.key)] if wide else [element]
        )  # parts of strings are not told
    if isinstance(test.operand, str) or not _is_path(test.key):
        return None
    return _ordered(_path(test.key), test)


def _facts(names: list[str | None]) -> Any:
    known = [name for name in names if name is not None]
    return _among("facts", known) if known else False


def _is_path(key: str) -> bool:
    return bool(key) and not any(one in '"\\[]' for one in key)


def _path(key: str) -> str:
    return f"numbers.{key}" if key.isidentifier() and key.isascii() else f'numbers."{key}"'


def _ordered(path: str, test: Holds) -> Any:
    return models.FieldCondition(key=path, range=models.Range(**{test.name[1:]: test.operand}))


def _of_number(test: Holds) -> Any:
    if test.name != "$in":
        return _ordered(test.key, test)
    equal = [
        models.FieldCondition(key=test.key, range=models.Range(gte=value, lte=value))
        for value in test.operand
    ]
    return models.Filter(should=equal)


def _of_string(test: Holds) -> Any:
    if test.name != "$in":
        return None
    return _among(_NAMES[test.key], [value or "" for value in test.operand])
