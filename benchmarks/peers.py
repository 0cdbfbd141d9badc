"""The same work by other libraries, side by side in one run: exact search, graphs, distances.

    python benchmarks/peers.py [--size 100000] [--graph-size 20000] [--threads 1] [--repeats 15]

Peers that are not installed are left out (`pip install faiss-cpu usearch hnswlib geoopt`). They take turns, so that
what a shared machine does meets all of them; each figure is a median. Ours is the whole of `Memory.search`, with a
half-life and a result object a hit; theirs is the bare index. Prints the tables of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

K = 10
M, EF_CONSTRUCTION, EF = 16, 200, 100  # of every graph but ours, which chooses its own

Search = Callable[[int], list[int]]  # ids of the K nearest to query i
Maker = Callable[[Any, Any, int], Search]  # vectors, queries, threads


def module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Given:
    """An embedder that knows its vectors beforehand: nothing but the memory is timed."""

    def __init__(self, vectors: Any, queries: Any) -> None:
        self.dim = vectors.shape[1]
        self.vectors, self.queries = vectors, queries

    def embed(self, texts: Sequence[str]) -> Any:
        if len(texts) > 1:
            return self.vectors
        return self.queries[int(texts[0])][None]


def memory(vectors: Any, queries: Any) -> Any:
    from datetime import datetime, timedelta, timezone

    from poincare_memory import HalfLife, Memory

    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    mem = Memory(embedder=Given(vectors, queries), decay=HalfLife(hours=720), clock=lambda: now)
    times = (now - timedelta(hours=17 * i % 5000) for i in range(len(vectors)))
    mem.add_many([{"text": str(i), "id": str(i), "t": t} for i, t in enumerate(times)])
    return mem


# --- exact search -----------------------------------------------------------------------------------------------


def ours_exact(vectors: Any, queries: Any, threads: int) -> Search:
    mem = memory(vectors, queries)
    return lambda i: [int(hit.id) for hit in mem.search(str(i), k=K, touch=False, use_index=False)]


def numpy_exact(vectors: Any, queries: Any, threads: int) -> Search:
    import numpy as np

    def search(i: int) -> list[int]:
        products = vectors @ queries[i]
        best = np.argpartition(products, -K)[-K:]
        return [int(x) for x in best[np.argsort(-products[best])]]

    return search


def faiss_exact(vectors: Any, queries: Any, threads: int) -> Search:
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return lambda i: index.search(queries[i : i + 1], K)[1][0].tolist()


def usearch_exact(vectors: Any, queries: Any, threads: int) -> Search:
    search = importlib.import_module("usearch.index").search
    return lambda i: search(vectors, queries[i], K, "ip", exact=True, threads=threads).keys.tolist()


# --- graphs -----------------------------------------------------------------------------------------------------


def ours_graph(vectors: Any, queries: Any, threads: int) -> Search:
    mem = memory(vectors, queries)
    mem.time_coef = 0.0
    mem.build_index("hnsw")
    return lambda i: [int(hit.id) for hit in mem.search(str(i), k=K, touch=False)]


def faiss_graph(vectors: Any, queries: Any, threads: int) -> Search:
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexHNSWFlat(vectors.shape[1], M, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = EF_CONSTRUCTION, EF
    index.add(vectors)
    return lambda i: index.search(queries[i : i + 1], K)[1][0].tolist()


def hnswlib_graph(vectors: Any, queries: Any, threads: int) -> Search:
    index = importlib.import_module("hnswlib").Index("ip", vectors.shape[1])
    index.init_index(len(vectors), M=M, ef_construction=EF_CONSTRUCTION)
    index.add_items(vectors, num_threads=threads)
    index.set_ef(EF)
    return lambda i: index.knn_query(queries[i], K, num_threads=threads)[0][0].tolist()


def usearch_graph(vectors: Any, queries: Any, threads: int) -> Search:
    index = importlib.import_module("usearch.index").Index(
        ndim=vectors.shape[1], metric="ip", connectivity=M, expansion_add=EF_CONSTRUCTION, expansion_search=EF
    )
    index.add(range(len(vectors)), vectors, threads=threads)
    return lambda i: index.search(queries[i], K, threads=threads).keys.tolist()


EXACT: dict[str, tuple[str, Maker]] = {
    "poincare_memory": ("poincare_memory", ours_exact),
    "NumPy (BLAS), float32": ("numpy", numpy_exact),
    "faiss IndexFlatIP, float32": ("faiss", faiss_exact),
    "usearch exact, float32": ("usearch", usearch_exact),
}
GRAPHS: dict[str, tuple[str, Maker]] = {
    "poincare_memory": ("poincare_memory", ours_graph),
    "faiss IndexHNSWFlat": ("faiss", faiss_graph),
    "hnswlib": ("hnswlib", hnswlib_graph),
    "usearch": ("usearch", usearch_graph),
}


def clustered(n: int, dim: int, queries: int) -> tuple[Any, Any]:
    """Unit vectors in clusters, as those of texts are, and queries from the same."""
    import numpy as np

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(max(1, n // 200), dim))
    every = centres[rng.integers(0, len(centres), n + queries)] + 1.2 * rng.normal(size=(n + queries, dim))
    every /= np.linalg.norm(every, axis=1, keepdims=True)
    every = every.astype(np.float32)
    return every[:n], every[n:]


def compare(makers: dict[str, tuple[str, Maker]], n: int, dim: int, threads: int, repeats: int) -> None:
    vectors, queries = clustered(n, dim, repeats + 1)
    searches: dict[str, Search] = {}
    built: dict[str, float] = {}
    for name, (needs, make) in makers.items():
        if module(needs) is None:
            print(f"{name}: not installed")
            continue
        started = time.perf_counter()
        searches[name] = make(vectors, queries, threads)
        built[name] = time.perf_counter() - started
    exact = numpy_exact(vectors, queries, threads)
    took: dict[str, list[float]] = {name: [] for name in searches}
    hits = dict.fromkeys(searches, 0)
    for i in range(repeats + 1):
        nearest = set(exact(i))
        for name, search in searches.items():
            started = time.perf_counter()
            found = search(i)
            took[name].append(time.perf_counter() - started)
            hits[name] += len(nearest & set(found))
    median = {name: statistics.median(seconds[1:]) for name, seconds in took.items()}
    print(
        "| | ready after, s | a query, ms | times ours | recall@10 of inner products |\n|---|---|---|---|---|"
    )
    for name, seconds in median.items():
        ratio = seconds / median["poincare_memory"]
        recall = hits[name] / (K * (repeats + 1))
        told = "by time too" if name == "poincare_memory" and makers is EXACT else f"{recall:.3f}"
        print(f"| {name} | {built[name]:.2f} | {1000 * seconds:.3f} | {ratio:.2f} | {told} |")


# --- distances --------------------------------------------------------------------------------------------------


def pairwise(n: int, dim: int, repeats: int) -> None:
    """Distances of n points to n others in the ball, float64."""
    import numpy as np

    from poincare_memory import PoincareBall

    ball = PoincareBall()
    points = [ball.random_points(n, dim, 3.0, seed=i) for i in range(2 * (repeats + 1))]

    def blas(x: Any, y: Any) -> Any:
        xx, yy = (x * x).sum(1), (y * y).sum(1)
        gaps = np.maximum(xx[:, None] + yy - 2 * (x @ y.T), 0)
        return np.arccosh(1 + 2 * gaps / ((1 - xx)[:, None] * (1 - yy)))

    contenders: dict[str, Callable[[Any, Any], Any]] = {
        "poincare_memory": ball.pairwise_distance,
        "NumPy (BLAS)": blas,
    }
    torch, geoopt = module("torch"), module("geoopt")
    if torch is not None and geoopt is not None:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        manifold = geoopt.PoincareBall()

        def by_geoopt(x: Any, y: Any) -> Any:
            return manifold.dist(torch.from_numpy(x)[:, None], torch.from_numpy(y)).numpy()

        contenders["geoopt"] = by_geoopt
    took: dict[str, list[float]] = {name: [] for name in contenders}
    for i in range(repeats + 1):
        for name, distances in contenders.items():
            started = time.perf_counter()
            distances(points[2 * i], points[2 * i + 1])
            took[name].append(time.perf_counter() - started)
    ours = statistics.median(took["poincare_memory"][1:])
    print("| | ms | times ours |\n|---|---|---|")
    for name, seconds in took.items():
        median = statistics.median(seconds[1:])
        print(f"| {name} | {1000 * median:.2f} | {median / ours:.2f} |")


def machine() -> str:
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            model = next((line.split(":")[1].strip() for line in lines if "model name" in line), model)
    packages = {"NumPy": "numpy", "faiss": "faiss-cpu", "usearch": "usearch", "hnswlib": "hnswlib"}
    versions = [
        f"{name} {importlib.metadata.version(package)}"
        for name, package in packages.items()
        if module(name.lower()) is not None
    ]
    return f"{model}, {os.cpu_count()} processors, Python {platform.python_version()}, {', '.join(versions)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, nargs="*", default=[100_000])
    parser.add_argument("--graph-size", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)  # before any of them is imported
    print(f"{machine()}; {options.threads} thread(s), {options.dim} dimensions, k = {K}")
    for size in options.size:
        print(f"\nExact search of {size:,}\n")
        compare(EXACT, size, options.dim, options.threads, options.repeats)
    if options.graph_size:
        print(f"\nGraphs of {options.graph_size:,} in clusters\n")
        compare(GRAPHS, options.graph_size, options.dim, options.threads, 200)
    print("\nPairwise distances, float64, 1000 × 1000 × 128\n")
    pairwise(1000, 128, options.repeats)


if __name__ == "__main__":
    main()
