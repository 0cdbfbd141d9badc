"""Every search a store can be asked, answered one memory after the other in plain float64."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from poincare_memory import Memory
from poincare_memory.retrieval.filters import MetadataFilter, compile_filter
from poincare_memory.retrieval.lexical import WordTable


@dataclass
class Scored:
    """What a memory gets, term by term."""

    id: str
    distance: float
    depth: float
    weight: float
    lexical: float
    score: float


class Oracle:
    """Reads records and embeddings through the public API, and knows the formulas of the documentation."""

    def __init__(self, mem: Memory) -> None:
        self.mem = mem
        self.records = {record.id: record for record in mem}

    def candidates(self, mode: str, roots: list[str]) -> list[str]:
        mem, ids = self.mem, self.mem.ids
        if mode == "nearest":
            return ids
        root = roots[0]
        if mode == "subtree":
            return list(dict.fromkeys(id for top in roots for id in [top, *mem.descendants(top)]))
        if mode == "ancestors":
            return mem.ancestors(root)
        if mode == "children":
            return mem.children(root)
        if mode == "cone":
            return [id for id in ids if id != root and self.energy(root, id) <= 1e-9]
        parent = self.records[root].parent_id
        return [id for id in ids if self.records[id].parent_id == parent and id != root]

    def energy(self, apex: str, id: str) -> float:
        """How far outside the cone of `apex` a memory lies: max(0, Ξ − ψ) (Ganea, Bécigneul & Hofmann 2018)."""
        mem, root = self.mem, math.sqrt(self.mem.ball.c)
        u, v = unit(mem.point(apex)), unit(mem.point(id))
        r = 0.0 if u is None else root * mem.depth(apex)
        s = 0.0 if v is None else root * mem.depth(id)
        if math.tanh(r / 2) < mem.cone_k:
            return 0.0
        aperture = math.asin(min(1.0, 2 * mem.cone_k / math.sinh(r)))
        if u is None or v is None:  # a point at the origin
            return math.pi - aperture
        chord, sum_ = float(np.linalg.norm(u - v)), float(np.linalg.norm(u + v))
        if chord < 1e-12 and s >= r - 1e-12:
            return 0.0
        across = math.sinh(s) * chord * sum_ / 2
        along = math.sinh(s - r) - math.cosh(r) * math.sinh(s) * chord * chord / 2
        return max(0.0, math.atan2(across, along) - aperture)

    def passing(self, ids: list[str], filters: Any, as_of: datetime | None) -> list[str]:
        if filters is not None and not callable(filters):
            compiled = compile_filter(filters)
            assert isinstance(compiled, MetadataFilter)
            mask = compiled.mask([self.records[id].meta for id in ids])
            ids = [id for id, passes in zip(ids, mask.tolist(), strict=True) if passes]
        elif filters is not None:
            ids = [id for id in ids if filters(self.records[id])]
        return [id for id in ids if as_of is None or self.recorded(id) <= as_of]

    def recorded(self, id: str) -> datetime:
        recorded = self.records[id].recorded_at
        assert recorded is not None
        return recorded

    def words(self, query: str | None, ids: list[str], coefficient: float) -> dict[str, float]:
        if query is None or not coefficient:
            return {}
        table = WordTable()
        every = self.mem.ids
        table.put((i, self.records[id].text) for i, id in enumerate(every))
        rows, found = table.scores(query)
        scores = {every[row]: score for row, score in zip(rows.tolist(), found.tolist(), strict=True)}
        best = max((scores.get(id, 0.0) for id in ids), default=0.0)
        return {id: coefficient * scores.get(id, 0.0) / best for id in ids} if best > 0 else {}

    def weights(self, ids: list[str], at: datetime) -> list[float]:
        records = [self.records[id] for id in ids]
        weights = self.mem.decay.weight(
            at,
            [at if record.pinned else record.t for record in records],
            [record.access_count for record in records],
            [record.valid_from for record in records],
            [record.valid_until for record in records],
        )
        return [float(weight) for weight in weights]

    def distance(self, id: str, direction: Any, metric: str, query_depth: float) -> float:
        """2/√c · asinh √(sinh²((r − s)/2) + sinh r · sinh s · |u − v|²/4), radii times √c."""
        mem, root = self.mem, math.sqrt(self.mem.ball.c)
        r = root * (mem.base_depth if metric == "shell" else query_depth)
        s = root * (mem.base_depth if metric == "shell" else mem.depth(id))
        own = unit(mem.point(id))
        chord = 4.0 if own is None or direction is None else float(np.sum((own - direction) ** 2))
        return (
            2
            / root
            * math.asinh(math.sqrt(math.sinh((r - s) / 2) ** 2 + math.sinh(r) * math.sinh(s) * chord / 4))
        )

    def scored(
        self,
        query: str | None,
        at: datetime,
        *,
        mode: str = "nearest",
        root: Any = None,
        filters: Any = None,
        as_of: datetime | None = None,
        metric: str | None = None,
        query_depth: float | None = None,
        lexical_coef: float = 0.0,
    ) -> list[Scored]:
        """All that compete, best first, ties in their order."""
        mem = self.mem
        ids = self.passing(self.candidates(mode, [root] if isinstance(root, str) else root), filters, as_of)
        direction = None if query is None else unit(np.asarray(mem.embedder.embed([query]), float)[0])
        lexical = self.words(query, ids, lexical_coef)
        found = []
        for id, weight in zip(ids, self.weights(ids, at) if ids else [], strict=True):
            distance = 0.0
            if query is not None:
                depth = mem.base_depth if query_depth is None else query_depth
                distance = self.distance(id, direction, metric or mem.metric, depth)
            depth, bonus = mem.depth(id), lexical.get(id, 0.0)
            score = -distance + mem.depth_bias * depth + mem.time_coef * math.log(weight) + bonus
            found.append(Scored(id, distance, depth, weight, bonus, score))
        return sorted(found, key=lambda one: -one.score)


def unit(vector: Any) -> Any:
    norm = float(np.linalg.norm(vector))
    return None if norm == 0 else np.asarray(vector, float) / norm


def likeness(mem: Memory, a: str, b: str) -> float:
    root = math.sqrt(mem.ball.c)
    u, v = unit(mem.point(a)), unit(mem.point(b))
    u, v = (np.zeros(mem.dim) if x is None else x for x in (u, v))
    d = 2 / root * math.asinh(math.sinh(root * mem.base_depth) * float(np.linalg.norm(u - v)) / 2)
    return math.exp(-d)


def marginal(mem: Memory, pool: list[Scored], chosen: list[str], one: Scored, diversity: float) -> float:
    """What `one` is worth beside those chosen before it, as `docs/guides/retrieval.md` has it."""
    near = max((likeness(mem, one.id, other) for other in chosen), default=0.0)
    return (1 - diversity) * math.exp(one.score - pool[0].score) - diversity * near


def diverse(mem: Memory, pool: list[Scored], k: int, diversity: float) -> list[str]:
    """Maximal marginal relevance."""
    chosen: list[str] = []
    rest = list(pool)
    while rest and len(chosen) < k:
        best = rest[0]
        if chosen:
            best = max(rest, key=lambda one: marginal(mem, pool, chosen, one, diversity))
        chosen.append(best.id)
        rest.remove(best)
    return chosen
