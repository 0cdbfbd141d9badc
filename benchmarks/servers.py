"""Latency of searches in this process, on PostgreSQL and on Qdrant, over the same memories.

    python benchmarks/servers.py [--memories 100000] [--dim 64] [--queries 20] [URL ...]

Without URLs a PostgreSQL with pgvector is started (``pip install "poincare-memory[test]"``). Figures are medians in
milliseconds, of exact searches, k = 10; and seconds for writing everything.
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


def measure(name: str, mem: Any, arguments: argparse.Namespace) -> None:
    begun = time.perf_counter()
    if len(mem) == 0:
        for batch in items(arguments.memories):
            mem.add_many(batch)
    written = time.perf_counter() - begun
    told = [f"{name:12} written in {written:6.1f} s"]
    for label, options in ASKED.items():
        taken = []
        for number in range(arguments.queries):
            before = time.perf_counter()
            mem.search(str(2 * 10**9 + number), k=10, touch=False, **options)
            taken.append(time.perf_counter() - before)
        told.append(f"{label} {1000 * statistics.median(taken):.1f} ms")
    print("; ".join(told), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("urls", nargs="*")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--queries", type=int, default=20)
    arguments = parser.parse_args()
    embedder, decay = Points(arguments.dim), HalfLife(hours=1000)
    measure("in process", Memory(embedder=embedder, decay=decay), arguments)
    with contextlib.ExitStack() as stack:
        urls = arguments.urls
        if not urls:
            import pgserver

            folder = stack.enter_context(tempfile.TemporaryDirectory())
            server = pgserver.get_server(folder, cleanup_mode="stop")
            stack.callback(server.cleanup)
            urls = [server.get_uri()]
        for url in urls:
            with Memory.connect(url, name="bench", embedder=embedder, decay=decay) as mem:
                measure(url.partition(":")[0], mem, arguments)


if __name__ == "__main__":
    main()
