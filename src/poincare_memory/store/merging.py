"""Bring a store's columns up to what its file says: records that came, changed, moved or went.

Opening is the same thing for an empty store. Everything is checked first; then all is taken in or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..distinct import distinct
from .checked_records import CheckedRecords
from .filling import check_vectors, directions_of, narrow_if_exact
from .placement import LEARNT, set_learned_depths
from .undo import UndoLog

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns
    from .sql import Found
    from .state import Store

SAME_DIRECTION = 1e-12  # a direction read back from its point differs from the placed one by rounding only
TIMES = ("t", "valid_from", "valid_until", "last_accessed")


def merge(store: Store, found: Found, gone: Iterable[str], where: str) -> None:
    """Take in records that were read, and forget those with the ids `gone`; under the write lock.

    Raises
    ------
    ValueError
        Naming the record and field that cannot be. Nothing is changed then.
    """
    plan = Plan(store, found, gone, where)
    columns = store.columns
    assert columns.undo is None
    undo = columns.undo = UndoLog(columns)
    try:
        plan.carry_out()
    except BaseException:
        undo.back_to(0)
        raise
    finally:
        columns.end_undo()


class Plan:
    """What is to happen to which row."""

    def __init__(self, store: Store, found: Found, gone: Iterable[str], where: str) -> None:
        self.store = store
        self.columns: Columns = store.columns
        self.found = found
        self.where = where
        self.records = CheckedRecords(found.fields, where)
        self._check_values()
        self._match_rows(gone)
        self._check_tree()

    # --- checks -------------------------------------------------------------------------------------------

    def _check_values(self) -> None:
        records = self.records
        self.texts, self.metas = records.texts(), records.metas()
        self.times = {name: records.instants(name) for name in TIMES}
        self.counts = records.access_counts()
        check_vectors(self.found.points, self.found.embeddings, records, self.store)
        self.orders = records.orders(self.found.positions)
        self.attached = records.attached(self.orders)
        self.recorded_at, self.pinned = records.recorded_at(), records.pinned()
        self.depths = records.learned_depths()

    def _match_rows(self, gone: Iterable[str]) -> None:
        columns, row_of = self.columns, self.columns.row_of
        self.rows = np.array([row_of.get(id, -1) for id in self.records.ids], np.int32)
        known = self.rows >= 0
        self.is_new = ~known
        self.is_new[known] = columns.order[self.rows[known]] != self.orders[known]
        leaving = {row_of[id] for id in gone if id in row_of and id not in self.records.index}
        leaving.update(self.rows[known & self.is_new].tolist())
        self.leaving = np.array(sorted(leaving), np.int32)
        self._leaving = leaving

    def _check_tree(self) -> None:
        """Every parent will be there, and no memory below itself."""
        columns, records = self.columns, self.records
        for i, parent in enumerate(records.fields["parent"]):
            if parent is None or (isinstance(parent, str) and parent in records.index):
                continue
            if not isinstance(parent, str) or columns.row_of.get(parent, -1) in {-1} | self._leaving:
                raise records.fail(i, f"its parent {parent!r:.80} is not in the file")
        # Children of a memory that was replaced by one of the same id, and are not told of themselves.
        self.left_behind: list[int] = []
        self._old_parents: list[str] = []
        for row in self.leaving.tolist():
            for child in columns.children_rows(row).tolist():
                if child in self._leaving or columns.name(child) in records.index:
                    continue
                if columns.name(row) not in records.index:
                    raise ValueError(
                        f"{self.where}: record {columns.name(child)!r:.80}: "
                        f"its parent {columns.name(row)!r:.80} is not in the file"
                    )
                self.left_behind.append(child)
                self._old_parents.append(columns.name(row))
        self._check_no_cycle()

    def _check_no_cycle(self) -> None:
        columns, index, parents = self.columns, self.records.index, self.records.fields["parent"]
        safe: set[str] = set()
        for id in self.records.ids:
            chain: dict[str, None] = {}
            at: str | None = id
            while at is not None and at not in safe:
                if at in chain:
                    raise self.records.fail(index[id], "its chain of parents comes back to itself")
                chain[at] = None
                if at in index:
                    at = parents[index[at]]
                else:
                    above = int(columns.parent[columns.row_of[at]])
                    at = columns.name(above) if above >= 0 else None
            safe.update(chain)

    # --- changes ------------------------------------------------------------------------------------------

    def carry_out(self) -> None:
        columns, undo = self.columns, self.columns.undo
        assert undo is not None
        columns.own_vectors()
        moving = self._moving()
        rest = np.concatenate([self.rows[moving], np.array(self.left_behind, np.int32)])
        mixed = self._mixed(rest)
        undo.keep(mixed, ("embedding",), persist=False)
        columns.hold_embeddings(mixed)
        undo.keep(rest, ("parent", "attached"))
        for row in rest.tolist():
            columns.detach(row)
        self._let_go()
        last = columns.last_order()
        self._make_new()
        self._set_values(undo)
        self._attach(moving, rest, last)
        self._set_places(undo, rest)
        columns.settle_embeddings(distinct(np.concatenate([mixed, self.rows])).astype(np.int32))

    def _mixed(self, rest: Rows) -> Rows:
        """Rows whose embeddings depend on what is about to change."""
        if not self.columns.folds:
            return np.empty(0, np.int32)
        old = self.rows[~self.is_new]
        below = [self.columns.children_rows(row) for row in old.tolist()]
        rows = distinct(np.concatenate([rest, old, *below])).astype(np.int32)
        return np.ascontiguousarray(rows[~np.isin(rows, self.leaving)])

    def _moving(self) -> NDArray[np.intp]:
        """Positions of records that stay but get another parent or place among their siblings."""
        columns = self.columns
        moving = []
        for i in np.flatnonzero(~self.is_new).tolist():
            row, parent = int(self.rows[i]), self.records.fields["parent"][i]
            above = int(columns.parent[row])
            now = columns.name(above) if above >= 0 else None
            if now != parent or above in self._leaving or columns.attached[row] != self.attached[i]:
                moving.append(i)
        return np.array(moving, np.intp)

    def _let_go(self) -> None:
        columns = self.columns
        deepest_first = self.leaving[np.argsort(-columns.level[self.leaving], kind="stable")]
        for row in deepest_first.tolist():
            if columns.file is not None:
                columns.file.waiting.forget(int(columns.order[row]))
            columns.free(np.array([row], np.int32))

    def _make_new(self) -> None:
        columns, new = self.columns, np.flatnonzero(self.is_new)
        if len(new) == 0:
            return
        self.embeddings = narrow_if_exact(self.found.embeddings)
        columns.reserve(len(new), self.embeddings.dtype)
        out_of_order = int(self.orders[new[0]]) < columns.last_order()
        rows = columns.allocate(len(new), self.orders[new])
        self.rows[new] = rows
        ids = self.records.ids
        columns.row_of.update(zip([ids[i] for i in new.tolist()], rows.tolist(), strict=True))
        for i, row in zip(new.tolist(), rows.tolist(), strict=True):
            columns.ids[row] = ids[i]
        if out_of_order:
            columns.resort()

    def _set_values(self, undo: UndoLog) -> None:
        columns, rows, old = self.columns, self.rows, self.rows[~self.is_new]
        undo.keep(old, ("text", "meta", "access_count", "recorded_at", "pinned", "aged_from", *TIMES))
        for row, text, meta in zip(rows.tolist(), self.texts, self.metas, strict=True):
            columns.texts[row] = text
            if columns.metas[row] == meta or not (columns.metas[row] or meta):
                continue
            if columns.file is None or columns.file.waiting.replaced_meta(int(columns.order[row]), meta):
                columns.metas[row] = meta
        for name in TIMES:
            getattr(columns, name)[rows] = self.times[name]
        columns.access_count[rows] = self.counts
        columns.recorded_at[rows], columns.pinned[rows] = self.recorded_at, self.pinned
        columns.set_age(rows)
        if columns.file is not None:
            columns.file.waiting.add_to(columns, rows)

    def _attach(self, moving: NDArray[np.intp], rest: Rows, last: int) -> None:
        """Give new and moved rows their parents, each at its place among its siblings."""
        columns, row_of = self.columns, self.columns.row_of
        parents = self.records.fields["parent"]
        columns.attached[self.rows] = self.attached
        which = np.concatenate([np.flatnonzero(self.is_new), moving])
        rows = np.concatenate([self.rows[which], np.array(self.left_behind, np.int32)]).astype(np.int32)
        names = [parents[i] for i in which.tolist()]
        above = [-1 if name is None else row_of[name] for name in names]
        above += [row_of[name] for name in self._old_parents]
        targets = np.array(above, np.int32)
        by_age = np.argsort(columns.attached[rows], kind="stable")
        rows, targets = np.ascontiguousarray(rows[by_age]), np.ascontiguousarray(targets[by_age])
        columns.attach(rows, targets)
        columns.reserve_orders(int(columns.attached[rows].max(initial=-1)) + 1)
        if len(rows) and int(columns.attached[rows[0]]) < last:
            self._sort_children(distinct(targets[targets >= 0]))

    def _sort_children(self, parents: Rows) -> None:
        columns = self.columns
        for parent in parents.tolist():
            children = columns.children_rows(parent)
            ages = columns.attached[children]
            if bool((ages[1:] > ages[:-1]).all()):
                continue
            for row in children.tolist():
                columns.detach(row)
            children = np.ascontiguousarray(children[np.argsort(ages, kind="stable")])
            columns.attach(children, np.full(len(children), parent, np.int32))

    def _set_places(self, undo: UndoLog, rest: Rows) -> None:
        columns, store = self.columns, self.store
        direction, directed = directions_of(self.found.points, self.found.embeddings)
        turned = self.is_new.copy()
        old = np.flatnonzero(~self.is_new)
        differs = np.abs(direction[old] - columns.direction[self.rows[old]]).max(axis=1) > SAME_DIRECTION
        turned[old[differs]] = True
        rows = self.rows[old[differs]]
        undo.keep(rows, ("direction", "directed"))
        rows = self.rows[turned]
        columns.direction[rows] = direction[turned]
        columns.directed[rows] = directed[turned]
        others = self._set_embeddings(undo, old)
        tops = np.concatenate([self.rows[self.is_new], rest, self._deeper_or_not(old)])
        below = self._set_levels(undo, tops)
        set_learned_depths(store, below, self._depths_of(below))
        columns.moved(distinct(np.concatenate([rows, below, others])).astype(np.int32))

    def _deeper_or_not(self, old: NDArray[np.intp]) -> Rows:
        """Rows whose learnt depth is another, or is learnt no more."""
        columns, rows = self.columns, self.rows[old]
        known = np.where(columns.learnt[rows] == LEARNT, columns.radius[rows], np.nan)
        same = (known == self.depths[old]) | (np.isnan(known) & np.isnan(self.depths[old]))
        changed: Rows = rows[~same]
        return changed

    def _depths_of(self, rows: Rows) -> NDArray[np.float64]:
        """Learnt depths of rows, as the records tell or, of others, as they are."""
        columns = self.columns
        depths = np.full(columns.high_water, np.nan)
        learnt = rows[columns.learnt[rows] == LEARNT]
        depths[learnt] = columns.radius[learnt]
        depths[self.rows] = self.depths
        return depths[rows]

    def _set_embeddings(self, undo: UndoLog, old: NDArray[np.intp]) -> Rows:
        """Returns the rows of memories that were there and have another embedding now."""
        columns = self.columns
        new = np.flatnonzero(self.is_new)
        if len(new):
            columns.hold_embeddings(np.ascontiguousarray(self.rows[new]), self.embeddings[new])
        if len(old) == 0:
            return np.empty(0, np.int32)
        differs = (
            columns.embeddings(np.ascontiguousarray(self.rows[old])) != self.found.embeddings[old]
        ).any(axis=1)
        changed = old[differs]
        rows: Rows = self.rows[changed]
        if len(rows) == 0:
            return rows
        values = narrow_if_exact(self.found.embeddings[changed])
        columns.reserve(0, values.dtype)
        undo.keep(rows, ("embedding",))
        columns.hold_embeddings(rows, values)
        return rows

    def _set_levels(self, undo: UndoLog, tops: Rows) -> Rows:
        """Levels of these rows and all below them, which are returned."""
        columns = self.columns
        if len(tops) == 0:
            return tops
        rows = columns.rows_below(tops)
        undo.keep(rows, ("level", "radius", "learnt"))
        level: dict[int, int] = {}
        for row, parent in zip(rows.tolist(), columns.parent[rows].tolist(), strict=True):
            known = level.get(parent)
            level[row] = 0 if parent < 0 else (int(columns.level[parent]) if known is None else known) + 1
        columns.level[rows] = np.fromiter(level.values(), np.int32, len(rows))
        return rows
