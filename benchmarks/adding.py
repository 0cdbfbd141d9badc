"""What `add` and `add_many` cost a memory, beyond the embedding and one copy of its vector.

    python benchmarks/adding.py [--count 10000]

The embedder has its vectors ready; what it takes to call it and to copy them is measured in turns with the rest and
subtracted. Medians; prints the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poincare_memory import Memory

DIM = 384
ROUNDS = 9
ALONE = 500  # single memories a round


class Ready:
    dim = DIM

    def __init__(self, count: int, dtype: str) -> None:
        self.vectors = np.random.default_rng(0).normal(size=(count, DIM)).astype(dtype)

    def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        return self.vectors[: len(texts)]


def taken(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1e6 * (time.perf_counter() - start)


def alone(embedder: Ready, parent: str | None) -> float:
    mem = Memory(embedder)
    mem.add_many({"text": f"note {i}", "id": f"id {i}"} for i in range(1000))
    room = np.empty((ROUNDS * ALONE, DIM), embedder.vectors.dtype)

    def add() -> None:
        for _ in range(ALONE):
            mem.add("one more note", parent=parent)

    def copy(first: int) -> None:
        for i in range(first, first + ALONE):
            room[i] = embedder.embed(["one more note"])[0]

    rounds = [taken(add) - taken(partial(copy, i * ALONE)) for i in range(ROUNDS)]
    return statistics.median(rounds) / ALONE


def together(embedder: Ready, items: list[dict[str, Any]]) -> float:
    def copy(room: NDArray[Any]) -> None:
        np.copyto(room, embedder.embed([""] * len(items)))

    rounds = []
    for _ in range(ROUNDS):
        mem = Memory(embedder)
        room = np.empty_like(embedder.vectors)
        copying = taken(partial(copy, room))
        rounds.append(taken(partial(mem.add_many, items)) - copying)
    return statistics.median(rounds) / len(items)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="memories of a batch")
    count = parser.parse_args().count
    texts = [{"text": f"note {i}"} for i in range(count)]
    trees = [
        {"text": f"note {i}", "id": f"id {i}", "parent": f"id {i // 8}" if i else None, "meta": {"page": i}}
        for i in range(count)
    ]
    print(
        "| embeddings | `add`, a root | `add`, a child | `add_many`, texts | `add_many`, a tree with metadata |"
    )
    print("|---|---|---|---|---|")
    for dtype in ("float32", "float64"):
        embedder = Ready(count, dtype)
        costs = (
            alone(embedder, None),
            alone(embedder, "id 7"),
            together(embedder, texts),
            together(embedder, trees),
        )
        print(f"| {dtype} | {' | '.join(f'{cost:.1f} µs' for cost in costs)} |", flush=True)


if __name__ == "__main__":
    main()
