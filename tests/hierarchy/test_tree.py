"""children_map, transitive_closure and depths: forests of every shape, and everything that is none."""

from __future__ import annotations

import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hash_seeds import answers_under_seeds
from poincare_memory.hierarchy.tree import children_map, depths, transitive_closure


@st.composite
def forests(draw: st.DrawFn) -> list[tuple[int | str | None, int | str | None]]:
    """Edges of a random forest over mixed labels, shuffled, some of them repeated."""
    size = draw(st.integers(1, 25))
    labels = draw(
        st.lists(
            st.one_of(st.none(), st.integers(), st.text(max_size=3)),
            min_size=size,
            max_size=size,
            unique=True,
        )
    )
    edges = []
    for i in range(1, size):
        parent = draw(st.one_of(st.none(), st.integers(0, i - 1)))
        if parent is not None:
            edges.append((labels[parent], labels[i]))
    return draw(st.permutations(edges + edges[: draw(st.integers(0, 3))]))


def ancestors_from_edges(edges, node):
    parent_of = {child: parent for parent, child in edges}
    found = []
    while node in parent_of:
        node = parent_of[node]
        found.append(node)
    return found


@given(forests())
def test_forest_against_walking_up(edges):
    children, roots = children_map(edges)
    assert {(p, c) for p, below in children.items() for c in below} == set(edges)
    assert sum(map(len, children.values())) == len(set(edges))
    mentioned = list(dict.fromkeys(node for edge in edges for node in edge))
    assert roots == [node for node in mentioned if not ancestors_from_edges(edges, node)]
    closure = [pair for root in roots for pair in transitive_closure(children, root)]
    assert len(closure) == len(set(closure))
    assert set(closure) == {(a, node) for node in mentioned for a in ancestors_from_edges(edges, node)}
    depth_of = {node: depth for root in roots for node, depth in depths(children, root).items()}
    assert depth_of == {node: len(ancestors_from_edges(edges, node)) for node in mentioned}


def test_orders_are_those_of_the_input():
    children = {0: [1, 2], 1: [3, 4], 2: [5], 3: [6]}
    closure = [(0, 1), (0, 3), (1, 3), (0, 6), (1, 6), (3, 6), (0, 4), (1, 4), (0, 2), (0, 5), (2, 5)]
    assert transitive_closure(children, 0) == closure
    assert list(depths(children, 0)) == [0, 1, 2, 3, 4, 5, 6]
    assert children_map([("b", "a"), ("a", "c"), ("z", "y"), ("b", "q")]) == (
        {"b": ["a", "q"], "a": ["c"], "z": ["y"]},
        ["b", "z"],
    )


def test_orders_do_not_depend_on_string_hashes():
    code = (
        "from poincare_memory.hierarchy.tree import children_map, transitive_closure\n"
        "children, roots = children_map([(c, c + d) for c in 'hgfedcba' for d in 'zy'])\n"
        "print(children, roots, [transitive_closure(children, root) for root in roots])"
    )
    assert len(answers_under_seeds(code, "0", "1", "2")) == 1


def test_deep_chain_and_wide_star():
    n = 3000
    chain = {i: [i + 1] for i in range(n - 1)}
    assert len(transitive_closure(chain, 0)) == n * (n - 1) // 2
    assert depths(chain, 0)[n - 1] == n - 1
    edges = [(i, i + 1) for i in range(100_000)]
    assert children_map(edges[::-1])[1] == [0]
    star, roots = children_map([("hub", i) for i in range(100_000)])
    assert roots == ["hub"]
    assert len(transitive_closure(star, "hub")) == 100_000


def test_the_collector_follows_pairs_that_may_hold_cycles():
    """Pairs of plain values need no following; one that holds an object can be part of a cycle, and must go."""

    class Node:
        pass

    plain = transitive_closure({"a": ["b"], "b": [3]}, "a")
    assert not any(gc.is_tracked(pair) for pair in plain)
    top, bottom = Node(), Node()
    pairs = transitive_closure({top: ["middle"], "middle": [bottom]}, top)
    assert all(gc.is_tracked(pair) for pair in pairs)
    bottom.pairs = pairs
    gone = weakref.ref(bottom)
    del top, bottom, pairs
    gc.collect()
    assert gone() is None


def test_empty_and_unknown():
    assert children_map([]) == ({}, [])
    assert transitive_closure({}, "a") == []
    assert depths({"a": ["b"]}, "zz") == {"zz": 0}


def test_repeated_children_count_once():
    assert children_map([("a", "b"), ("a", "b"), ("b", "c")]) == ({"a": ["b"], "b": ["c"]}, ["a"])
    assert transitive_closure({"a": ["b", "b"], "b": ["c"]}, "a") == [("a", "b"), ("a", "c"), ("b", "c")]
    assert depths({"a": ["b", "b"]}, "a") == {"a": 0, "b": 1}


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        ([("a", "b"), ("c", "b")], "'b' has two parents: 'a' and 'c'"),
        ([("a", "a")], "'a' is its own parent"),
        ([(None, None)], "None is its own parent"),
        ([("a", "b"), ("b", "a")], "cycle: 'a' → 'b' → 'a'|cycle: 'b' → 'a' → 'b'"),
        ([("r", "s"), ("x", "y"), ("y", "z"), ("z", "x"), ("z", "tail")], "cycle: .*'x' → 'y'.*"),
        ([(None, 1), (1, None)], "cycle: .*None → 1.*"),
        ([("a", "b", 1.0)], r"pairs, got \('a', 'b', 1.0\) at position 0"),
        ([("a", "b"), ("c",)], r"got \('c',\) at position 1"),
        (["ab"], "got 'ab' at position 0"),
        ([7], "got 7 at position 0"),
    ],
)
def test_what_is_no_forest_is_refused(edges, says):
    with pytest.raises(ValueError, match=says):
        children_map(edges)


@pytest.mark.parametrize("walk", [transitive_closure, depths])
@pytest.mark.parametrize(
    ("children", "says"),
    [
        ({0: [1], 1: [0]}, "cycle: 0 → 1 → 0"),
        ({0: [1], 1: [2], 2: [3], 3: [1]}, "cycle: 1 → 2 → 3 → 1"),
        ({0: [0]}, "0 is its own child"),
        ({0: [1], 1: [1]}, "1 is its own child"),
        ({0: [1, 2], 1: [3], 2: [3]}, "3 has two parents: 1 and 2"),
        ({None: [1], 1: [None]}, "cycle: None → 1 → None"),
    ],
)
def test_walking_what_is_no_tree_is_refused(walk, children, says):
    with pytest.raises(ValueError, match=says):
        walk(children, next(iter(children)))


def test_long_cycle_is_named_in_short():
    n = 1000
    with pytest.raises(ValueError, match=r"… \(1000 nodes\)"):
        children_map([(i, (i + 1) % n) for i in range(n)])


@pytest.mark.parametrize("walk", [transitive_closure, depths])
@pytest.mark.parametrize("children", [[("a", "b")], children_map([("a", "b")]), {("a", "b")}])
def test_edges_in_the_place_of_a_mapping_are_told_what_makes_one(walk, children) -> None:
    with pytest.raises(
        TypeError, match=r"children: expected a mapping .*`children, roots = children_map\(edges\)`"
    ):
        walk(children, "a")
