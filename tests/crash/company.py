"""Children that share one live store: writers that never lose a write, readers that see every commit in order."""

from __future__ import annotations

import time
import traceback
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

from crash.workload import open_memory


def writer(path: str, name: str, start: Barrier, seconds: float, told: Connection) -> None:
    """Add numbered memories, and count in one that all writers share; tells how many of each."""
    try:
        told.send(_write(path, name, start, seconds))
    except BaseException:
        told.send(traceback.format_exc())


def _write(path: str, name: str, start: Barrier, seconds: float) -> dict[str, Any]:
    added = counted = 0
    slowest = 0.0
    with open_memory(path) as memory:
        start.wait()
        end = time.monotonic() + seconds
        while time.monotonic() < end or not (added and counted):
            began = time.monotonic()
            memory.add(f"note {added} of {name}", id=f"{name}-{added}", parent="shared")
            added += 1
            slowest = max(slowest, time.monotonic() - began)
            with memory.transaction():
                total = memory.get("shared").meta["total"]
                memory.update("shared", meta={"total": total + 1, "by": name})
            counted += 1
            if added % 5 == 0:
                memory.update(f"{name}-{added - 1}", text=f"changed note {added - 1} of {name}")
            if added % 7 == 0:
                memory.remove(f"{name}-{added - 3}")
    return {"added": added, "counted": counted, "slowest": slowest}


def reader(path: str, names: list[str], start: Barrier, seconds: float, told: Connection) -> None:
    """Look again and again; tells how often, or what was wrong."""
    try:
        told.send(_read(path, names, start, seconds))
    except BaseException:
        told.send(traceback.format_exc())


def _read(path: str, names: list[str], start: Barrier, seconds: float) -> dict[str, Any]:
    looks, total, changes = 0, 0, 0
    last = dict.fromkeys(names, -1)
    with open_memory(path) as memory:
        start.wait()
        end = time.monotonic() + seconds
        while time.monotonic() < end or not looks:
            known = memory.ids
            for name in names:
                numbers = [int(id.split("-")[1]) for id in known if id.startswith(f"{name}-")]
                newest = max(numbers, default=-1)
                assert numbers == sorted(numbers), "in the order of writing"
                assert newest >= last[name], "never back"
                missing = set(range(newest + 1)) - set(numbers)
                assert all((number + 3) % 7 == 0 for number in missing), "only what was removed is missing"
                changes += newest > last[name]
                last[name] = newest
            now = memory.get("shared").meta["total"]
            assert now >= total, "a count never goes back"
            total = now
            for hit in memory.search("note", k=5):
                assert hit.text in (hit.record.text, "shared") or hit.id not in memory
            looks += 1
        return {"looks": looks, "changes": changes, "total": total}
