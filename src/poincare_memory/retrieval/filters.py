"""What the `filters` argument of a search may say, compiled once a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..store.records import MemoryRecord

__all__ = ["MetadataFilter", "RecordFilter", "compile_filter"]

Mask = NDArray[np.uint8]
Condition = Callable[[Sequence[Any]], NDArray[np.bool_]]
"""A test of one metadata key: the values (None where a memory lacks the key) to one truth value each."""

_PLAIN = (str, int, float, bool, type(None))


class MetadataFilter:
    """Conditions on metadata keys, all of which must hold.

    Examples
    --------
    >>> from poincare_memory.retrieval.filters import compile_filter
    >>> compile_filter({"kind": "event", "year": 2026}).mask([{"kind": "event", "year": 2026.0}, None])
    array([1, 0], dtype=uint8)
    """

    def __init__(self, conditions: Iterable[tuple[Any, Condition]]) -> None:
        self._conditions = list(conditions)

    def mask(self, metas: Sequence[Mapping[str, Any] | None]) -> Mask:
        """1 where a memory with this metadata passes; None stands for no metadata."""
        passes = np.ones(len(metas), dtype=bool)
        for key, condition in self._conditions:
            passes &= condition([None if meta is None else meta.get(key) for meta in metas])
        return passes.view(np.uint8)


class RecordFilter:
    """A function of the user's own; call it with no lock held."""

    def __init__(self, function: Callable[[MemoryRecord], Any]) -> None:
        self._function = function

    def mask(self, records: Iterable[MemoryRecord]) -> Mask:
        """1 where the function finds a record true."""
        return np.array([bool(self._function(record)) for record in records], dtype=np.uint8)


def compile_filter(filters: Any) -> MetadataFilter | RecordFilter | None:
    """A filter from a mapping of metadata keys to the values they must equal, or from a function of a record.

    A missing key counts as None. None, and a mapping without keys, let everything pass.

    Raises
    ------
    TypeError
        For anything else.

    Examples
    --------
    >>> from poincare_memory.retrieval.filters import compile_filter
    >>> compile_filter(None) is None
    True
    """
    if filters is None:
        return None
    if isinstance(filters, Mapping):
        if not filters:
            return None
        return MetadataFilter((key, equals(wanted)) for key, wanted in filters.items())
    if callable(filters):
        return RecordFilter(filters)
    raise TypeError(
        "filters: expected a mapping {metadata key: value} or a function of a record that returns True or "
        f"False, got {type(filters).__name__}: {filters!r:.80}"
    )


def equals(wanted: Any) -> Condition:
    """Whether a value equals `wanted`; arrays and other containers compare as a whole."""

    def condition(values: Sequence[Any]) -> NDArray[np.bool_]:
        if isinstance(wanted, _PLAIN):
            try:
                return np.fromiter([value == wanted for value in values], dtype=bool, count=len(values))
            except ValueError:
                pass  # a value that compares element by element, like an array
        return np.fromiter((_equal(value, wanted) for value in values), dtype=bool, count=len(values))

    return condition


def _equal(value: Any, wanted: Any) -> bool:
    try:
        return bool(value == wanted)
    except (ValueError, TypeError):
        return bool(np.array_equal(value, wanted))
