"""A memory seen from one of its branches: what is outside cannot be read, reached or changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..retrieval.filters import MetadataFilter, compile_filter
from ..temporal.instants import to_micros

if TYPE_CHECKING:
    from ..store.memory import Memory
    from ..store.records import MemoryRecord, SearchResult

__all__ = ["Scope"]

_WITHIN = ("subtree", "children")  # modes that stay below the memory they are asked about


class Scope:
    """The branch below one memory, itself included; everything where there is no root.

    Parameters
    ----------
    memory : Memory
    root : str, optional
        Id of the memory at the top.

    Raises
    ------
    KeyError
        Where there is no such memory.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> mem = Memory()
    >>> ids = mem.add_many([{"text": "Ada", "id": "ada"}, {"text": "tea", "id": "tea", "parent": "ada"},
    ...                     {"text": "Ben", "id": "ben"}])
    >>> scope = Scope(mem, "ada")
    >>> [hit.id for hit in scope.search("Ben")], "ben" in scope
    (['ada', 'tea'], False)
    """

    def __init__(self, memory: Memory, root: str | None = None) -> None:
        self.memory = memory
        self.root = root
        if root is not None and root not in memory:
            raise KeyError(f"root: there is no memory {root!r:.80}")

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, str) or id not in self.memory:
            return False
        return self.root is None or self.root in self.memory.path(id)

    def get(self, id: str) -> MemoryRecord:
        """A memory of the branch; KeyError for any other, as for one that does not exist."""
        if id not in self:
            raise KeyError(f"there is no memory {id!r:.80}")
        return self.memory.get(id)

    def parent(self, id: str) -> str | None:
        """Id of the parent; None at the top of the branch."""
        return None if id == self.root else self.memory.parent(self.get(id).id)

    def path(self, id: str) -> list[str]:
        """Ids from the top of the branch down to this memory."""
        path = self.memory.path(self.get(id).id)
        return path if self.root is None else path[path.index(self.root) :]

    def children(self, id: str | None = None) -> list[str]:
        """Ids of the children of a memory, or of the tops: the root of the branch, or all roots."""
        if id is not None:
            return self.memory.children(self.get(id).id)
        return self.memory.roots() if self.root is None else [self.root]

    def walk(self, id: str | None = None, depth: int | None = None) -> Iterator[tuple[int, MemoryRecord]]:
        """The memories of the branch, or those from `id` on, each with how deep it is below the top."""
        waiting = [(0, one) for one in reversed([id] if id is not None else self.children())]
        while waiting:
            level, here = waiting.pop()
            yield level, self.get(here)
            if depth is None or level < depth:
                waiting += [(level + 1, child) for child in reversed(self.memory.children(here))]

    def search(
        self,
        query: str | None = None,
        *,
        mode: str = "nearest",
        root: str | None = None,
        filters: Any = None,
        **options: Any,
    ) -> list[SearchResult]:
        """`Memory.search` among the memories of the branch."""
        if root is not None:
            self.get(root)
        filters = self._without_the_parent_above(filters)
        if self.root is None:
            return self.memory.search(query, mode=mode, root=root, filters=filters, **options)  # type: ignore[arg-type]  # checked there
        if mode == "nearest":
            mode, root = "subtree", self.root
        elif mode not in _WITHIN:
            if mode == "siblings" and root == self.root:
                return []
            filters = self._only_inside(filters)
        return self.memory.search(query, mode=mode, root=root, filters=filters, **options)  # type: ignore[arg-type]  # checked there

    def add(self, item: Mapping[str, Any], **options: Any) -> str:
        """`Memory.add`, below the top of the branch where no parent is named."""
        return self.add_many([item], **options)[0]

    def add_many(self, items: list[Mapping[str, Any]], **options: Any) -> list[str]:
        """`Memory.add_many`, likewise."""
        if self.root is None:
            return self.memory.add_many(items, **options)
        new = {item["id"] for item in items if item.get("id") is not None}
        inside = []
        for item in items:
            parent = item.get("parent")
            if parent is not None and parent not in new:
                self.get(parent)
            id = item.get("id")
            if id is not None and id in self.memory and id not in self:
                raise ValueError(f"the id {id!r:.80} is in use")
            keeps = id is not None and id in self.memory  # "update" leaves it where it is
            inside.append({**item, "parent": parent if parent is not None or keeps else self.root})
        if any(item["parent"] is None for item in inside):
            inside = [
                {key: value for key, value in item.items() if (key, value) != ("parent", None)}
                for item in inside
            ]
        return self.memory.add_many(inside, **options)

    def update(self, id: str, **changes: Any) -> None:
        """`Memory.update` of a memory of the branch."""
        self.memory.update(self.get(id).id, **changes)

    def remove(self, id: str, cascade: bool = False) -> None:
        """`Memory.remove` of a memory of the branch; not of its top."""
        self._below_the_top(id)
        self.memory.remove(id, cascade=cascade)

    def move(self, id: str, parent: str | None) -> None:
        """`Memory.link` within the branch; without `parent` to its top."""
        self._below_the_top(id)
        if parent is not None:
            self.get(parent)
        self.memory.link(id, self.root if parent is None else parent)

    def context(self, query: str, budget: int, k: int, **options: Any) -> str:
        """`Memory.context` of the branch: ancestors above its top are left out."""
        from ..store.relations import context

        hits = self.search(query, k=k, **options)
        text = context(self.memory._store, hits, budget)
        return text if self.root is None else _without_above(text, self._above())

    def _above(self) -> int:
        return 0 if self.root is None else len(self.memory.path(self.root)) - 1

    def _below_the_top(self, id: str) -> None:
        self.get(id)
        if id == self.root:
            raise ValueError(f"{id!r:.80} is the top of what may be changed: it stays where it is")

    def _without_the_parent_above(self, filters: Any) -> Any:
        """Conditions on `parent` find none at the top: they would tell, guess by guess, what is above."""
        if not isinstance(filters, Mapping) or self.root is None or self.memory.parent(self.root) is None:
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
            return [None if record.id == self.root else record.parent_id]
        if name == "t":
            return np.array([to_micros(record.t)])
        if name == "level":
            return np.array([self.memory.level(record.id) if record.id in self.memory else 0])
        value = getattr(record, name)
        return np.array([value]) if name == "access_count" else [value]

    def _only_inside(self, filters: Any) -> Callable[[MemoryRecord], bool]:
        # By a function and not by an "id" condition: metadata may have a key of that name.
        inside = {self.root, *self.memory.descendants(str(self.root))}
        wanted = compile_filter(filters)
        if wanted is None:
            return lambda record: record.id in inside
        if not isinstance(wanted, MetadataFilter):
            return lambda record: record.id in inside and bool(filters(record))
        allowed = {record.id for record in self._passing(filters)}
        return lambda record: record.id in inside and record.id in allowed

    def _passing(self, filters: Any) -> list[MemoryRecord]:
        hits = self.memory.search(
            None, k=len(self.memory), mode="subtree", root=self.root, filters=filters, touch=False
        )
        return [hit.record for hit in hits]


def _without_above(text: str, levels: int) -> str:
    """A nested list without the lines of its first levels; the rest moves left."""
    lines, indent = text.splitlines(), "  " * levels
    if levels and len(lines) == 1:  # one match, cut, for which its ancestors made room
        return text
    return "\n".join(line[len(indent) :] for line in lines if line.startswith(indent))


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
