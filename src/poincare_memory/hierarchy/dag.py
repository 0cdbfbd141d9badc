"""Hierarchies whose nodes may have several parents: WordNet, the Gene Ontology, most thesauri."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from .._core import _kernels
from ..collector import CollectorPaused
from .tree import cycle_error, edge_endpoints

__all__ = ["closure_of_dag", "tree_of_dag"]

N = TypeVar("N", bound=Hashable)
_AT_ONCE = 50_000


def closure_of_dag(edges: Iterable[tuple[N, N]]) -> list[tuple[N, N]]:
    """All (ancestor, descendant) pairs of a hierarchy whose nodes may have several parents.

    For a tree the pairs are those of :func:`transitive_closure`. Time and memory are near linear in edges and pairs.

    Parameters
    ----------
    edges : iterable of (parent, child)
        Nodes are any hashable values. An edge given twice counts once.

    Returns
    -------
    list of (ancestor, descendant)
        Each pair once. Descendants in topological order (a node after all its parents, otherwise in order of
        appearance, breadth first), and the ancestors of each in that order too: roots first.

    Raises
    ------
    ValueError
        If a node is its own ancestor: the message names the cycle.

    Examples
    --------
    >>> closure_of_dag([("pet", "dog"), ("animal", "dog"), ("dog", "poodle")])
    [('pet', 'dog'), ('animal', 'dog'), ('pet', 'poodle'), ('animal', 'poodle'), ('dog', 'poodle')]
    """
    with CollectorPaused():
        return _closure(*_relations(edges))


def _closure(parents: Mapping[N, list[N]], children: Mapping[N, list[N]]) -> list[tuple[N, N]]:
    place = _topological(parents, children)
    waiting = {node: len(below) for node, below in children.items()}
    ancestors: dict[N, list[N]] = {}
    pairs: list[tuple[N, N]] = []
    for node in place:
        above = parents.get(node, ())
        if len(above) == 1:
            mine = [*ancestors[above[0]], above[0]]
        else:  # sorted pieces: sorting merges them
            union = dict.fromkeys(above)
            for parent in above:
                union.update(dict.fromkeys(ancestors[parent]))
            mine = sorted(union, key=place.__getitem__)
        _kernels.append_pairs(pairs, mine, node)
        if node in children:
            ancestors[node] = mine
        for parent in above:
            waiting[parent] -= 1
            if not waiting[parent]:
                del ancestors[parent]
    return pairs


def tree_of_dag(edges: Iterable[tuple[N, N]]) -> list[tuple[N, N]]:
    """The edges that are left when every node keeps its first parent: a forest, for layouts and memories.

    Parameters
    ----------
    edges : iterable of (parent, child)
        The first edge to a child is the one that is kept.

    Returns
    -------
    list of (parent, child)
        In the order of ``edges``.

    Raises
    ------
    ValueError
        If a node is its own ancestor, by whatever edges: the message names the cycle.

    Examples
    --------
    >>> tree_of_dag([("pet", "dog"), ("animal", "dog"), ("dog", "poodle")])
    [('pet', 'dog'), ('dog', 'poodle')]
    """
    with CollectorPaused():
        parents, children = _relations(edges)
        _topological(parents, children)
        return [(above[0], child) for child, above in parents.items()]


def _relations(edges: Iterable[tuple[N, N]]) -> tuple[dict[N, list[N]], dict[N, list[N]]]:
    """Parents of every node, and children, each once and in order of appearance; roots and leaves are no keys."""
    ends = edge_endpoints(edges, "parent", "child")
    parents: dict[N, list[N]] = {}
    children: dict[N, list[N]] = {}
    for parent, child in _each_once(zip(ends[0::2], ends[1::2], strict=True)):
        if parent == child:
            raise ValueError(f"node {child!r} is its own parent")
        parents.setdefault(child, []).append(parent)
        children.setdefault(parent, []).append(child)
    return parents, children


def _each_once(pairs: Iterator[tuple[N, N]]) -> dict[tuple[N, N], None]:
    """As keys, in order of appearance; in pieces, since no signal is let in before one is made."""
    once: dict[tuple[N, N], None] = {}
    while piece := dict.fromkeys(islice(pairs, _AT_ONCE)):
        once.update(piece)
    return once


def _topological(parents: Mapping[N, list[N]], children: Mapping[N, list[N]]) -> dict[N, int]:
    """Place of every node in topological order (Kahn 1962), breadth first from the roots."""
    left = {node: len(above) for node, above in parents.items()}
    waiting = deque(node for node in children if node not in left)
    place: dict[N, int] = {}
    while waiting:
        node = waiting.popleft()
        place[node] = len(place)
        for child in children.get(node, ()):
            left[child] -= 1
            if not left[child]:
                waiting.append(child)
    stuck = [node for node in parents if node not in place]
    if stuck:
        raise cycle_error(_cycle_above(stuck[0], parents, place))
    return place


def _cycle_above(node: N, parents: Mapping[N, list[N]], placed: Mapping[N, int]) -> list[N]:
    """A cycle among the nodes without a place, each of which has a parent without one."""
    trail: dict[N, int] = {}
    while node not in trail:
        trail[node] = len(trail)
        node = next(parent for parent in parents[node] if parent not in placed)
    return list(trail)[trail[node] :][::-1]
