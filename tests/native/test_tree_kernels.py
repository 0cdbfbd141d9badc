"""Tree links in columns against a tree of Python lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory._core import _kernels


class Links:
    """Five link columns and the lists they stand for."""

    def __init__(self, n: int) -> None:
        self.columns = [np.full(n, -1, np.int32) for _ in range(5)]
        self.children: dict[int, list[int]] = {row: [] for row in range(-1, n)}
        self.parent = dict.fromkeys(range(n), -1)

    def attach(self, rows: list[int], parents: list[int]) -> None:
        _kernels.attach_rows(np.array(rows, np.int32), np.array(parents, np.int32), *self.columns)
        for row, parent in zip(rows, parents, strict=True):
            self.parent[row] = parent
            self.children[parent].append(row)

    def detach(self, row: int) -> None:
        _kernels.detach_row(row, *self.columns)
        self.children[self.parent[row]].remove(row)
        self.parent[row] = -1
        self.children[-1].append(row)

    def subtree(self, root: int) -> list[int]:
        """Depth first with a stack: the youngest child comes off it first."""
        found, stack = [], [root]
        while stack:
            found.append(stack.pop())
            stack.extend(self.children[found[-1]])
        return found

    def ancestors(self, row: int) -> list[int]:
        found = []
        while (row := self.parent[row]) >= 0:
            found.append(row)
        return found


def check(links: Links) -> None:
    parent, first_child, last_child, next_sibling, prev_sibling = links.columns
    for row in links.parent:
        assert parent[row] == links.parent[row]
        children = _kernels.child_rows(row, first_child, next_sibling)
        assert children.dtype == np.int32
        assert children.tolist() == links.children[row]
        backwards = []
        child = last_child[row]
        while child >= 0:
            backwards.append(int(child))
            child = prev_sibling[child]
        assert backwards[::-1] == links.children[row]
        assert _kernels.ancestor_rows(row, parent).tolist() == links.ancestors(row)
        subtree = _kernels.subtree_rows(row, parent, last_child, prev_sibling)
        assert subtree.tolist() == links.subtree(row)


@given(st.data(), st.integers(1, 12))
def test_links_stand_for_the_tree(data: Any, n: int) -> None:
    links = Links(n)
    parents = [data.draw(st.integers(-1, i - 1)) for i in range(n)]
    links.attach(list(range(n)), parents)
    check(links)
    for _ in range(data.draw(st.integers(0, 8))):
        row = data.draw(st.integers(0, n - 1))
        below = links.subtree(row)
        links.detach(row)
        check(links)
        target = data.draw(st.sampled_from([-1, *(other for other in range(n) if other not in below)]))
        links.children[-1].remove(row)
        links.attach([row], [target])
        check(links)


def test_nothing_to_attach() -> None:
    Links(3).attach([], [])


def test_a_chain_as_long_as_you_like() -> None:
    n = 300_000
    links = [np.full(n, -1, np.int32) for _ in range(5)]
    _kernels.attach_rows(np.arange(n, dtype=np.int32), np.arange(-1, n - 1, dtype=np.int32), *links)
    parent, _, last_child, _, prev_sibling = links
    assert np.array_equal(_kernels.subtree_rows(0, parent, last_child, prev_sibling), np.arange(n))
    assert np.array_equal(_kernels.ancestor_rows(n - 1, parent), np.arange(n - 1)[::-1])


def levels(parents: list[int]) -> tuple[int, list[int]]:
    out = np.empty(len(parents), np.int32)
    return _kernels.levels_below(np.array(parents, np.int64), out), out.tolist()


@given(st.data(), st.integers(0, 30))
def test_levels_are_the_lengths_of_the_ways_up(data: Any, n: int) -> None:
    shuffled = data.draw(st.permutations(range(n)))
    parents = [-1] * n
    for place, node in enumerate(shuffled):
        if place:
            parents[node] = data.draw(st.sampled_from([-1, *shuffled[:place]]))
    expected = []
    for node in range(n):
        steps = 0
        while parents[node] >= 0:
            node, steps = parents[node], steps + 1
        expected.append(steps)
    assert levels(parents) == (-1, expected)


@given(st.lists(st.integers(-1, 11), max_size=12))
def test_a_cycle_is_named_by_one_of_its_members(parents: list[int]) -> None:
    n = len(parents)
    parents = [min(parent, n - 1) for parent in parents]

    def comes_back(start: int) -> bool:
        node = parents[start]
        for _ in range(n):
            if node < 0 or node == start:
                break
            node = parents[node]
        return node == start

    cyclic = {node for node in range(n) if comes_back(node)}
    found, _ = levels(parents)
    assert (found in cyclic) if cyclic else found == -1


def test_levels_of_a_long_chain_and_a_long_cycle() -> None:
    n = 300_000
    assert levels([*range(1, n), -1]) == (-1, list(range(n - 1, -1, -1)))
    assert levels([*range(1, n), 0])[0] >= 0


def test_parents_that_are_no_nodes_are_refused() -> None:
    with pytest.raises(ValueError, match="no node of 2"):
        levels([-1, 2])
