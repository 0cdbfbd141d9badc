"""Memories of a server looked up one by one, and their relatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..store.arrays import checked_reference
from ..store.records import MemoryRecord
from .asked import by_branch, in_the_tree, position, siblings_of
from .conditions import sendable
from .rows import Engine, Row, Where, record_of


class RemoteLookup:
    """The part of `RemoteMemory` that reads without searching; each call asks the server."""

    _engine: Engine

    def __len__(self) -> int:
        return self._engine.count()

    def __contains__(self, id: object) -> bool:
        return bool(self._engine.fetch(Where(ids=sendable([checked_reference(id, "id")]))))

    def __iter__(self) -> Iterator[MemoryRecord]:
        """Records in order of insertion; all are fetched."""
        return iter([record_of(row) for row in self._engine.fetch(Where())])

    @property
    def ids(self) -> list[str]:
        """All ids in order of insertion."""
        return [row.id for row in self._engine.fetch(Where())]

    def _row(self, id: str) -> Row:
        found = self._engine.fetch(Where(ids=sendable([checked_reference(id, "id")])))
        if not found:
            raise KeyError(f"unknown id {id!r:.80}")
        return found[0]

    def get(self, id: str) -> MemoryRecord:
        """As `Memory.get`, but a copy: a change to it does not reach the server.

        Parameters
        ----------
        id : str

        Returns
        -------
        MemoryRecord

        Raises
        ------
        KeyError
            For an unknown id.
        """
        return record_of(self._row(id))

    def depth(self, id: str) -> float:
        """As `Memory.depth`.

        Parameters
        ----------
        id : str

        Returns
        -------
        float
        """
        return self._row(id).radius

    def level(self, id: str) -> int:
        """As `Memory.level`.

        Parameters
        ----------
        id : str

        Returns
        -------
        int
        """
        return self._row(id).level

    def path(self, id: str) -> list[str]:
        """As `Memory.path`.

        Parameters
        ----------
        id : str

        Returns
        -------
        list of str
        """
        return self._row(id).path

    def parent(self, id: str) -> str | None:
        """As `Memory.parent`.

        Parameters
        ----------
        id : str

        Returns
        -------
        str or None
        """
        return self._row(id).parent

    def ancestors(self, id: str) -> list[str]:
        """As `Memory.ancestors`.

        Parameters
        ----------
        id : str

        Returns
        -------
        list of str
        """
        return self._row(id).path[-2::-1]

    def children(self, id: str) -> list[str]:
        """As `Memory.children`.

        Parameters
        ----------
        id : str

        Returns
        -------
        list of str
        """
        return [row.id for row in by_branch(self._below(id, lambda roots: Where(parents=[id], roots=roots)))]

    def descendants(self, id: str) -> list[str]:
        """As `Memory.descendants`.

        Parameters
        ----------
        id : str

        Returns
        -------
        list of str
        """
        branch = self._below(id, lambda roots: Where(below=[id], roots=roots))
        return [row.id for row in sorted(branch, key=in_the_tree)[1:]]

    def siblings(self, id: str) -> list[str]:
        """As `Memory.siblings`.

        Parameters
        ----------
        id : str

        Returns
        -------
        list of str
        """
        found = self._engine.reading(lambda: self._ordered(siblings_of(self._row(id)), "siblings"))
        return [row.id for row in found]

    def roots(self) -> list[str]:
        """As `Memory.roots`.

        Returns
        -------
        list of str
        """
        return [row.id for row in self._ordered(Where(parents=[None]), "nearest")]

    def _below(self, id: str, where: Callable[[list[str]], Where]) -> list[Row]:
        return self._engine.reading(lambda: self._engine.fetch(where(self._row(id).path[:1])))

    def _ordered(self, where: Where, mode: str) -> list[Row]:
        return sorted(self._engine.fetch(where), key=lambda row: position(row, mode, []))
