"""Small rooted-tree utilities shared by the layout and training code.

Everything here is iterative (a tree may be as deep as memory allows), takes time linear in its input and
output, and answers in an order that depends on the order of the input only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, cast

from .._core import _kernels

__all__ = ["children_map", "depths", "transitive_closure"]

N = TypeVar("N", bound=Hashable)

_UNORDERED_OR_TEXT = (str, bytes, set, frozenset, dict)
_SHOWN_IN_A_CYCLE = 8


def edge_endpoints(edges: Iterable[tuple[N, N]], first: str, second: str) -> list[N]:
    """The end points of every edge, flat: ``[first, second, first, ...]``. Anything but pairs is refused."""
    pairs = list(edges)
    if set(map(type, pairs)) <= {tuple} and set(map(len, pairs)) <= {2}:
        return list(chain.from_iterable(pairs))
    for position, pair in enumerate(cast("list[Any]", pairs)):
        size = len(pair) if hasattr(pair, "__len__") else None
        if size != 2 or isinstance(pair, _UNORDERED_OR_TEXT):
            raise ValueError(
                f"edges: expected ({first}, {second}) pairs, got {pair!r} at position {position}; "
                "an edge has two nodes and no weight"
            )
    return list(chain.from_iterable(pairs))


def children_map(edges: Iterable[tuple[N, N]]) -> tuple[dict[N, list[N]], list[N]]:
    """Children of every node, and the roots, of a forest given by its edges.

    Parameters
    ----------
    edges : iterable of (parent, child)
        Nodes are any hashable values. An edge given twice counts once.

    Returns
    -------
    children : dict
        Parent to its children, both in order of first appearance. Leaves are no keys.
    roots : list
        Nodes without a parent, in order of first appearance.

    Raises
    ------
    ValueError
        If a node has two parents, is its own parent, or lies on a cycle; or if an edge is not a pair.

    Examples
    --------
    >>> children_map([("animal", "dog"), ("animal", "cat"), ("dog", "poodle")])
    ({'animal': ['dog', 'cat'], 'dog': ['poodle']}, ['animal'])
    """
    ends = edge_endpoints(edges, "parent", "child")
    children: dict[N, list[N]] = {}
    parent_of: dict[N, N] = {}
    for parent, child in zip(ends[0::2], ends[1::2], strict=True):
        if child not in parent_of:
            if parent == child:
                raise ValueError(f"node {child!r} is its own parent")
            parent_of[child] = parent
            children.setdefault(parent, []).append(child)
        elif parent_of[child] != parent:
            raise _two_parents(child, parent_of[child], parent)
    nodes = dict.fromkeys(ends)
    roots = [node for node in nodes if node not in parent_of]
    _refuse_cycles(nodes, parent_of, children, roots)
    return children, roots


def transitive_closure(children: Mapping[N, Sequence[N]], root: N) -> list[tuple[N, N]]:
    """All (ancestor, descendant) pairs of the tree under ``root``.

    Parameters
    ----------
    children : mapping
        Parent to its children, the first of the two values of :func:`children_map`. A child listed twice counts
        once.
    root : node
        Where to start; a node without children (or an unknown one) has an empty closure.

    Returns
    -------
    list of (ancestor, descendant)
        Descendants in depth-first order, the ancestors of each from the root down.

    Raises
    ------
    ValueError
        If a node below ``root`` is reached from two parents, or from itself.
    TypeError
        If ``children`` is no mapping; for a list of edges see :func:`children_map`, and
        :func:`~poincare_memory.hierarchy.closure_of_dag`, which takes edges as they are.

    Examples
    --------
    >>> transitive_closure({"animal": ["dog", "cat"], "dog": ["poodle"]}, "animal")
    [('animal', 'dog'), ('animal', 'poodle'), ('dog', 'poodle'), ('animal', 'cat')]
    """
    _refuse_what_is_no_mapping(children)
    pairs: list[tuple[N, N]] = []
    parent_of: dict[N, N] = {}
    path = [root]
    waiting: list[Iterator[N]] = [iter(children.get(root, ()))]
    while waiting:
        for node in waiting[-1]:
            if node in parent_of or node == root:
                _refuse_second_visit(node, path[-1], parent_of)
                continue
            parent_of[node] = path[-1]
            _kernels.append_pairs(pairs, path, node)
            path.append(node)
            waiting.append(iter(children.get(node, ())))
            break
        else:
            waiting.pop()
            path.pop()
    return pairs


def depths(children: Mapping[N, Sequence[N]], root: N) -> dict[N, int]:
    """Number of edges from ``root`` to every node below it, in breadth-first order.

    Parameters
    ----------
    children : mapping
        Parent to its children, the first of the two values of :func:`children_map`. A child listed twice counts
        once.
    root : node
        Where to start; its depth is 0.

    Returns
    -------
    dict of node to int

    Raises
    ------
    ValueError
        If a node below ``root`` is reached from two parents, or from itself.
    TypeError
        If ``children`` is no mapping.

    Examples
    --------
    >>> depths({"animal": ["dog", "cat"], "dog": ["poodle"]}, "animal")
    {'animal': 0, 'dog': 1, 'cat': 1, 'poodle': 2}
    """
    _refuse_what_is_no_mapping(children)
    depth_of = {root: 0}
    parent_of: dict[N, N] = {}
    waiting = deque([root])
    while waiting:
        parent = waiting.popleft()
        for node in children.get(parent, ()):
            if node in depth_of:
                _refuse_second_visit(node, parent, parent_of)
                continue
            parent_of[node] = parent
            depth_of[node] = depth_of[parent] + 1
            waiting.append(node)
    return depth_of


def _refuse_what_is_no_mapping(children: object) -> None:
    """Edges, and both values of `children_map`, are the likely mistakes."""
    if hasattr(children, "get"):
        return
    raise TypeError(
        f"children: expected a mapping of parents to their children, got {type(children).__name__}; "
        "of edges, `children, roots = children_map(edges)` makes one"
    )


def _two_parents(node: N, one: N, other: N) -> ValueError:
    return ValueError(
        f"node {node!r} has two parents: {one!r} and {other!r}; in a tree a node has one parent"
    )


def _refuse_second_visit(node: N, parent: N, parent_of: Mapping[N, N]) -> None:
    """Nothing for a repeated edge; otherwise the error that says how ``node`` was reached again."""
    if node == parent:
        raise ValueError(f"node {node!r} is its own child: a tree has no cycle")
    if node in parent_of and parent_of[node] == parent:
        return
    upward = [parent]
    while upward[-1] != node and upward[-1] in parent_of:
        upward.append(parent_of[upward[-1]])
    if upward[-1] == node:
        raise cycle_error(upward[::-1])
    raise _two_parents(node, parent_of[node], parent)


def _refuse_cycles(
    nodes: Iterable[N], parent_of: Mapping[N, N], children: Mapping[N, Sequence[N]], roots: Sequence[N]
) -> None:
    """With one parent a node, whatever no root reaches lies on a cycle or below one."""
    reached = set(roots)
    waiting = list(roots)
    while waiting:
        below = children.get(waiting.pop(), ())
        reached.update(below)
        waiting.extend(below)
    unreached = [node for node in nodes if node not in reached]
    if not unreached:
        return
    trail = {unreached[0]: 0}
    node = parent_of[unreached[0]]
    while node not in trail:
        trail[node] = len(trail)
        node = parent_of[node]
    raise cycle_error(list(trail)[trail[node] :][::-1])


def cycle_error(downward: Sequence[N]) -> ValueError:
    """An error that names the nodes of a cycle, each the parent of the next."""
    shown = [repr(node) for node in downward[:_SHOWN_IN_A_CYCLE]]
    if len(downward) > _SHOWN_IN_A_CYCLE:
        shown.append(f"… ({len(downward)} nodes)")
    return ValueError(f"the edges contain a cycle: {' → '.join([*shown, repr(downward[0])])}")
