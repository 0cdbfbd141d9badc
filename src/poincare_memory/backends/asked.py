"""One search: which rows the server is asked for, in pages, until nothing that was not seen can score more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..embed.protocol import FloatArray
from ..retrieval.filters import MetadataFilter, compile_filter
from ..retrieval.scoring import MIN_WEIGHT
from ..store.diversity import pool_size
from ..store.records import SearchResult
from ..store.search import direction_of
from .conditions import ALWAYS, Condition, condition_of
from .given import OneQuery
from .rows import Row, Where, load, record_of

if TYPE_CHECKING:
    from .remote import RemoteMemory

__all__ = ["Asked", "by_branch", "in_the_tree", "position"]

FIRST_PAGE: Final = 64
GROWTH: Final = 4
SLACK: Final = 1e-6


class Asked:
    """One search: which rows the server is asked for, and until when."""

    def __init__(self, remote: RemoteMemory, embedding: FloatArray | None, query: str | None, k: Any, mode: Any,
                 root: Any, filters: Any, metric: Any, query_depth: Any) -> None:  # fmt: skip
        self.remote, self.embedding, self.query, self.k = remote, embedding, query, k
        self.engine, self.settings = remote._engine, remote._settings
        # The arguments are checked as those of any search.
        checking = remote._empty(OneQuery(remote.dim, embedding))
        stand_ins = [root] if isinstance(root, str) else list(root or ())
        for id in dict.fromkeys(one for one in stand_ins if isinstance(one, str)):
            if id not in remote:
                raise KeyError(f"unknown id {id!r:.80}")
        self.roots = stand_ins
        if mode == "nearest" or not stand_ins:
            checking.search(
                None, k=k, mode=mode, root=None, filters=filters, metric=metric, query_depth=query_depth
            )
        elif len(stand_ins) > 1 and mode != "subtree":
            raise ValueError(f"root: several ids are for mode='subtree' only, not for mode={mode!r}")
        elif mode not in ("subtree", "children", "ancestors", "siblings", "cone"):
            raise ValueError(f"unknown mode {mode!r:.80}")
        self.mode = mode
        self.wanted = compile_filter(filters)
        self.function = filters if callable(filters) else None
        self.metric = self.settings["metric"] if metric is None else metric
        self.query_depth = self.settings["base_depth"] if query_depth is None else float(query_depth)
        self.where = self._where(ALWAYS if self.wanted is None else condition_of(filters))

    def answer(self, options: dict[str, Any]) -> list[SearchResult]:
        if self.k < 1:
            return []
        direction = None if self.embedding is None else direction_of(self.embedding)
        if direction is None or self.mode == "cone":
            return self._scored(self.engine.fetch(self.where), options, self.k)
        groups: list[float | None] = [None]
        if self.metric == "hyperbolic":  # within one radius the order is that of the cosine
            groups = list(self.engine.radii(self.where))
        seen: dict[float | None, list[Row]] = {}
        limits = dict.fromkeys(groups, max(FIRST_PAGE, 2 * self.k))
        need = pool_size(self.k) if options.get("diversity") else self.k
        open_groups = set(groups)
        while True:
            for group in open_groups:
                where = Where(**{**vars(self.where), "radius": group})
                seen[group] = self.engine.nearest(where, direction, limits[group])
            open_groups = {group for group in open_groups if len(seen[group]) >= limits[group]}
            rows = [row for group in groups for row in seen[group]]
            if not open_groups:
                return self._scored(rows, options, self.k)
            plain = {**options, "diversity": 0.0, "min_score": None}
            hits = self._scored(rows, plain, need)
            worst = hits[-1].score if len(hits) >= need else -math.inf
            open_groups = {
                group
                for group in open_groups
                if self._best_unseen(seen[group][-1], direction, group) >= worst
            }
            if not open_groups:
                return self._scored(rows, options, self.k)
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
                rows = [self.remote._row(apex), *rows]
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
        if self.mode == "subtree":
            return Where(below=self.roots, passing=passing)
        if self.mode == "children":
            return Where(parents=[self.roots[0]], passing=passing)
        row = self.remote._row(self.roots[0])
        if self.mode == "ancestors":
            return Where(ids=row.path[:-1], passing=passing)
        return Where(parents=[row.parent], but=row.id, passing=passing)


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
