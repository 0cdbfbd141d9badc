"""What graphs find, and how quickly: the tables of docs/guides/scaling.md.

    python benchmarks/graph_recall.py [--count 100000] [--dims 64 384] [--mixed-count 20000]

Points are clustered: 100 normal centres, half a standard deviation of noise in each coordinate about them. All of it
runs in one process, queries in one thread. A time is the processor's (what else the machine does counts little), the
mean over queries of the least of several passes. Where the package ``hnswlib`` is installed, plain inner product over
the Lorentz MIPS vectors is measured beside ours.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from poincare_memory import Memory, MIPSIndex, PoincareBall
from poincare_memory._core import _hnsw
from poincare_memory.geometry.lorentz import to_mips_vectors
from poincare_memory.threads import available_threads

BALL = PoincareBall()
K = 10
PASSES = 5
STEP = 20_000  # points that are made, added and searched at a time


def clustered(count: int, dim: int, seed: int, clusters: int = 100, noise: float = 0.5) -> Any:
    """Unit directions about centres that depend on `dim` alone."""
    centres = np.random.default_rng(dim).normal(size=(clusters, dim))
    rng = np.random.default_rng(seed)
    points = centres[rng.integers(clusters, size=count)] + noise * rng.normal(size=(count, dim))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def microseconds(call: Callable[[Any], object], queries: Iterable[Any]) -> float:
    """Mean over the queries of the shortest of several passes over all of them, of the processor's time."""
    queries = list(queries)
    least = np.full(len(queries), np.inf)
    for _ in range(PASSES):
        for i, query in enumerate(queries):
            start = time.thread_time_ns()
            call(query)
            least[i] = min(least[i], time.thread_time_ns() - start)
    return float(least.mean()) / 1e3


def interleaved(calls: dict[str, Callable[[int], object]], queries: int) -> dict[str, float]:
    """`microseconds` of several calls for the same queries, in an order drawn anew for each: none finds warm what it
    asks for because another always came before it."""
    chance = random.Random(0)
    least = {name: np.full(queries, np.inf) for name in calls}
    for _ in range(PASSES):
        for i in range(queries):
            for name in chance.sample(list(calls), len(calls)):
                start = time.thread_time_ns()
                calls[name](i)
                least[name][i] = min(least[name][i], time.thread_time_ns() - start)
    return {name: float(times.mean()) / 1e3 for name, times in least.items()}


def nearest(directions: Any, radii: Any, direction: Any, radius: float, rows: Any = None) -> set[int]:
    """The K nearest by the float64 formula, among `rows`."""
    rows = np.arange(len(radii)) if rows is None else rows
    chords = 2 - 2 * (directions[rows] @ direction)
    q = np.sinh((radii[rows] - radius) / 2) ** 2 + np.sinh(radii[rows]) * np.sinh(radius) * chords / 4
    return set(rows[np.argsort(q, kind="stable")[:K]].tolist())


def recall(found: Iterable[Any], truth: list[set[int]]) -> float:
    return float(np.mean([len(want & {*map(int, got)}) / K for got, want in zip(found, truth, strict=True)]))


def shell(count: int, dim: int, queries: int) -> None:
    """One shell: recall, time of a query, and that of a float32 matvec over the same vectors."""
    directions, asked = clustered(count, dim, 1), clustered(queries, dim, 2)
    points, query_points = BALL.point_at(directions, 1.0), BALL.point_at(asked, 1.0)
    start = time.perf_counter()
    index = MIPSIndex(BALL, backend="hnsw").build(points)
    built = time.perf_counter() - start
    radii = np.ones(count)
    truth = [nearest(directions, radii, query, 1.0) for query in asked]
    share = recall((index.query(point, K)[0] for point in query_points), truth)
    narrow, narrow_queries = directions.astype(np.float32), asked.astype(np.float32)
    scan = microseconds(lambda query: narrow @ query, narrow_queries[:20])
    query = microseconds(lambda point: index.query(point, K), query_points)
    print(
        f"| {count:,} x {dim} | {built:.0f} s | {share:.4f} | {query:.0f} µs | {scan:.0f} µs | {scan / query:.1f} |",
        flush=True,
    )


