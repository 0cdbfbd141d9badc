"""Memory, file and time of a live store as it grows: python benchmarks/big_store.py [--sizes 10000 100000 1000000].

Each step is a process of its own, so that its memory is that of the step. Vectors are random float32 of 384 numbers,
made from the text: what an embedder would cost is left out. Prints one line of JSON a step.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import poincare_memory as pm

BATCH = 5_000  # memories a call of add_many
BRANCHING = 16
SINGLE = 300  # edits of one kind that are timed one by one


class RandomEmbedder:
    """Vectors that depend on the last number in a text, as fast as they can be made."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._table = np.random.default_rng(0).standard_normal((4096, dim), dtype=np.float32)

    def embed(self, texts: Any) -> Any:
        numbers = np.array([int(text.rpartition(" ")[2]) if text[-1:].isdigit() else 0 for text in texts])
        first, second = self._table[numbers % 4096], self._table[numbers // 4096 % 4096]
        return first + np.float32(0.5) * np.roll(second, 1, axis=1)


def status(name: str) -> int:
    """Bytes, from /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return 0


def file_bytes(path: Path) -> int:
    return sum(
        os.path.getsize(f"{path}{suffix}") for suffix in ("", "-wal") if os.path.exists(f"{path}{suffix}")
    )


def item(i: int) -> dict[str, Any]:
    parent = None if i < BRANCHING else str(i // BRANCHING)
    return {"id": str(i), "text": f"note number {i}", "parent": parent, "meta": {"n": i}}


def batches(start: int, stop: int) -> Iterator[list[dict[str, Any]]]:
    for first in range(start, stop, BATCH):
        yield [item(i) for i in range(first, min(first + BATCH, stop))]


def best_ms(calls: list[Callable[[], object]]) -> float:
    """Time of this process's processor, all threads: that which a tenth of the calls stay below.

    On a busy machine the others find the caches cold.
    """
    times = []
    for call in calls:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return round(1000 * float(np.percentile(times, 10)), 3)


def fill(mem: pm.Memory, size: int) -> dict[str, Any]:
    """Grow to `size`, then edit one by one and take the edits back."""
    start, before = time.process_time(), len(mem)
    for batch in batches(before, size):
        mem.add_many(batch)
    took = time.process_time() - start
    extra = [f"x{i}" for i in range(SINGLE)]
    report = {
        "add_many_us_each": round(1e6 * took / max(1, size - before), 1),
        "add_ms": best_ms([lambda id=id: mem.add(f"note {id[1:]}", id=id, parent="1") for id in extra]),
        "update_ms": best_ms([lambda id=id: mem.update(id, text=f"other 7{id[1:]}") for id in extra]),
        "update_meta_ms": best_ms([lambda id=id: mem.update(id, meta={"m": 1}) for id in extra]),
        "link_ms": best_ms([lambda id=id: mem.link(id, "2") for id in extra]),
        "remove_ms": best_ms([lambda id=id: mem.remove(id) for id in extra]),
    }
    return report


def look(mem: pm.Memory) -> dict[str, Any]:
    mem.search("note 12345", touch=False)
    return {
        "search_ms": best_ms([lambda i=i: mem.search(f"note {i}", k=10, touch=False) for i in range(7, 27)])
    }


def shrink(mem: pm.Memory, path: Path) -> dict[str, Any]:
    """Remove about half of it; what compact gives back, in memory and on disk."""
    size = len(mem)
    before = {"rss_before": status("VmRSS"), "file_before": file_bytes(path)}
    start = time.perf_counter()
    for root in range(1, BRANCHING, 2):
        mem.remove(str(root), cascade=True)
    removed = time.perf_counter() - start
    left = len(mem)
    start = time.perf_counter()
    mem.compact()
    took = time.perf_counter() - start
    gc.collect()
    return {
        **before,
        "removed": size - left,
        "remove_us_each": round(1e6 * removed / max(1, size - left), 1),
        "left": left,
        "compact_s": round(took, 2),
        "rss_after": status("VmRSS"),
        "file_after": file_bytes(path),
    }


def step(what: str, path: Path, size: int, dim: int) -> dict[str, Any]:
    base = status("VmRSS")
    start, worked = time.perf_counter(), time.process_time()
    mem = pm.Memory.open(path, embedder=RandomEmbedder(dim))
    opened, worked = time.perf_counter() - start, time.process_time() - worked
    report: dict[str, Any] = {"step": what, "memories": len(mem), "open_s": round(opened, 2)}
    report |= {"open_cpu_s": round(worked, 2), "open_peak": status("VmHWM")}
    if what == "fill":
        report |= fill(mem, size)
    elif what == "open":
        report |= {"rss_each": round((status("VmRSS") - base) / max(1, len(mem)))} | look(mem)
    else:
        report |= shrink(mem, path)
    report |= {"memories": len(mem), "peak": status("VmHWM"), "file": file_bytes(path)}
    start = time.perf_counter()
    mem.close()
    return report | {"close_s": round(time.perf_counter() - start, 2)}


def run(what: str, path: Path, size: int, dim: int) -> dict[str, Any]:
    """One step in a process of its own."""
    command = [
        sys.executable,
        __file__,
        "--step",
        what,
        "--path",
        str(path),
        "--sizes",
        str(size),
        "--dim",
        str(dim),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--path", type=Path)
    parser.add_argument("--step", choices=("fill", "open", "shrink"))
    given = parser.parse_args()
    if given.step:
        print(json.dumps(step(given.step, given.path, given.sizes[0], given.dim)))
        return
    with tempfile.TemporaryDirectory(dir=given.path) as folder:
        path = Path(folder) / "big.db"
        for size in given.sizes:
            print(json.dumps(run("fill", path, size, given.dim)), flush=True)
            print(json.dumps(run("open", path, size, given.dim)), flush=True)
        print(json.dumps(run("shrink", path, given.sizes[-1], given.dim)), flush=True)
        print(json.dumps(run("open", path, 0, given.dim)), flush=True)


if __name__ == "__main__":
    main()
