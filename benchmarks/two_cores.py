"""How much two processors help: each parallel kernel on one and on two, in turns, in processes of their own.

    python benchmarks/two_cores.py [--rounds 3]

A kernel that waits for memory can be no faster than what the last column says: how much faster two processors read (and
write) as many bytes, measured in the same run by NumPy in a thread each. Needs `os.sched_setaffinity` (Linux) and two
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
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

READING = "reading {} MB", "reading 205 MB, writing as much"
BOUND = {  # kernels that wait for memory, and what moves as many bytes
    "set_depth": READING[1],
    "to_lorentz": READING[1],
    "one to many": READING[0].format(205),
    "cone_energy": READING[0].format(205),
    "exact search": READING[0].format(39),
}


def memory(threads: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Arrays read, or read and written anew, in equal parts by so many threads."""
    import numpy as np

    pool = ThreadPoolExecutor(threads)
    column = np.ones(1000)

    def in_parts(work: Callable[[Any], Any], parts: Any) -> Callable[[], Any]:
        return lambda: list(pool.map(work, parts))

    for megabytes in (39, 205):
        parts = np.array_split(np.ones((megabytes * 125, 1000)), threads)
        yield READING[0].format(megabytes), in_parts(lambda part: part @ column, parts)
    yield READING[1], in_parts(lambda part: np.multiply(part, 0.5), parts)


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
    edges = [((i - 1) // 3, i) for i in range(1, 8000)]
    points = dict(enumerate(ball.random_points(8000, 10, seed=4)))
    yield "reconstruction, 8,000 nodes", lambda: reconstruction(points, edges, ball.distance)
    star = [("root", i) for i in range(800)]
    yield "sarkar_layout, star of 800, 10 dimensions", lambda: sarkar_layout(star, dim=10)


def timed(cores: int) -> dict[str, float]:
    """Seconds of each kernel on so many processors: the best of a few calls."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    found = {}
    for name, run in chain(memory(cores), kernels()):
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
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
            ran = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            found.append(json.loads(ran.stdout))
    median = {
        name: [statistics.median(found[name] for found in turns[cores]) for cores in (1, 2)]
        for name in turns[1][0]
    }
    print("| | one, ms | two, ms | times as fast | bound by memory |\n|---|---|---|---|---|")
    for name, (one, two) in median.items():
        bound = next((median[moves] for kernel, moves in BOUND.items() if name.startswith(kernel)), None)
        at_most = f"{bound[0] / bound[1]:.2f}" if bound else ""
        print(f"| {name} | {1e3 * one:.2f} | {1e3 * two:.2f} | {one / two:.2f} | {at_most} |")


if __name__ == "__main__":
    main()