def memory(count: int, dim: int, queries: int) -> None:
    """What `Memory.search` adds to the query of its own index."""
    vectors = np.concatenate([clustered(count, dim, 1), clustered(queries, dim, 2)])

    class Table:
        dim = vectors.shape[1]

        def embed(self, texts: list[str]) -> Any:
            return vectors[[int(text) if text.isdigit() else 0 for text in texts]]

    mem = Memory(embedder=Table())
    mem.add_many({"text": str(i), "id": str(i)} for i in range(count))
    index = mem.build_index("hnsw")
    asked = [str(i) for i in range(count, count + queries)]
    points = BALL.point_at(vectors[count:], 1.0)
    taken = interleaved(
        {
            "query": lambda i: index.query(points[i], K),
            "embed": lambda i: mem.embedder.embed([asked[i]]),
            "search": lambda i: mem.search(asked[i], k=K, touch=False),
            "counted": lambda i: mem.search(asked[i], k=K),
        },
        queries,
    )
    own, embedded = taken["query"], taken["embed"]
    searched, counted = (taken[name] - embedded for name in ("search", "counted"))
    scanned = microseconds(lambda text: mem.search(text, k=K, touch=False, use_index=False), asked[:20])
    print(
        f"| {count:,} x {dim} | {own:.0f} µs | {searched:.0f} µs ({searched - own:+.0f}) "
        f"| {counted:.0f} µs ({counted - own:+.0f}) | {scanned:.0f} µs |",
        flush=True,
    )


def mixed(count: int, dim: int, queries: int) -> None:
    """Radii 0.5 to 6: ours beside inner product over MIPS vectors in plain hnswlib."""
    rng = np.random.default_rng(3)
    directions, asked = clustered(count, dim, 1), clustered(queries, dim, 2)
    radii, asked_radii = rng.uniform(0.5, 6, count), rng.uniform(0.5, 6, queries)
    points, query_points = BALL.point_at(directions, radii), BALL.point_at(asked, asked_radii)
    truth = [nearest(directions, radii, u, r) for u, r in zip(asked, asked_radii, strict=True)]
    index = MIPSIndex(BALL, backend="hnsw").build(points)
    ours = recall((index.query(point, K)[0] for point in query_points), truth)
    ours_time = microseconds(lambda point: index.query(point, K), query_points)
    peer, peer_time = "not installed", ""
    try:
        import hnswlib
    except ImportError:
        pass
    else:
        other = hnswlib.Index("ip", dim + 1)
        other.init_index(count, M=index.hnsw_m, ef_construction=200, random_seed=1)
        other.set_ef(2 * index.ef_search)
        other.set_num_threads(1)
        other.add_items(to_mips_vectors(BALL.to_lorentz(points)).astype(np.float32))
        lorentz = BALL.to_lorentz(query_points).astype(np.float32)
        peer = f"{recall((other.knn_query(row[None], K)[0][0] for row in lorentz), truth):.4f}"
        peer_time = f"{microseconds(lambda row: other.knn_query(row[None], K), lorentz):.0f} µs"
    print(f"| {count:,} x {dim} | {ours:.4f} | {ours_time:.0f} µs | {peer} | {peer_time} |", flush=True)


