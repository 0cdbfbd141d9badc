"""The hierarchy: links between the rows of parents, children and siblings."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from .._core import _kernels
from .arrays import Rows
from .embeddings import Embeddings

if TYPE_CHECKING:
    from .room import Room
    from .undo import UndoLog


class TreeLinks(Embeddings):
    """Arrays with the links of a forest: constant work an edit, whatever its size."""

    def __init__(self, dim: int, room: Room | None = None) -> None:
        super().__init__(dim, room)
        self.undo: UndoLog | None = None
        self.ids: list[str | None] = []

    def live_rows(self) -> Rows:
        """Rows of all memories in order of insertion: `Columns` keeps them."""
        raise NotImplementedError(
            f"{type(self).__name__} has links only; Columns knows which rows are memories"
        )

    def _links(self) -> tuple[Rows, Rows, Rows, Rows, Rows]:
        return self.parent, self.first_child, self.last_child, self.next_sibling, self.prev_sibling

    def attach(self, rows: Rows, parents: Rows) -> None:
        """Make each row the last child of its parent; -1 makes it a root."""
        if self.undo is not None:
            elder = self.last_child[parents[parents >= 0]]
            self.undo.keep_links([*rows.tolist(), *parents.tolist(), *elder.tolist()])
        _kernels.attach_rows(rows, parents, *self._links())

    def detach(self, row: int) -> None:
        """Cut a row (with its subtree) from its parent."""
        if self.undo is not None:
            near = (self.parent, self.next_sibling, self.prev_sibling)
            self.undo.keep_links([row, *(int(links[row]) for links in near)])
        _kernels.detach_row(row, *self._links())

    def children_rows(self, row: int) -> Rows:
        """Children, in the order they came."""
        return np.asarray(_kernels.child_rows(row, self.first_child, self.next_sibling))

    def subtree_rows(self, row: int) -> Rows:
        """The row and everything below it, parents first, the youngest child's branch before the elder's."""
        return _kernels.subtree_rows(row, self.parent, self.last_child, self.prev_sibling)

    def rows_below(self, tops: Rows) -> Rows:
        """These rows and everything below them, each once, parents first."""
        below = np.zeros(self.high_water, bool)
        below[tops] = True
        above = self.parent[tops]
        candidates = tops[(above < 0) | ~below[above]]
        known = dict.fromkeys(tops.tolist(), True)  # whether a row is one of `tops` or below one
        highest = []
        for row in dict.fromkeys(candidates.tolist()):
            path, at = [], int(self.parent[row])
            while at >= 0 and at not in known:
                path.append(at)
                at = int(self.parent[at])
            found = at >= 0 and known[at]
            known.update(dict.fromkeys(path, found))
            if not found:
                highest.append(row)
        parts = [self.subtree_rows(row) for row in highest]
        return np.concatenate(parts).astype(np.int32) if parts else np.empty(0, np.int32)

    def ancestor_rows(self, row: int) -> Rows:
        """Parent, grandparent, ... root."""
        return np.asarray(_kernels.ancestor_rows(row, self.parent))

    def root_rows(self) -> Rows:
        """Roots in order of insertion."""
        live = self.live_rows()
        roots: Rows = live[self.parent[live] < 0]
        return roots

    def sibling_rows(self, row: int) -> Rows:
        """The other children of its parent; of a root the other roots."""
        parent = int(self.parent[row])
        rows = self.root_rows() if parent < 0 else self.children_rows(parent)
        others: Rows = rows[rows != row]
        return others

    def names(self, rows: Rows) -> list[str]:
        """Ids of rows."""
        ids = cast("list[str]", self.ids)
        return [ids[row] for row in rows.tolist()]

    def name(self, row: int) -> str:
        """Id of a live row."""
        return cast(str, self.ids[row])
