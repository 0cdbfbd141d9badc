"""Tree links in columns against a tree of Python lists."""

from __future__ import annotations

from typing import Any

import numpy as np
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
