"""Time per pair and memory of training, from 10,000 to 1,000,000 nodes, one thread, default settings.

    python benchmarks/training_scale.py [--nodes 10000 100000 1000000] [--shapes tree ontology] [--dim 10]

`tree` has ten children a node. `ontology` is shaped like the Gene Ontology: eight children a node, and every other
node a second parent among its first one's neighbours. Pairs are (descendant, ancestor), all of them. Each size runs in
a process of its own; the least CPU time of an epoch counts. Memory is what the fit takes at its peak beyond the pairs
that it is given, over the size of the points that it returns; and with the dictionary of arrays that it returns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import Any

import numpy as np

from poincare_memory import fit_poincare_embeddings

Array = np.ndarray[Any, np.dtype[Any]]


def parents_of(shape: str, nodes: int) -> list[Array]:
    """Arrays that hold for every node but the first a parent."""
    node = np.arange(1, nodes, dtype=np.int64)
    if shape == "tree":
        return [(node - 1) // 10]
    first = (node - 1) // 8
    step = np.random.default_rng(0).integers(-3, 4, len(node))
    second = np.where(node % 2 == 0, np.clip(first + step, 0, first), first)
    return [first, second]


def closure_of(parents: list[Array], nodes: int) -> Array:
    """All (descendant, ancestor) pairs, level by level."""
    above = [np.concatenate([[-1], parent]) for parent in parents]
    found = []
    keys = np.arange(1, nodes, dtype=np.int64) * (nodes + 1)
    while len(keys):
        node, at = np.divmod(keys, nodes)
        keys = np.unique(
            np.concatenate([node[up >= 0] * nodes + up[up >= 0] for up in (a[at] for a in above)])
        )
        found.append(keys)
    keys = np.unique(np.concatenate(found))
    return np.stack(np.divmod(keys, nodes), axis=1).astype(np.int32)


def resident(field: str) -> int:
    """Bytes that are resident now (VmRSS), or were at most (VmHWM). Linux."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field))


def measure(shape: str, nodes: int, dim: int, file: str) -> None:
    edges = np.load(file)
    fit_poincare_embeddings(edges[:1000], dim=dim, epochs=1)
    before = resident("VmRSS")
    epochs = max(4, 20_000_000 // len(edges))
    at: list[float] = []
    peaks: list[int] = []

    def look(_: object) -> None:
        at.append(time.process_time())
        peaks.append(resident("VmHWM"))

    points, _ = fit_poincare_embeddings(edges, dim=dim, epochs=epochs, callback=look)
    size = 8 * dim * len(points)
    print(
        f"| {shape} | {nodes:,} | {len(edges):,} | {min(np.diff(at)) / len(edges) * 1e9:.0f} "
        f"| {(peaks[-1] - before) / size:.2f} | {(resident('VmHWM') - before) / size:.2f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--shapes", nargs="+", choices=("tree", "ontology"), default=["tree", "ontology"])
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.shapes[0], options.nodes[0], options.dim, options.measure)
        return
    import tempfile
    from pathlib import Path

    print(
        "| shape | nodes | pairs | ns a pair | memory / points | with the result |\n"
        "|---|---|---|---|---|---|",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as directory:
        for shape in options.shapes:
            for nodes in options.nodes:
                file = str(Path(directory) / "pairs.npy")
                np.save(file, closure_of(parents_of(shape, nodes), nodes))
                own = [sys.executable, __file__, "--measure", file, "--dim", str(options.dim)]
                subprocess.run([*own, "--shapes", shape, "--nodes", str(nodes)], check=True)


if __name__ == "__main__":
    main()
