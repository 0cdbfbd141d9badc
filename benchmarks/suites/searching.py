"""Exact and indexed search over memories of 384 dimensions: time, and recall of the graph beside it.

A million memories only where POINCARE_BENCHMARK_MILLION is set (10 GB of disk, as many of memory; the graph takes a
quarter of an hour on two cores). Stores are written once, with their graphs, and opened by each process of asv.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

import poincare_memory as pm

DIM = 384
QUERIES = 50
COUNTS = (1_000, 10_000, 100_000) + ((1_000_000,) if os.environ.get("POINCARE_BENCHMARK_MILLION") else ())
ADDED_AT_ONCE = 100_000


class Drawn:
    """Text "i" is row i of clustered vectors, of which a part is held at a time."""

    dim = DIM

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.other = np.ones(DIM, np.float32)  # any other text: a store asks one to know its embedder again
        self.hold(0, 0)

    def hold(self, first: int, count: int) -> None:
        centres = np.random.default_rng(0).normal(size=(100, DIM)).astype(np.float32)
        self.first = first
        self.vectors = centres[self.rng.integers(100, size=count)]
        self.vectors += np.float32(0.5) * self.rng.standard_normal(self.vectors.shape, np.float32)

    def embed(self, texts: Sequence[str]) -> Any:
        rows = [self.vectors[int(text) - self.first] if text.isdigit() else self.other for text in texts]
        return np.array(rows, np.float32)


def write_store(count: int) -> None:
    drawn = Drawn(seed=1)
    with pm.Memory.open(f"{count}.db", embedder=drawn) as memory:
        for start in range(0, count, ADDED_AT_ONCE):
            part = range(start, min(start + ADDED_AT_ONCE, count))
            drawn.hold(start, len(part))
            memory.add_many({"text": str(i), "id": str(i), "meta": {"part": i % 10}} for i in part)
        memory.build_index("hnsw")


class Searching384:
    params = (COUNTS, (True, False), (None, {"part": 3}))
    param_names = ("memories", "indexed", "filters")
    timeout = 3600.0

    def setup_cache(self) -> None:
        for count in COUNTS:
            write_store(count)

    setup_cache.timeout = 7200.0  # type: ignore[attr-defined]  # what asv reads

    def setup(self, count: int, indexed: bool, filters: Any) -> None:
        queries = Drawn(seed=2)
        queries.hold(0, QUERIES)
        self.memory = pm.Memory.open(f"{count}.db", embedder=queries)
        self.asked = [str(i) for i in range(QUERIES)]
        self.options = {"k": 10, "use_index": indexed, "filters": filters, "touch": False}
        self.memory.search(self.asked[0], **self.options)

    def teardown(self, *_: object) -> None:
        self.memory.close()

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
        drawn = Drawn(seed=1)
        drawn.hold(0, count)
        self.memory = pm.Memory(embedder=drawn)
        self.memory.add_many({"text": str(i)} for i in range(count))

    def time_build_index(self, count: int) -> None:
        self.memory.build_index("hnsw")
