"""Exact and indexed search over memories of 384 dimensions: time, and recall of the graph beside it.

A million memories (24 GB, and half an hour to build their graph) only where POINCARE_BENCHMARK_MILLION is set.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

import poincare_memory as pm

DIM = 384
QUERIES = 50
COUNTS = (1_000, 10_000, 100_000) + ((1_000_000,) if os.environ.get("POINCARE_BENCHMARK_MILLION") else ())


class Table:
    """Text "i" is row i of clustered vectors; the last rows are the queries."""

    dim = DIM

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(100, DIM)).astype(np.float32)
        self.vectors = centres[rng.integers(100, size=count + QUERIES)]
        self.vectors += 0.5 * rng.standard_normal(self.vectors.shape, np.float32)

    def embed(self, texts: list[str]) -> Any:
        return self.vectors[[int(text) if text.isdigit() else 0 for text in texts]]


@functools.lru_cache(maxsize=1)
def indexed_memory(count: int) -> pm.Memory:
    memory = pm.Memory(embedder=Table(count))
    memory.add_many({"text": str(i), "id": str(i), "meta": {"part": i % 10}} for i in range(count))
    memory.build_index("hnsw")
    return memory


class Searching384:
    params = (COUNTS, (True, False), (None, {"part": 3}))
    param_names = ("memories", "indexed", "filters")
    timeout = 3600.0

    def setup(self, count: int, indexed: bool, filters: Any) -> None:
        self.memory = indexed_memory(count)
        self.asked = [str(count + i) for i in range(QUERIES)]
        self.options = {"k": 10, "use_index": indexed, "filters": filters, "touch": False}
        self.memory.search(self.asked[0], **self.options)

    def time_search(self, *_: object) -> None:
        for query in self.asked:
            self.memory.search(query, **self.options)

    def track_recall(self, count: int, indexed: bool, filters: Any) -> float:
        found = 0
        for query in self.asked:
            exact = self.memory.search(query, **{**self.options, "use_index": False})
            hits = self.memory.search(query, **self.options)
            found += len({hit.id for hit in exact} & {hit.id for hit in hits})
        return found / (10 * QUERIES)


class BuildingAnIndex:
    params = (1_000, 10_000)
    param_names = ("memories",)
    timeout = 600.0

    def setup(self, count: int) -> None:
        self.memory = indexed_memory(count)

    def time_build_index(self, count: int) -> None:
        self.memory.build_index("hnsw")
