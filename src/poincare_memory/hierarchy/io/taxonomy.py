"""What the readers return."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..dag import closure_of_dag, tree_of_dag

__all__ = ["Taxonomy"]

N = TypeVar("N", bound=Hashable)


@dataclass(frozen=True)
class Taxonomy(Generic[N]):
    """A hierarchy out of a file: its edges, and what its nodes are called.

    Attributes
    ----------
    edges : list of (parent, child)
        In the order of the file where it has one. Nodes may have several parents, and nobody has looked for cycles
        yet: :meth:`tree` and :meth:`closure` do.
    texts : dict of node to str
        Names and glosses, where the file has them; also of nodes without an edge.

    Examples
    --------
    >>> taxonomy = Taxonomy([("animal", "dog"), ("pet", "dog"), ("dog", "poodle")], {"dog": "Dog: a canine"})
    >>> taxonomy.nodes
    ['animal', 'dog', 'pet', 'poodle']
    >>> taxonomy.below("pet").edges
    [('pet', 'dog'), ('dog', 'poodle')]
    >>> taxonomy.tree()
    [('animal', 'dog'), ('dog', 'poodle')]
    """

    edges: list[tuple[N, N]]
    texts: dict[N, str] = field(default_factory=dict)

    @property
    def nodes(self) -> list[N]:
        """Every node once: those of the edges in order of appearance, then those that have a text only."""
        ends = dict.fromkeys(node for edge in self.edges for node in edge)
        return list(ends | dict.fromkeys(self.texts))

    def below(self, root: N) -> Taxonomy[N]:
        """``root`` and all its descendants.

        Parameters
        ----------
        root : node

        Returns
        -------
        Taxonomy
            Its edges and texts, in the same order; an edge from outside the branch is left out.

        Raises
        ------
        KeyError
            If ``root`` is no node of the taxonomy.
        """
        children: dict[N, list[N]] = {}
        for parent, child in self.edges:
            children.setdefault(parent, []).append(child)
        if root not in self.texts and not any(root in edge for edge in self.edges):
            raise KeyError(f"root: {root!r:.80} is no node of this taxonomy")
        kept, waiting = {root}, [root]
        while waiting:
            new = [child for child in children.get(waiting.pop(), ()) if child not in kept]
            kept.update(new)
            waiting.extend(new)
        edges = [edge for edge in self.edges if edge[0] in kept]
        return Taxonomy(edges, {node: text for node, text in self.texts.items() if node in kept})

    def tree(self) -> list[tuple[N, N]]:
        """The edges that are left when every node keeps its first parent; see :func:`tree_of_dag`.

        Returns
        -------
        list of (parent, child)

        Raises
        ------
        ValueError
            If the edges contain a cycle.
        """
        return tree_of_dag(self.edges)

    def closure(self) -> list[tuple[N, N]]:
        """All (ancestor, descendant) pairs; see :func:`closure_of_dag`.

        Returns
        -------
        list of (ancestor, descendant)

        Raises
        ------
        ValueError
            If the edges contain a cycle.

        Examples
        --------
        >>> Taxonomy([("animal", "dog"), ("dog", "poodle")]).closure()
        [('animal', 'dog'), ('animal', 'poodle'), ('dog', 'poodle')]
        """
        return closure_of_dag(self.edges)
