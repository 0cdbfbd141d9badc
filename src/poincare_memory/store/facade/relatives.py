"""Reading the hierarchy: what is above, below and beside a memory."""

from __future__ import annotations

from .base import Facade


class Relatives(Facade):
    """What is above, below and beside each memory."""

    def level(self, id: str) -> int:
        """Steps from the root: 0 at a root.

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        int

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
        >>> mem.level("drinks"), mem.level("tea")
        (0, 1)
        """
        with self._store.reading() as columns:
            return int(columns.level[columns.row_of[id]])

    def parent(self, id: str) -> str | None:
        """Id of the parent, None for a root.

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        str or None

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
        >>> mem.parent("tea"), mem.parent("drinks")
        ('drinks', None)
        """
        with self._store.reading() as columns:
            row = int(columns.parent[columns.row_of[id]])
            return columns.ids[row] if row >= 0 else None

    def children(self, id: str) -> list[str]:
        """Ids of the children in the order they came.

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        list of str

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
        >>> mem.children("drinks")
        ['tea', 'coffee']
        """
        with self._store.reading() as columns:
            return columns.names(columns.children_rows(columns.row_of[id]))

    def ancestors(self, id: str) -> list[str]:
        """Parent, grandparent, ..., root.

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        list of str
            The nearest first; empty for a root.

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
        >>> mem.ancestors("tea")
        ['drinks']
        """
        with self._store.reading() as columns:
            return columns.names(columns.ancestor_rows(columns.row_of[id]))

    def descendants(self, id: str) -> list[str]:
        """Everything below, parents before children.

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        list of str

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
        >>> mem.descendants("drinks")
        ['tea', 'coffee']
        """
        with self._store.reading() as columns:
            return columns.names(columns.subtree_rows(columns.row_of[id])[1:])

    def siblings(self, id: str) -> list[str]:
        """The other children of its parent; of a root the other roots.

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        list of str
            In the order they came.

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
        >>> mem.siblings("tea")
        ['coffee']
        """
        with self._store.reading() as columns:
            return columns.names(columns.sibling_rows(columns.row_of[id]))

    def roots(self) -> list[str]:
        """Ids of all roots in order of insertion.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from poincare_memory import Memory
        >>> mem = Memory()
        >>> drinks = mem.add("drinks", id="drinks")
        >>> tea, coffee = mem.add("tea", id="tea", parent=drinks), mem.add("coffee", id="coffee", parent=drinks)
        >>> mem.roots()
        ['drinks']
        """
        with self._store.reading() as columns:
            return columns.names(columns.root_rows())

    def path(self, id: str) -> list[str]:
        """Ids from the root down to this memory, itself included; KeyError for an unknown id.

        Parameters
        ----------
        id : str
            Of a memory.

        Returns
        -------
        list of str

        Raises
        ------
        KeyError
            For an unknown id.

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

        Parameters
        ----------
        a, b : str
            Ids of memories.

        Returns
        -------
        str or None

        Raises
        ------
        KeyError
            For an unknown id.

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
