"""What saving and loading take beside the disk, and beside SQLite alone.

    python benchmarks/saving.py [--count 20000] [--folder .]

The same number of bytes written and flushed in one go; the same vectors and texts inserted by SQLite into a new file
without a journal, and flushed; `save` and `load`. In turns; medians; prints the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from poincare_memory import HashingEmbedder, Memory

DIM = 384
ROUNDS = 7
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def filled(count: int) -> Memory:
    mem = Memory(HashingEmbedder(dim=DIM))
    mem.add_many(
        {
            "text": f"memory number {i} about topic {i % 97}",
            "id": str(i),
            "parent": str((i - 1) // 8) if i else None,
            "t": NOW - timedelta(hours=i),
        }
        for i in range(count)
    )
    return mem


def flush(path: Path) -> None:
    file = os.open(path, os.O_RDWR)
    os.fsync(file)
    os.close(file)


def write_bytes(path: Path, size: int) -> None:
    piece = os.urandom(1 << 20)
    with open(path, "wb", buffering=0) as file:
        for start in range(0, size, len(piece)):
            file.write(piece[: size - start])
    flush(path)


def insert_rows(path: Path, count: int) -> None:
    blob = os.urandom(8 * DIM)
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("page_size = 32768", "journal_mode = OFF", "synchronous = OFF"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(
        "CREATE TABLE records (pos INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT, t TEXT, meta TEXT, point BLOB, "
        "embedding BLOB)"
    )
    connection.execute("BEGIN")
    text, t = "memory number 1000 about topic 10", "2026-01-01T00:00:00+00:00"
    rows = ((i, str(i), text, t, "{}", blob, blob) for i in range(count))
    connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.execute("COMMIT")
    connection.close()
    flush(path)


def taken(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--folder", default=None, help="on the disk that is to be measured")
    asked = parser.parse_args()
    mem = filled(asked.count)
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        saved, other = Path(folder) / "saved.db", Path(folder) / "other"
        mem.save(saved)
        size = saved.stat().st_size
        works: dict[str, Callable[[], object]] = {
            "bytes written and flushed": lambda: write_bytes(other, size),
            "SQLite alone": lambda: insert_rows(other, asked.count),
            "`save`": lambda: mem.save(saved),
            "`load`": lambda: Memory.load(saved),
        }
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(ROUNDS):
            for name, work in works.items():
                times[name].append(taken(work))
                other.unlink(missing_ok=True)
    print(f"{asked.count:,} memories, {size / 1e6:.0f} MB\n\n| | ms |\n|---|---|")
    for name, measured in times.items():
        print(f"| {name} | {statistics.median(measured):.0f} |")


if __name__ == "__main__":
    main()
