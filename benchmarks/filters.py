"""What a filter costs, alone: the first of its kind, and once the keys have columns.

    python benchmarks/filters.py [--count 100000]

Processor time between what competes and what passes, on one thread; the first time a filter is asked, and the least
of five later ones, for a key has a column from its second filter on. Prints the tables of docs/guides/retrieval.md.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.store.candidates import apply_metadata_filter, competing
from poincare_memory.store.requests import checked_request

ON_META: list[dict[str, Any]] = [
    {"kind": "event"},
    {"n": {"$gte": 90_000}},
    {"user.id": 7},
    {"kind": {"$in": ["tip", "place"]}},
    {"tags": {"$contains": "a"}},
    {"kind": "event", "n": {"$gte": 50_000, "$lt": 60_000}},
]
ON_RECORDS: list[dict[str, Any]] = [
    {"id": "m77"},
    {"id": {"$ne": "m1"}},
    {"parent": "r7"},
    {"text": {"$contains": "topic 13"}},
    {"id": {"$gte": "m5"}},
]
KINDS = ("event", "tip", "place", "person")


def memory_of(count: int) -> Memory:
    mem = Memory(HashingEmbedder(16))
    mem.add_many({"text": f"root {i}", "id": f"r{i}"} for i in range(100))
    mem.add_many(
        {
            "text": f"Memory number {i} about topic {i % 997}",
            "id": f"m{i}",
            "parent": f"r{i % 100}",
            "meta": {"kind": KINDS[i % 4], "n": i, "user": {"id": i % 50}, "tags": ["a", "b"][: i % 3]},
        }
        for i in range(count)
    )
    return mem


def milliseconds(mem: Memory, condition: dict[str, Any]) -> float:
    request = checked_request(mem._store, filters=condition)
    candidates = competing(mem._store, request)
    start = time.thread_time()
    apply_metadata_filter(mem._store.columns, request, candidates)
    return 1000 * (time.thread_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000)
    count = parser.parse_args().count
    print("| filter | without column | with column |\n|---|---|---|")
    for condition in ON_META:
        mem = memory_of(count)
        first = milliseconds(mem, condition)
        later = min(milliseconds(mem, condition) for _ in range(5))
        print(f"| `{condition}` | {first:.1f} ms | {later:.2f} ms |", flush=True)
    print("\n| filter | of the record |\n|---|---|")
    mem = memory_of(count)
    for condition in ON_RECORDS:
        milliseconds(mem, condition)
        print(f"| `{condition}` | {min(milliseconds(mem, condition) for _ in range(5)):.2f} ms |", flush=True)


if __name__ == "__main__":
    main()
