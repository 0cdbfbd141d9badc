"""What a query costs in `search_many`, beside single searches.

    OMP_NUM_THREADS=1 python benchmarks/batches.py [--counts 1000 10000 100000] [--queries 64]

Processor time of one thread, the embedder's included, single searches and batches in turns; medians.
`HashingEmbedder`, and clustered vectors that a callable looks up; memories of one moment, and of a year under a
half-life of a month, where what is near may be too old, so that more has to be looked at. Prints the table of
docs/guides/retrieval.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone

import numpy as np
from numpy.typing import NDArray

from poincare_memory import CallableEmbedder, HalfLife, HashingEmbedder, Memory

DIM = 384
ROUNDS = 7
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
WORDS = [f"word{i}" for i in range(2000)]


def looked_up(count: int) -> CallableEmbedder:
    """Vectors around a thousand centres, by the number that ends a text."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(1000, DIM))[random.integers(0, 1000, count)]
    vectors = (vectors + 0.5 * random.normal(size=(count, DIM))).astype(np.float32)

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        return vectors[[int(text.rsplit(" ", 1)[1]) for text in texts]]

    return CallableEmbedder(embed, DIM)


def memory_of(
    count: int, embedder: CallableEmbedder | HashingEmbedder, hours: int
) -> tuple[Memory, list[str]]:
    random = np.random.default_rng(1)
    mem = Memory(embedder, decay=HalfLife(24 * 30), clock=lambda: NOW)
    texts = [f"{' '.join(random.choice(WORDS, 8))} {i}" for i in range(count)]
    ages = random.integers(0, hours, count).tolist()
    mem.add_many(
        {"text": text, "t": NOW - timedelta(hours=age)} for text, age in zip(texts, ages, strict=True)
    )
    return mem, texts


def processor_time(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def costs(mem: Memory, queries: list[str]) -> tuple[float, float]:
    """Microseconds a query: searched alone, and in a batch."""

    def alone() -> None:
        for query in queries:
            mem.search(query, k=10, touch=False)

    def together() -> None:
        mem.search_many(queries, k=10, touch=False)

    together()  # what is made at the first search
    times = [(processor_time(alone), processor_time(together)) for _ in range(ROUNDS)]
    one, many = (1e6 * statistics.median(kind) / len(queries) for kind in zip(*times, strict=True))
    return one, many


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--counts", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--queries", type=int, default=64)
    given = parser.parse_args()
    print("| memories | embedder | ages | single | together | |\n|---|---|---|---|---|---|")
    for count in given.counts:
        for name, embedder in (("hashing", HashingEmbedder(DIM)), ("look-up", looked_up(count))):
            for ages, hours in (("one", 1), ("a year's", 365 * 24)):
                mem, texts = memory_of(count, embedder, hours)
                queries = texts[:: max(1, count // given.queries)][: given.queries]
                one, of_many = costs(mem, queries)
                print(
                    f"| {count:,} | {name} | {ages} | {one:,.0f} µs | {of_many:,.0f} µs | {one / of_many:.1f} × |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
