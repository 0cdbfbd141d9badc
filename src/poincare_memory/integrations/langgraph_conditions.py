"""Conditions of LangGraph's searches: on namespaces, and on the values of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from .langgraph_items import Namespace, is_expired

try:
    from langgraph.store.base import MatchCondition
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.langgraph needs the "langgraph" extra: '
        'pip install "poincare-memory[langgraph]"'
    ) from error

if TYPE_CHECKING:
    from ..store.records import MemoryRecord

_ORDERS: Final[dict[str, Callable[[float, float], bool]]] = {
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


def matches(condition: MatchCondition, namespace: Namespace) -> bool:
    """``*`` stands for any one label."""
    path = condition.path
    if len(path) > len(namespace):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"match_type: expected prefix or suffix, got {condition.match_type!r:.80}")
    part = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def passing(filters: Mapping[str, Any] | None, now: datetime) -> Callable[[MemoryRecord], bool]:
    for key, wanted in (filters or {}).items():
        _check(wanted, key)

    def passes(record: MemoryRecord) -> bool:
        if is_expired(record.meta, now):
            return False
        value = record.meta["value"]
        return all(_equals(value.get(key), wanted) for key, wanted in (filters or {}).items())

    return passes


def _check(wanted: Any, where: str) -> None:
    if not isinstance(wanted, Mapping):
        return
    for name, operand in wanted.items():
        if isinstance(name, str) and name.startswith("$"):
            if name not in _ORDERS and name not in ("$eq", "$ne"):
                raise ValueError(f"filter[{where!r}]: unknown operator {name!r:.80}")
        else:
            _check(operand, f"{where}.{name}")


def _equals(value: Any, wanted: Any) -> bool:
    """As LangGraph's stores compare: mappings part by part, lists element by element, operators below a key."""
    if isinstance(wanted, Mapping):
        if any(isinstance(name, str) and name.startswith("$") for name in wanted):
            return all(_holds(name, value, operand) for name, operand in wanted.items())
        return isinstance(value, Mapping) and all(_equals(value.get(key), one) for key, one in wanted.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(_equals(a, b) for a, b in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _holds(name: str, value: Any, operand: Any) -> bool:
    if name == "$eq":
        return bool(value == operand)
    if name == "$ne":
        return bool(value != operand)
    try:
        return _ORDERS[name](float(value), float(operand))
    except (TypeError, ValueError):  # missing, or no number
        return False
