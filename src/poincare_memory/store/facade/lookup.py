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
    """What is there, where it lies in the ball, and what it was."""

    def __len__(self) -> int:
        with self._store.reading() as columns:  # no memories of a transaction that may yet be taken back
            return columns.n

    def __contains__(self, id: object) -> bool:
        with self._store.reading() as columns:
            return id in columns.row_of

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

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        MemoryRecord
            A live view: it follows the memory, and what is set on it is stored.

        Raises
        ------
        KeyError
            For an unknown id.

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

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        float64 array of shape (dim,)

        Raises
        ------
        KeyError
            For an unknown id.

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
        """Hyperbolic distance from the origin, ``base_depth + level * depth_step``, exact at any level.

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        float
            In hyperbolic units.

        Raises
        ------
        KeyError
            For an unknown id.

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> drinks = mem.add("drinks", id="drinks")
        >>> tea, coffee = mem.add("tea", id="tea", parent=drinks), mem.add("coffee", id="coffee", parent=drinks)
        >>> mem.depth("drinks"), mem.depth("tea")
        (1.0, 1.5)
        """
        with self._store.reading() as columns:
            return float(columns.radius[columns.row_of[id]])

    def history(self, id: str) -> list[MemoryVersion]:
        """The versions of a memory, the oldest first, the present one last; of a removed one those it had.

        Past ones are kept where the store was opened with ``history=True``; KeyError for an id that is unknown to
        them too.

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        list of MemoryVersion
            Each with its `record`, and from when (`recorded_at`) till when (`replaced_at`) it stood.

        Raises
        ------
        KeyError
            For an id that is unknown to past versions too.

        Examples
        --------
        >>> import os, tempfile
        >>> from poincare_memory import Memory
        >>> path = os.path.join(tempfile.mkdtemp(), "agent.db")
        >>> with Memory.open(path, history=True) as mem:
        ...     home = mem.add("Lives in Lisbon")
        ...     mem.update(home, text="Lives in Porto")
        ...     [version.record.text for version in mem.history(home)]
        ['Lives in Lisbon', 'Lives in Porto']
        """
        from ..past import history

        return history(self._store, id)
