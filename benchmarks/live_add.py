"""What a live store adds to a commit: `Memory.open(path).add` beside SQLite alone, writing the same bytes.

    python benchmarks/live_add.py [--count 400] [--folder .]

Both in turns, one commit a memory, in WAL mode and with the same `synchronous`; the bare insert has the columns, the
vectors and the index of a record, and nothing else. Medians; prints the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import itertools
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poincare_memory import Memory

DIM = 384


class Given:
    dim = DIM

    def __init__(self) -> None:
        self.vector = np.random.default_rng(0).normal(size=(1, DIM)).astype(np.float32)

    def embed(self, texts: list[str]) -> NDArray[Any]:
        return self.vector


def bare(path: Path, synchronous: str) -> Callable[[int], object]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute(
        "CREATE TABLE records (pos INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT, t TEXT, meta TEXT, point BLOB, "
        "embedding BLOB)"
    )
    blob = bytearray(8 * DIM)

    def add(i: int) -> None:
        connection.execute("BEGIN IMMEDIATE")
        values = (i, f"id {i}", f"note {i}", "2026-01-01T00:00:00+00:00", "{}", blob, blob)
        connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        connection.execute("COMMIT")

    return add


def adding_to(mem: Memory) -> Callable[[int], object]:
    return lambda i: mem.add(f"note {i}", id=f"id {i}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--folder", default=None, help="on the disk that is to be measured")
    asked = parser.parse_args()
    print("| synchronous | SQLite alone, µs | `Memory.open(path).add`, µs | times |\n|---|---|---|---|")
    for synchronous in ("normal", "full"):
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            mem = Memory.open(Path(folder) / "live.db", embedder=Given(), synchronous=synchronous)
            adds = {"bare": bare(Path(folder) / "bare.db", synchronous), "ours": adding_to(mem)}
            taken: dict[str, list[float]] = {name: [] for name in adds}
            for i, (name, add) in itertools.product(range(asked.count), adds.items()):
                start = time.perf_counter()
                add(i)
                taken[name].append(time.perf_counter() - start)
            mem.close()
            alone, ours = (1e6 * statistics.median(taken[name][20:]) for name in ("bare", "ours"))
            print(f"| {synchronous} | {alone:.0f} | {ours:.0f} | {ours / alone:.2f} |")


if __name__ == "__main__":
    main()
