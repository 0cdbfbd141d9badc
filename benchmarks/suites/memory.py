"""What a user waits for: import, adding, searching, saving, loading."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import poincare_memory as pm  # not its names: asv would take Memory.time_weights for a benchmark

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
WORDS = [f"word{i}" for i in range(997)]


def items(count: int) -> list[dict[str, Any]]:
    """A tree of ``count`` memories, eight children each, an hour apart."""
    return [
        {
            "id": str(i),
            "text": " ".join(WORDS[(i * step) % len(WORDS)] for step in (1, 7, 31, 113)),
            "parent": str((i - 1) // 8) if i else None,
            "t": NOW - timedelta(hours=i),
        }
        for i in range(count)
    ]


class Import:
    def time_package(self) -> None:
        subprocess.run([sys.executable, "-c", "import poincare_memory"], check=True)

    def time_memory(self) -> None:
        subprocess.run([sys.executable, "-c", "from poincare_memory import Memory"], check=True)


class Writing:
    params = (1_000, 10_000)
    param_names = ("memories",)

    def setup(self, count: int) -> None:
        self.items = items(count)
        self.one = {"text": "one more", "parent": "0"}
        self.memory = pm.Memory()
        self.memory.add_many(self.items)

    def time_add_many(self, count: int) -> None:
        pm.Memory().add_many(self.items)

    def time_add(self, count: int) -> None:
        self.memory.add(**self.one)


class Searching:
    params = ((1_000, 10_000), ("shell", "hyperbolic"))
    param_names = ("memories", "metric")

    def setup(self, count: int, metric: str) -> None:
        self.memory = pm.Memory(decay=pm.HalfLife(), metric=metric, clock=lambda: NOW)
        self.memory.add_many(items(count))

    def time_nearest(self, *_: object) -> None:
        self.memory.search("word3 word77", touch=False)

    def time_filtered(self, *_: object) -> None:
        self.memory.search("word3 word77", filters=lambda record: record.id.endswith("7"), touch=False)

    def time_subtree(self, *_: object) -> None:
        self.memory.search("word3 word77", mode="subtree", root="1", touch=False)


ROOM = """
import gc, sys
import numpy as np
import poincare_memory as pm

class Random:
    dim = 384
    def __init__(self, dtype):
        self.rng, self.dtype = np.random.default_rng(0), np.dtype(dtype)
    def embed(self, texts):
        return self.rng.standard_normal((len(texts), self.dim), dtype=self.dtype)

def resident():
    gc.collect()
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("RssAnon")).split()[1])

memory, count = pm.Memory(embedder=Random(sys.argv[1]), precision=sys.argv[2]), 50_000
memory.add("first")
memory.search("a query", touch=False)
before = resident()
for start in range(0, count, 1000):
    rows = range(start, start + 1000)
    memory.add_many({"id": f"m{i}", "text": f"short text {i}", "parent": f"m{i // 8}" if i else None} for i in rows)
memory.search("a query", touch=False)
print((resident() - before) / count)
"""


class Room:
    """Anonymous resident memory, in a process of its own; Linux."""

    params = (("float32", "float64"), ("full", "compact"))
    param_names = ("dtype", "precision")

    def track_bytes_a_memory(self, dtype: str, precision: str) -> float:
        command = [sys.executable, "-c", ROOM, dtype, precision]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    track_bytes_a_memory.unit = "bytes"  # type: ignore[attr-defined]  # what asv reads


class Files:
    params = (1_000, 10_000)
    param_names = ("memories",)

    def setup(self, count: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "memory.db"
        self.memory = pm.Memory()
        self.memory.add_many(items(count))
        self.memory.save(self.path)

    def teardown(self, count: int) -> None:
        self.folder.cleanup()

    def time_save(self, count: int) -> None:
        self.memory.save(self.path)

    def time_load(self, count: int) -> None:
        pm.Memory.load(self.path)
