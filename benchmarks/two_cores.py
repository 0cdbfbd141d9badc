"""How much two processors help: each parallel kernel on one and on two, in turns, in processes of their own.

    python benchmarks/two_cores.py [--rounds 3]

A kernel that waits for memory, as marked, cannot be twice as fast. Needs `os.sched_setaffinity` (Linux) and two
processors that do nothing else. Prints the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

WAITS_FOR_MEMORY = ("set_depth", "to_lorentz", "one to many", "exact search")


def kernels() -> Iterator[tuple[str, Callable[[], Any]]]:
    import numpy as np

    from poincare_memory import (
        HalfLife,
        HashingEmbedder,
        Memory,
        PoincareBall,
        cone_energy,
        reconstruction,
        sarkar_layout,
    )

    ball = PoincareBall(1.0)
    x, y = ball.random_points(1000, 128, seed=1), ball.random_points(1000, 128, seed=2)
    yield "pairwise_distance, 1000 × 1000 × 128", lambda: ball.pairwise_distance(x, y)
    rows = ball.random_points(100_000, 256, seed=3)
    yield "cone_energy, 100,000 × 256", lambda: cone_energy(rows[:1], rows, ball)
    yield "one to many distances, 100,000 × 256", lambda: ball.distance(rows[:1], rows)
    yield "set_depth, 100,000 × 256", lambda: ball.set_depth(rows, 1.0)
    yield "to_lorentz, 100,000 × 256", lambda: ball.to_lorentz(rows)
    texts = [
        f"note {i}: user {i % 97} asked about topic {i % 1013} by {i * 7919 % 100003}" for i in range(4000)
    ]
    yield "HashingEmbedder, 4,000 texts", lambda: HashingEmbedder().embed(texts)
    vectors = np.random.default_rng(0).normal(size=(100_000, 384)).astype(np.float32)

    class Given:
        dim = 384

        def embed(self, asked: list[str]) -> Any:
            return vectors[: len(asked)]

    mem = Memory(embedder=Given(), decay=HalfLife(hours=720))
    mem.add_many([{"text": str(i), "id": str(i)} for i in range(len(vectors))])
    questions = [f"question {i}" for i in range(64)]
    yield "search_many, 64 queries, 100,000 × 384", lambda: mem.search_many(questions, k=10, touch=False)
    yield "exact search, 100,000 × 384", lambda: mem.search("question", k=10, touch=False)
    few = Memory(embedder=Given())
    few.add_many([{"text": str(i), "id": str(i)} for i in range(8000)])
    yield "build_index, 8,000 × 384", lambda: few.build_index("hnsw")
    edges = [((i - 1) // 3, i) for i in range(1, 2000)]
    points = dict(enumerate(ball.random_points(2000, 10, seed=4)))
    yield "reconstruction, 2,000 nodes", lambda: reconstruction(points, edges, ball.distance)
    star = [("root", i) for i in range(800)]
    yield "sarkar_layout, star of 800, 10 dimensions", lambda: sarkar_layout(star, dim=10)


def timed(cores: int) -> dict[str, float]:
    """Seconds of each kernel on so many processors: the best of a few calls."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    found = {}
    for name, run in kernels():
        run()
        taken = []
        until = time.perf_counter() + 1
        while not taken or (time.perf_counter() < until and len(taken) < 20):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
        found[name] = min(taken)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cores:
        print(json.dumps(timed(asked.cores)))
        return
    turns: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    for _ in range(asked.rounds):
        for cores, found in turns.items():
            command = [sys.executable, __file__, "--cores", str(cores)]
            found.append(
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            )
    print("| | one, ms | two, ms | times as fast |\n|---|---|---|---|")
    for name in turns[1][0]:
        one, two = (statistics.median(found[name] for found in turns[cores]) for cores in (1, 2))
        waits = " (waits for memory)" if name.startswith(WAITS_FOR_MEMORY) else ""
        print(f"| {name}{waits} | {1e3 * one:.2f} | {1e3 * two:.2f} | {one / two:.2f} |")


if __name__ == "__main__":
    main()
