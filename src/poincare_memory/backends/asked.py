"""One search: which rows the server is asked for, in pages, until nothing that was not seen can score more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..embed.protocol import FloatArray
from ..retrieval.filters import MetadataFilter
from ..retrieval.scoring import MIN_WEIGHT
from ..store.diversity import pool_size
from ..store.records import SearchResult
from ..store.requests import checked_query, checked_request
from ..store.search import direction_of
from .conditions import ALWAYS, Condition, condition_of, sendable
from .given import OneQuery
from .rows import Row, Where, load, newest, record_of

if TYPE_CHECKING:
    from .remote import RemoteMemory

__all__ = ["Asked", "by_branch", "in_the_tree", "position", "siblings_of"]

FIRST_PAGE: Final = 64
GROWTH: Final = 4
SLACK: Final = 1e-6


class Asked:
    """One search: which rows the server is asked for, and until when."""

    def __init__(self, remote: RemoteMemory, query: str | None, options: dict[str, Any]) -> None:
        self.remote, self.query = remote, query
        self.embedding: FloatArray | None = None
        self.engine, self.settings = remote._engine, remote._settings
        # The arguments are checked as those of any search, by a memory that holds the roots alone.
        checking = remote._empty(OneQuery(remote.dim, None))
        root = options.get("root")
        ids = [root] if isinstance(root, str) else root if isinstance(root, Sequence) else []
        found = self.engine.fetch(Where(ids=sendable(ids))) if len(ids) else []
        load(checking, found, linked=False)
        checked_query(query)
        asked = checked_request(checking._store, **options)
        self.k, self.mode, self.roots = asked.k, asked.mode, asked.roots
        self.wanted, self.metric, self.query_depth = asked.filter, asked.metric, asked.query_depth
        self.diverse = asked.diversity > 0
        elsewhere = ("k", "mode", "root", "filters", "touch")  # the others are for the score
        self.options = {name: value for name, value in options.items() if name not in elsewhere}
        self.stand_ins = {row.id: row for row in found}
        self.where = self._where(ALWAYS if self.wanted is None else condition_of(options.get("filters")))
        self.where.known_by = asked.as_of

    def answer(self, embedding: FloatArray | None) -> list[SearchResult]:
        if self.k < 1:
            return []
        self.embedding = embedding
        direction = None if embedding is None else direction_of(embedding)
        if direction is None or self.mode == "cone":
            return self._scored(self.engine.fetch(self.where), self.options, self.k)
        groups: list[float | None] = [None]
        if self.metric == "hyperbolic":  # within one radius the order is that of the cosine
            groups = list(self.engine.radii(self.where))
        seen: dict[float | None, list[Row]] = {}
        limits = dict.fromkeys(groups, max(FIRST_PAGE, 2 * self.k))
        need = pool_size(self.k) if self.diverse else self.k
        open_groups = set(groups)
        while True:
            for group in open_groups:
                where = Where(**{**vars(self.where), "radius": group})
                seen[group] = self.engine.nearest(where, direction, limits[group])
            open_groups = {group for group in open_groups if len(seen[group]) >= limits[group]}
            rows = newest(row for group in groups for row in seen[group])
            if not open_groups:
                return self._scored(rows, self.options, self.k)
            plain = {**self.options, "diversity": 0.0, "min_score": None}
            hits = self._scored(rows, plain, need)
            worst = hits[-1].score if len(hits) >= need else -math.inf
            open_groups = {
                group
                for group in open_groups
                if self._best_unseen(seen[group][-1], direction, group) >= worst
            }
            if not open_groups:
                return self._scored(rows, self.options, self.k)
            for group in open_groups:
                limits[group] *= GROWTH

    def _best_unseen(self, last: Row, direction: NDArray[np.float64], radius: float | None) -> float:
        """No row that was not seen scores more."""
        c = math.sqrt(self.settings["curvature"])
        # Servers order by float32 products, whose error grows with the number of terms; it is one of the square.
        error = SLACK + len(direction) * 1.2e-7
        half = math.sqrt(max(0.0, float(np.sum((last.direction - direction) ** 2)) / 4 - error))
        bias, coef = self.settings["depth_bias"], self.settings["time_coef"]
        if radius is None:
            distance = 2 / c * math.asinh(math.sinh(c * self.settings["base_depth"]) * half)
            radii = self.engine.radii(Where()) if bias else [0.0]
            depth = max(bias * one for one in radii) if radii else 0.0
        else:
            distance = _hyperbolic(self.query_depth * c, radius * c, half) / c
            depth = bias * radius
        return -distance + depth + max(0.0, coef * math.log(MIN_WEIGHT)) + SLACK

    def _scored(self, rows: list[Row], options: dict[str, Any], k: int) -> list[SearchResult]:
        """What a `Memory` that holds these rows answers."""
        rows = self._passing(sorted(rows, key=lambda row: position(row, self.mode, self.roots)))
        mem = self.remote._empty(OneQuery(self.remote.dim, self.embedding))
        mode: dict[str, Any] = {}
        if self.mode == "cone":
            apex = self.roots[0]
            if all(row.id != apex for row in rows):
                rows = [self.stand_ins[apex], *rows]
            mode = {"mode": "cone", "root": apex}
        load(mem, rows, linked=False)
        hits = mem.search(self.query, k, touch=False, **mode, **options)
        by_id = {row.id: row for row in rows}
        for hit in hits:
            hit.record = record_of(by_id[hit.id])
        return hits

    def _passing(self, rows: list[Row]) -> list[Row]:
        if self.wanted is None or not rows:
            return rows
        if isinstance(self.wanted, MetadataFilter):

            def values(name: str) -> Any:
                found = [getattr(row, name) for row in rows]
                return np.array(found) if name in ("t", "level", "access_count") else found

            mask = self.wanted.mask([row.meta for row in rows], values)
        else:
            mask = self.wanted.mask(record_of(row) for row in rows)
        return [row for row, passes in zip(rows, mask, strict=True) if passes]

    def _where(self, passing: Condition) -> Where:
        if self.mode == "cone":
            return Where()
        if self.mode == "nearest":
            return Where(passing=passing)
        above = sorted({row.path[0] for row in self.stand_ins.values()})
        if self.mode == "subtree":
            return Where(below=list(self.roots), passing=passing, roots=above)
        row = self.stand_ins[self.roots[0]]
        if self.mode == "children":
            return Where(parents=[row.id], passing=passing, roots=above)
        if self.mode == "ancestors":
            return Where(ids=row.path[:-1], passing=passing, roots=above)
        return siblings_of(row, passing)


def siblings_of(row: Row, passing: Condition = ALWAYS) -> Where:
    """Those of a root are in every shard."""
    roots = None if row.parent is None else [row.path[0]]
    return Where(parents=[row.parent], but=row.id, passing=passing, roots=roots)


def position(row: Row, mode: str, roots: Sequence[str]) -> Any:
    """What breaks ties: the order in which a `Memory` lists the candidates of a mode."""
    if mode == "subtree":
        first = next(i for i, root in enumerate(roots) if root in row.path)
        return first, in_the_tree(row)
    if mode == "ancestors":
        return -row.level
    if mode in ("children", "siblings") and row.parent is not None:
        return row.branch
    return row.order


def in_the_tree(row: Row) -> list[int]:
    """Parents first, the youngest child's branch before the elder's."""
    return [-serial for serial in row.branch]


def by_branch(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.branch)


def _hyperbolic(r: float, s: float, half: float) -> float:
    """Distance of points at radii r and s whose directions are a chord of 2·half apart, curvature 1."""
    low, gap = min(r, s), abs(r - s)
    if r + s < 600:
        return 2 * math.asinh(math.sqrt(math.sinh(gap / 2) ** 2 + math.sinh(r) * math.sinh(s) * half * half))
    inner = (1 - math.exp(-gap)) ** 2 * math.exp(-2 * low)
    inner += (1 - math.exp(-2 * r)) * (1 - math.exp(-2 * s)) * half * half
    return max(gap, gap + 2 * low + math.log(max(inner, 1e-300)))
