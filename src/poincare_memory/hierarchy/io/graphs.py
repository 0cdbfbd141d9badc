"""Hierarchies out of NetworkX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .taxonomy import Taxonomy

if TYPE_CHECKING:
    import networkx

__all__ = ["from_networkx"]


def from_networkx(graph: networkx.DiGraph[Any], text: str | None = "label") -> Taxonomy[Any]:
    """The edges of a directed graph, from parents to children.

    Graphs whose edges go upward (those of obonet) are turned first: ``from_networkx(graph.reverse(copy=False))``.

    Parameters
    ----------
    graph : networkx.DiGraph or MultiDiGraph
        Edges between the same nodes count once.
    text : str or None, default "label"
        Attribute of the nodes that says what they are called.

    Returns
    -------
    Taxonomy
        Nodes are those of the graph.

    Raises
    ------
    ValueError
        If the graph is not directed.

    Examples
    --------
    >>> import networkx
    >>> graph = networkx.DiGraph([("animal", "dog"), ("dog", "poodle")])
    >>> from_networkx(graph).edges
    [('animal', 'dog'), ('dog', 'poodle')]
    """
    if not graph.is_directed():
        raise ValueError("graph: expected a directed graph, whose edges tell parents from children")
    edges = list(dict.fromkeys((parent, child) for parent, child in graph.edges()))
    texts = {}
    for node, attributes in graph.nodes(data=True):
        named = None if text is None else attributes.get(text)
        if named is not None:
            texts[node] = str(named)
        elif not graph.degree(node):
            texts[node] = str(node)
    return Taxonomy(edges, texts)