def life(count: int, dim: int, queries: int, metric: Any) -> None:
    """Recall after deletes, after a save and a load, and under filters."""
    rng = np.random.default_rng(4)
    directions, asked = clustered(count, dim, 1), clustered(queries, dim, 2)
    low, high = (0.5, 6.0) if metric == "hyperbolic" else (1.0, 1.0)
    radii, asked_radii = rng.uniform(low, high, count), rng.uniform(low, high, queries)
    narrow = directions.astype(np.float32)

    def share(graph: Any, rows: Any, allowed: Any = None) -> str:
        truth = [nearest(directions, radii, u, r, rows) for u, r in zip(asked, asked_radii, strict=True)]
        found = (
            graph.search(u.astype(np.float32), float(r), k=K, ef=80, allowed=allowed)[0][:K]
            for u, r in zip(asked, asked_radii, strict=True)
        )
        return f"{recall(found, truth):.4f}"

    graph = _hnsw.Graph(dim, metric=metric, m=32, ef_construction=200, capacity=count)
    graph.add(np.arange(count), narrow, radii)
    shares = [share(graph, np.arange(count))]
    for part in (0.5, 0.1, 0.01):
        allowed = (rng.random(count) < part).astype(np.uint8)
        shares.append(share(graph, np.flatnonzero(allowed), allowed))
    graph.remove(rng.permutation(count)[: count // 5])
    left = np.setdiff1d(np.arange(count), graph.missing(np.arange(count)))
    shares.append(share(graph, left))
    again = _hnsw.Graph(dim, metric=metric, m=32, ef_construction=200)
    again.load(
        graph.save(np.arange(count)), labels=left, keys=left, directions=narrow[left], radii=radii[left]
    )
    shares.append(share(again, left))
    print(f"| {metric}, {count:,} x {dim} | " + " | ".join(shares) + " |", flush=True)


def large(count: int, dim: int, queries: int) -> None:
    """One shell, the graph alone: the processors' time for it, what it occupies, and what is found by as many
    candidates as few points have, by those that this many points have, and by twice as many."""
    rng = np.random.default_rng(1)
    centres = np.random.default_rng(dim).normal(size=(100, dim)).astype(np.float32)

    def made(n: int) -> Any:
        points = centres[rng.integers(100, size=n)] + np.float32(0.5) * rng.standard_normal(
            (n, dim), np.float32
        )
        return points / np.linalg.norm(points, axis=1, keepdims=True)

    asked = made(queries)
    graph = _hnsw.Graph(dim, metric="shell", m=32, ef_construction=200, capacity=count)
    before = resident()
    best = np.full((queries, K), -np.inf, np.float32)
    truth = np.zeros((queries, K), np.int64)
    spent = 0.0
    for start in range(0, count, STEP):
        part = made(min(STEP, count - start))
        labels = np.arange(start, start + len(part))
        begun = time.process_time()
        graph.add(labels, part, np.zeros(len(part)), threads=available_threads())
        spent += time.process_time() - begun
        products = np.concatenate([best, asked @ part.T], axis=1)
        names = np.concatenate([truth, np.broadcast_to(labels, (queries, len(part)))], axis=1)
        chosen = np.argpartition(-products, K, axis=1)[:, :K]
        best, truth = np.take_along_axis(products, chosen, 1), np.take_along_axis(names, chosen, 1)
        sys.stderr.write(f"{start + len(part):,} in {spent:.0f} s of processors\n")
    size = (resident() - before) / count
    index = MIPSIndex(BALL, "hnsw")
    usual, grown = index.looked_at(1, dim), index.looked_at(count, dim)
    for ef in (usual, grown, 2 * grown):
        found = [graph.search(query, 0.0, k=K, ef=ef)[0][:K] for query in asked]
        share = recall(found, [set(row.tolist()) for row in truth])
        query = microseconds(lambda query, ef=ef: graph.search(query, 0.0, k=K, ef=ef), asked)
        print(
            f"| {count:,} x {dim} | {1e3 * spent / count:.2f} ms | {size:.0f} bytes | {ef} | {share:.4f} "
            f"| {query:.0f} µs |",
            flush=True,
        )


def resident() -> float:
    """Bytes of this process that are in memory."""
    with open("/proc/self/status") as status:
        return 1024.0 * next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def lives(count: int, dim: int, queries: int) -> None:
    for metric in ("shell", "hyperbolic"):
        life(count, dim, queries, metric)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--mixed-count", type=int, default=20_000)
    parser.add_argument("--large-count", type=int, default=1_000_000)
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 384])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--parts", nargs="+", default=["shell", "memory", "mixed", "life"])
    chosen = parser.parse_args()
    tables: dict[str, tuple[str, Callable[[int], None]]] = {
        "shell": (
            "| one shell | build | recall@10 | query | float32 matvec | times faster |",
            lambda dim: shell(chosen.count, dim, chosen.queries),
        ),
        "memory": (
            "| memories | index.query | Memory.search, embedding apart | accesses counted | by the scan |",
            lambda dim: memory(chosen.mixed_count, dim, chosen.queries),
        ),
        "mixed": (
            "| radii 0.5 to 6 | recall@10 | query | inner product in hnswlib | query |",
            lambda dim: mixed(chosen.mixed_count, dim, chosen.queries),
        ),
        "large": (
            "| the graph alone | build, a point | a point | candidates | recall@10 | query |",
            lambda dim: large(chosen.large_count, dim, chosen.queries),
        ),
        "life": (
            "| recall@10 | all | half pass | 10 % pass | 1 % pass | 20 % removed | saved, loaded |",
            lambda dim: lives(chosen.mixed_count, dim, chosen.queries),
        ),
    }
    for part in chosen.parts:
        header, row = tables[part]
        print(f"\n{header}\n|{' --- |' * (header.count('|') - 1)}", flush=True)
        for dim in chosen.dims:
            row(dim)


if __name__ == "__main__":
    main()
