"""Searches of every kind, and what share of the right answers they find: exact, indexed, filtered, batched, lexical.

Sizes are 1,000 and 10,000 memories of 384 dimensions; others by the environment:

    POINCARE_MEMORY_BENCH_SIZES=1000,10000,100000,1000000 asv run --bench queries
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import numpy as np
from numpy.typing import NDArray

import poincare_memory as pm  # not its names: asv would take Memory.time_weights for a benchmark

SIZES = tuple(map(int, os.environ.get("POINCARE_MEMORY_BENCH_SIZES", "1000,10000").split(",")))
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
DIM = 384
QUERIES = 64
WORDS = 5_000


class Clustered:
    """Vectors in clusters, looked up by the number at the end of a text; queries have numbers beyond all memories."""

    dim = DIM

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(max(10, count // 100), DIM)).astype(np.float32)
        chosen = centres[rng.integers(0, len(centres), count + QUERIES)]
        self._vectors = chosen + rng.normal(scale=0.5, size=chosen.shape).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors[[int(text.rsplit(" ", 1)[1]) for text in texts]]


class Base:
    """A forest of three levels whose words are as frequent as words are (Zipf), and which is eight months old."""

    params: object = SIZES
    param_names = ("memories",)
    timeout = 1800

    def setup(self, count: int) -> None:
        rng = np.random.default_rng(1)
        weights = 1 / np.arange(1, WORDS + 1)
        words = rng.choice(WORDS, (count, 12), p=weights / weights.sum())
        self.memory = pm.Memory(embedder=Clustered(count), decay=pm.HalfLife(24 * 30), clock=lambda: NOW)
        self.memory.add_many(
            {
                "id": str(i),
                "text": " ".join(f"word{word}" for word in words[i]) + f" {i}",
                "parent": None if i % 20 == 0 else str(i - i % 20 if i % 4 == 0 else i - i % 4),
                "t": NOW - timedelta(hours=float(i % 5000)),
                "meta": {"kind": ("event", "place", "tip")[i % 3], "n": i, "user": {"id": i % 50}},
            }
            for i in range(count)
        )
        self.query = f"word7 word400 {count}"
        self.queries = [f"word{i + 1} word{40 * i + 1} {count + i}" for i in range(QUERIES)]


class Exact(Base):
    def time_nearest(self, _: int) -> None:
        self.memory.search(self.query, k=10, touch=False)

    def time_hyperbolic(self, _: int) -> None:
        self.memory.search(self.query, k=10, metric="hyperbolic", touch=False)

    def time_diverse(self, _: int) -> None:
        self.memory.search(self.query, k=10, diversity=0.3, touch=False)


class Filtered(Base):
    def setup(self, count: int) -> None:
        super().setup(count)
        for _ in range(2):  # the second filter on a key gives it a column
            self.time_equality(count)
            self.time_range(count)

    def time_equality(self, _: int) -> None:
        self.memory.search(self.query, k=10, filters={"kind": "event"}, touch=False)

    def time_range(self, count: int) -> None:
        self.memory.search(self.query, k=10, filters={"n": {"$gte": count * 99 // 100}}, touch=False)

    def time_field(self, _: int) -> None:
        self.memory.search(self.query, k=10, filters={"level": {"$gte": 1}}, touch=False)

    def time_function(self, _: int) -> None:
        self.memory.search(self.query, k=10, filters=lambda record: record.id[-1] == "7", touch=False)

    def time_equality_after_a_write(self, _: int) -> None:
        self.memory.update("1", meta={"kind": "place"})
        self.memory.search(self.query, k=10, filters={"kind": "event"}, touch=False)


class Batched(Base):
    def time_64_queries(self, _: int) -> None:
        self.memory.search_many(self.queries, k=10, touch=False)

    def time_64_queries_filtered(self, _: int) -> None:
        self.memory.search_many(self.queries, k=10, filters={"kind": "event"}, touch=False)

    def time_64_single_searches(self, _: int) -> None:
        for query in self.queries:
            self.memory.search(query, k=10, touch=False)


class Lexical(Base):
    def setup(self, count: int) -> None:
        super().setup(count)
        self.turn = 1
        self.time_common_words(count)  # makes the table of words

    def time_common_words(self, _: int) -> None:
        self.memory.search(self.query, k=10, lexical_coef=0.3, touch=False)

    def time_a_rare_word(self, count: int) -> None:
        self.memory.search(f"word4999 {count}", k=10, lexical_coef=0.3, touch=False)

    def time_after_a_write(self, count: int) -> None:
        self.turn = 3 - self.turn
        self.memory.update("1", text=f"word{self.turn} 1")
        self.time_a_rare_word(count)


class Indexed(Base):
    """Through the graph, and the share of the exact ten best that it finds."""

    def setup(self, count: int) -> None:
        super().setup(count)
        self.memory.build_index("hnsw")

    def time_nearest(self, _: int) -> None:
        self.memory.search(self.query, k=10, touch=False)

    def time_filtered(self, _: int) -> None:
        self.memory.search(self.query, k=10, filters={"kind": "event"}, touch=False)

    def time_lexical(self, _: int) -> None:
        self.memory.search(self.query, k=10, lexical_coef=0.3, touch=False)

    def track_recall(self, _: int) -> float:
        return self._recall()

    def track_recall_filtered(self, _: int) -> float:
        return self._recall(filters={"kind": "event"})

    def track_recall_of_words_and_places(self, _: int) -> float:
        """Of the union of both sides' candidates."""
        return self._recall(lexical_coef=0.3)

    def _recall(self, **options: object) -> float:
        found = 0
        for query in self.queries:
            graph, scan = (
                {hit.id for hit in self.memory.search(query, k=10, use_index=use, touch=False, **options)}
                for use in (True, False)
            )
            found += len(graph & scan)
        return found / (10 * len(self.queries))


class Quality(Base):
    """A pass over all queries, and the scan of one, against float64 in NumPy: both are exact, so both shares are 1."""

    def track_recall_of_a_scan(self, count: int) -> float:
        return self._share([self.memory.search(query, k=10, touch=False) for query in self.queries])

    def track_recall_of_a_batch(self, count: int) -> float:
        return self._share(self.memory.search_many(self.queries, k=10, touch=False))

    def _share(self, answers: list[list[pm.SearchResult]]) -> float:
        memory = self.memory
        points = np.array([memory.point(id) for id in memory.ids])
        directions = points / np.linalg.norm(points, axis=1, keepdims=True)
        terms = np.log(memory.time_weights(memory.ids, NOW))
        found = 0
        for query, hits in zip(self.queries, answers, strict=True):
            direction = memory.embedder.embed([query])[0].astype(float)
            chord = np.linalg.norm(directions - direction / np.linalg.norm(direction), axis=1)
            scores = terms - 2 * np.arcsinh(np.sinh(memory.base_depth) * chord / 2)
            best = np.argsort(-scores, kind="stable")[:10]
            found += len({memory.ids[i] for i in best} & {hit.id for hit in hits})
        return found / (10 * len(self.queries))
