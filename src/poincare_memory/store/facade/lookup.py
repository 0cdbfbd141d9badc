"""Methods of `Memory` that look up memories by their id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...geometry.numerics import FloatArray
from ..placement import points
from ..records import MemoryRecord
from .base import Facade

if TYPE_CHECKING:
    from ..past import MemoryVersion


class Lookup(Facade):
    """What is there, where it lies in the ball, and what is above, below and beside it."""

    def __len__(self) -> int:
        self._store.look()
        return self._store.columns.n

    def __contains__(self, id: object) -> bool:
        self._store.look()
        return id in self._store.columns.row_of

    def __iter__(self) -> Iterator[MemoryRecord]:
        """Live records in order of insertion, those that are there now."""
        with self._store.reading() as columns:
            records: list[MemoryRecord] = list(columns.records(columns.live_rows()))
        return iter(records)

    @property
    def ids(self) -> list[str]:
        """All ids in order of insertion."""
        with self._store.reading() as columns:
            return list(columns.row_of)

    def get(self, id: str) -> MemoryRecord:
        """The live record of a memory; KeyError for an unknown id.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> record = mem.get(mem.add("Prefers tea"))
        >>> record.meta["checked"] = True
        >>> record.text, record.meta
        ('Prefers tea', {'checked': True})
        """
        with self._store.reading() as columns:
            return columns.record(columns.row_of[id])

    def point(self, id: str) -> FloatArray:
        """The point of a memory in the ball, (dim,) float64: a copy.

        Its norm is always below ``1 / sqrt(curvature)``. float64 tells points apart to about depth 36;
        `depth` stays exact beyond. A memory without direction (its text embeds to zero) is at the origin.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> note = mem.add("Prefers tea")
        >>> round(float(mem.ball.distance_to_origin(mem.point(note))), 9)
        1.0
        """
        store = self._store
        with store.reading():
            row = np.array([store.columns.row_of[id]], np.int32)
            point: FloatArray = points(store.columns, row, store.ball.sqrt_c)[0]
        return point

    @property
    def points(self) -> FloatArray:
        """All points in order of insertion, (n, dim) float64: a copy."""
        store = self._store
        with store.reading():
            return points(store.columns, store.columns.live_rows(), store.ball.sqrt_c)

    def depth(self, id: str) -> float:
        """Hyperbolic distance from the origin, ``base_depth + level * depth_step``, exact at any level."""
        with self._store.reading() as columns:
            return float(columns.radius[columns.row_of[id]])

    def level(self, id: str) -> int:
        """Steps from the root: 0 at a root."""
        with self._store.reading() as columns:
            return int(columns.level[columns.row_of[id]])

    def parent(self, id: str) -> str | None:
        """Id of the parent, None for a root."""
        with self._store.reading() as columns:
            row = int(columns.parent[columns.row_of[id]])
            return columns.ids[row] if row >= 0 else None

    def children(self, id: str) -> list[str]:
        """Ids of the children in the order they came."""
        with self._store.reading() as columns:
            return columns.names(columns.children_rows(columns.row_of[id]))

    def ancestors(self, id: str) -> list[str]:
        """Parent, grandparent, ..., root."""
        with self._store.reading() as columns:
            return columns.names(columns.ancestor_rows(columns.row_of[id]))

    def descendants(self, id: str) -> list[str]:
        """Everything below, parents before children."""
        with self._store.reading() as columns:
            return columns.names(columns.subtree_rows(columns.row_of[id])[1:])

    def siblings(self, id: str) -> list[str]:
        """The other children of its parent; of a root the other roots."""
        with self._store.reading() as columns:
            return columns.names(columns.sibling_rows(columns.row_of[id]))

    def roots(self) -> list[str]:
        """Ids of all roots in order of insertion."""
        with self._store.reading() as columns:
            return columns.names(columns.root_rows())

    def path(self, id: str) -> list[str]:
        """Ids from the root down to this memory, itself included; KeyError for an unknown id.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> mem.path(mem.add("tea", id="tea", parent=mem.add("drinks", id="drinks")))
        ['drinks', 'tea']
        """
        from ..relations import path

        return path(self._store, id)

    def lca(self, a: str, b: str) -> str | None:
        """Lowest common ancestor: the deepest memory that both are or are below; None in different trees.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> drinks = mem.add("drinks", id="drinks")
        >>> tea, coffee = mem.add("tea", parent=drinks), mem.add("coffee", parent=drinks)
        >>> mem.lca(tea, coffee)
        'drinks'
        """
        from ..relations import lowest_common_ancestor

        return lowest_common_ancestor(self._store, a, b)

    def history(self, id: str) -> list[MemoryVersion]:
        """The versions of a memory, the oldest first, the present one last; of a removed one those it had.

        Past ones are kept where the store was opened with ``history=True``; KeyError for an id that is unknown to
        them too.
        """
        from ..past import history

        return history(self._store, id)
