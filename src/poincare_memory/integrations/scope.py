"""A memory seen from one of its branches: what is outside cannot be read, reached or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .scope_filters import ScopeFilters

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
        What is looked at.
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
    >>> scope.add({"text": "oolong", "id": "oolong"})
    'oolong'
    >>> scope.move("oolong", "tea")
    >>> scope.path("oolong"), scope.parent("ada"), scope.children("ada")
    (['ada', 'tea', 'oolong'], None, ['tea'])
    >>> [(level, record.id) for level, record in scope.walk()]
    [(0, 'ada'), (1, 'tea'), (2, 'oolong')]
    >>> scope.update("oolong", text="oolong tea")
    >>> scope.get("oolong").text
    'oolong tea'
    >>> print(scope.context("oolong", budget=200, k=1))
    - Ada
      - tea
        - [...] oolong tea
    >>> scope.remove("tea", cascade=True)
    >>> scope.add_many([{"text": "milk", "id": "milk"}])
    ['milk']
    """

    def __init__(self, memory: Memory, root: str | None = None) -> None:
        self.memory = memory
        self.root = root
        if root is not None and root not in memory:
            raise KeyError(f"root: there is no memory {root!r:.80}")
        self._filters = ScopeFilters(memory, root)

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, str) or id not in self.memory:
            return False
        return self.root is None or self.root in self.memory.path(id)

    def get(self, id: str) -> MemoryRecord:
        """A memory of the branch.

        Parameters
        ----------
        id : str

        Returns
        -------
        MemoryRecord

        Raises
        ------
        KeyError
            For any other memory, as for one that does not exist.
        """
        if id not in self:
            raise KeyError(f"there is no memory {id!r:.80}")
        return self.memory.get(id)

    def parent(self, id: str) -> str | None:
        """Id of the parent; None at the top of the branch.

        Parameters
        ----------
        id : str

        Returns
        -------
        str or None

        Raises
        ------
        KeyError
            As `get`.
        """
        return None if id == self.root else self.memory.parent(self.get(id).id)

    def path(self, id: str) -> list[str]:
        """Ids from the top of the branch down to this memory.

        Parameters
        ----------
        id : str

        Returns
        -------
        list of str

        Raises
        ------
        KeyError
            As `get`.
        """
        path = self.memory.path(self.get(id).id)
        return path if self.root is None else path[path.index(self.root) :]

    def children(self, id: str | None = None) -> list[str]:
        """Ids of the children of a memory, or of the tops: the root of the branch, or all roots.

        Parameters
        ----------
        id : str, optional

        Returns
        -------
        list of str

        Raises
        ------
        KeyError
            As `get`.
        """
        if id is not None:
            return self.memory.children(self.get(id).id)
        return self.memory.roots() if self.root is None else [self.root]

    def walk(self, id: str | None = None, depth: int | None = None) -> Iterator[tuple[int, MemoryRecord]]:
        """The memories of the branch, or those from `id` on, each with how deep it is below the top.

        Parameters
        ----------
        id : str, optional
            Where to begin; the top by default.
        depth : int, optional
            How many levels below it at most; all by default.

        Yields
        ------
        level : int
            0 where it begins.
        record : MemoryRecord
            Parents before their children.
        """
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
        """`Memory.search` among the memories of the branch.

        Parameters
        ----------
        query, mode, root, filters, **options
            As of `Memory.search`; `root` must be in the branch.

        Returns
        -------
        list of SearchResult

        Raises
        ------
        KeyError
            For a `root` outside the branch.
        """
        if root is not None:
            self.get(root)
        filters = self._filters.without_the_parent_above(filters)
        if self.root is None:
            return self.memory.search(query, mode=mode, root=root, filters=filters, **options)  # type: ignore[arg-type]  # checked there
        if mode == "nearest":
            mode, root = "subtree", self.root
        elif mode not in _WITHIN:
            if mode == "siblings" and root == self.root:
                return []
            filters = self._filters.only_inside(filters)
        return self.memory.search(query, mode=mode, root=root, filters=filters, **options)  # type: ignore[arg-type]  # checked there

    def add(self, item: Mapping[str, Any], **options: Any) -> str:
        """`Memory.add`, below the top of the branch where no parent is named.

        Parameters
        ----------
        item : mapping
            As those of `Memory.add_many`.
        **options
            Of `Memory.add_many`.

        Returns
        -------
        str
            The id.

        Raises
        ------
        KeyError
            For a parent outside the branch.
        """
        return self.add_many([item], **options)[0]

    def add_many(self, items: list[Mapping[str, Any]], **options: Any) -> list[str]:
        """`Memory.add_many`, likewise.

        Parameters
        ----------
        items : list of mapping
            As those of `Memory.add_many`.
        **options
            Of `Memory.add_many`.

        Returns
        -------
        list of str
            The ids.

        Raises
        ------
        KeyError
            For a parent outside the branch.
        ValueError
            For an id that is in use outside.
        """
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
        """`Memory.update` of a memory of the branch.

        Parameters
        ----------
        id : str
        **changes
            As of `Memory.update`.

        Raises
        ------
        KeyError
            As `get`.
        """
        self.memory.update(self.get(id).id, **changes)

    def remove(self, id: str, cascade: bool = False) -> None:
        """`Memory.remove` of a memory of the branch; not of its top.

        Parameters
        ----------
        id, cascade
            As of `Memory.remove`.

        Raises
        ------
        KeyError
            As `get`.
        ValueError
            For the top.
        """
        self._below_the_top(id)
        self.memory.remove(id, cascade=cascade)

    def move(self, id: str, parent: str | None) -> None:
        """`Memory.link` within the branch; without `parent` to its top.

        Parameters
        ----------
        id : str
        parent : str or None
            None: the top of the branch.

        Raises
        ------
        KeyError
            As `get`.
        ValueError
            For the top.
        """
        self._below_the_top(id)
        if parent is not None:
            self.get(parent)
        self.memory.link(id, self.root if parent is None else parent)

    def context(self, query: str, budget: int, k: int, **options: Any) -> str:
        """`Memory.context` of the branch: ancestors above its top are left out.

        Parameters
        ----------
        query, budget, k, **options
            As of `Memory.context`.

        Returns
        -------
        str
        """
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


def _without_above(text: str, levels: int) -> str:
    """A nested list without the lines of its first levels; the rest moves left."""
    lines, indent = text.splitlines(), "  " * levels
    if levels and len(lines) == 1:  # one match, cut, for which its ancestors made room
        return text
    return "\n".join(line[len(indent) :] for line in lines if line.startswith(indent))
