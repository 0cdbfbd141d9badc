"""Filters of a search within a branch: they neither find nor tell what is outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..retrieval.filters import MetadataFilter, compile_filter
from ..temporal.instants import to_micros

if TYPE_CHECKING:
    from ..store.memory import Memory
    from ..store.records import MemoryRecord


class ScopeFilters:
    """Makes filters of a memory's searches into those of one branch."""

    def __init__(self, memory: Memory, root: str | None) -> None:
        self._memory, self._root = memory, root

    def without_the_parent_above(self, filters: Any) -> Any:
        """Conditions on `parent` find none at the top: they would tell, guess by guess, what is above."""
        if not isinstance(filters, Mapping) or self._root is None or self._memory.parent(self._root) is None:
            return filters
        wanted = compile_filter(filters)
        if not isinstance(wanted, MetadataFilter) or "parent" not in _keys(filters):
            return filters

        def passes(record: MemoryRecord) -> bool:
            return bool(wanted.mask([record.meta], lambda name: self._field(record, name))[0])

        return passes

    def _field(self, record: MemoryRecord, name: str) -> Any:
        """A field of one record as conditions want it."""
        if name == "parent":
            return [None if record.id == self._root else record.parent_id]
        if name == "t":
            return np.array([to_micros(record.t)])
        if name == "level":
            return np.array([self._memory.level(record.id) if record.id in self._memory else 0])
        value = getattr(record, name)
        return np.array([value]) if name == "access_count" else [value]

    def only_inside(self, filters: Any) -> Callable[[MemoryRecord], bool]:
        """What passes and is in the branch."""
        # By a function and not by an "id" condition: metadata may have a key of that name.
        inside = {self._root, *self._memory.descendants(str(self._root))}
        wanted = compile_filter(filters)
        if wanted is None:
            return lambda record: record.id in inside
        if not isinstance(wanted, MetadataFilter):
            return lambda record: record.id in inside and bool(filters(record))
        allowed = {record.id for record in self._passing(filters)}
        return lambda record: record.id in inside and record.id in allowed

    def _passing(self, filters: Any) -> list[MemoryRecord]:
        hits = self._memory.search(
            None, k=len(self._memory), mode="subtree", root=self._root, filters=filters, touch=False
        )
        return [hit.record for hit in hits]


def _keys(filters: Any) -> set[Any]:
    """All keys of a filter, whatever is nested in it."""
    found: set[Any] = set()
    waiting = [filters]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Mapping):
            found |= here.keys()
            waiting += here.values()
        elif isinstance(here, list | tuple):
            waiting += here
    return found
