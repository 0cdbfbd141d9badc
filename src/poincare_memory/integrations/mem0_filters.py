"""Filters as mem0 writes them, ``{"AND": [{"user_id": "ada"}, {"n": {"gte": 3}}]}``, beside those of `Memory`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .mem0_shapes import SCOPES

COMBINED: Final = {"AND": "$and", "OR": "$or", "NOT": "$not"}
COMPARED: Final = {
    name: f"${name}" for name in ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains")
}
ANY: Final = "*"
DEEPEST: Final = 32


def scope_in(filters: Mapping[str, Any]) -> dict[str, str]:
    """The scope that a filter names: at its top, or in one of the parts that must all hold."""
    every = filters.get("AND", ())
    parts = (
        [filters, *(part for part in every if isinstance(part, Mapping))] if _is_list(every) else [filters]
    )
    named = [(name, part.get(name)) for part in reversed(parts) for name in SCOPES]
    return {name: value for name, value in named if isinstance(value, str) and value != ANY}


def as_ours(filters: Mapping[str, Any], depth: int = 1) -> dict[str, Any]:
    """What `Memory.search` takes; what is in its words already stays as it is."""
    if depth > DEEPEST:
        raise ValueError(f"filters: nested deeper than {DEEPEST} levels")
    ours: dict[str, Any] = {}
    for key, wanted in filters.items():
        if key not in COMBINED:
            ours[key] = _condition(wanted)
        elif key == "NOT" and _is_list(wanted):  # none of them
            ours["$not"] = {"$or": _parts(wanted, depth)}
        elif _is_list(wanted):
            ours[COMBINED[key]] = _parts(wanted, depth)
        else:
            ours[COMBINED[key]] = as_ours(wanted, depth + 1) if isinstance(wanted, Mapping) else wanted
    return ours


def _parts(wanted: Sequence[Any], depth: int) -> list[Any]:
    return [as_ours(part, depth + 1) if isinstance(part, Mapping) else part for part in wanted]


def _condition(wanted: Any) -> Any:
    if isinstance(wanted, str) and wanted == ANY:
        return {"$exists": True}
    if not isinstance(wanted, Mapping) or not wanted or not all(name in COMPARED for name in wanted):
        return wanted
    return {COMPARED[name]: value for name, value in wanted.items()}


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
