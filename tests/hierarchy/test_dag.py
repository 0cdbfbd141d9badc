"""closure_of_dag and tree_of_dag: several parents, and everything that is no hierarchy."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory.hierarchy import children_map, closure_of_dag, transitive_closure, tree_of_dag


@st.composite
def dags(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Edges from smaller to larger numbers, shuffled, some repeated, under labels that tell nothing of the order."""
    size = draw(st.integers(2, 14))
    names = draw(st.permutations(range(size)))
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda e: e[0] < e[1])
    return [(names[a], names[b]) for a, b in draw(st.lists(pairs, max_size=30))]


def ancestors(edges, node):
    found, waiting = set(), [node]
    while waiting:
        at = waiting.pop()
        above = {parent for parent, child in edges if child == at} - found
        found |= above
        waiting += above
    return found


@given(dags())
def test_against_walking_up(edges):
    closure = closure_of_dag(edges)
    nodes = {node for edge in edges for node in edge}
    assert len(closure) == len(set(closure))
    assert set(closure) == {(a, node) for node in nodes for a in ancestors(edges, node)}
    position = {node: i for i, node in enumerate(dict.fromkeys(node for _, node in closure))}
    for a, node in closure:  # a node comes after its ancestors, which come in that order too
        assert position.get(a, -1) < position[node]
    for node in position:
        mine = [position.get(a, -1) for a, below in closure if below == node]
        assert mine == sorted(mine)
    tree = tree_of_dag(edges)
    children, _ = children_map(tree)
    assert {c for _, c in tree} == {c for _, c in edges}
    assert set(tree) <= set(edges)
    assert all(
        next(p for p, c in edges if c == child) == p for p, below in children.items() for child in below
    )


def test_of_a_tree_the_pairs_are_those_of_the_tree():
    edges = [(i // 3, i) for i in range(1, 200)]
    assert set(closure_of_dag(edges)) == set(transitive_closure(children_map(edges)[0], 0))
    assert tree_of_dag(edges) == edges


def test_order_is_that_of_the_input():
    edges = [("z", "b"), ("a", "b"), ("b", "c"), ("z", "c")]
    assert closure_of_dag(edges) == [("z", "b"), ("a", "b"), ("z", "c"), ("a", "c"), ("b", "c")]
    assert closure_of_dag([]) == tree_of_dag([]) == []


def test_deep_chains_and_many_parents():
    n = 2000
    assert len(closure_of_dag((i, i + 1) for i in range(n - 1))) == n * (n - 1) // 2
    wide = [(i, "child") for i in range(5000)] + [("child", i) for i in range(5000, 5020)]
    assert len(closure_of_dag(wide)) == 5000 + 20 * 5001
    layers = [(10 * a + i, 10 * a + 10 + j) for a in range(30) for i in range(10) for j in range(10)]
    assert len(closure_of_dag(layers)) == 100 * 30 * 31 // 2  # 10^30 paths


@pytest.mark.parametrize("function", [closure_of_dag, tree_of_dag])
def test_cycles_are_named(function):
    edges = [("top", "x"), ("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "leaf"), ("leaf", "end")]
    with pytest.raises(ValueError, match="cycle") as caught:
        function(edges)
    named = re.findall(r"'(\w+)'", str(caught.value))
    assert named[0] == named[-1] and set(named) == {"a", "b", "c"}
    assert all(edge in edges for edge in pairwise(named))
    with pytest.raises(ValueError, match="'a' is its own parent"):
        function([("a", "a")])
    with pytest.raises(ValueError, match="position 1"):
        function([("a", "b"), ("a", "b", 2.0)])
    with pytest.raises(ValueError, match="nodes"):
        function([(i, (i + 1) % 5000) for i in range(5000)])
