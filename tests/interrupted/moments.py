"""Ctrl-C at random moments of long public operations: how long it takes to arrive, and what is left afterwards.

Run by `test_moments` in a process of its own: ``moments.py MEMORIES SEED`` prints a line of JSON an operation.
"""

from __future__ import annotations

import copy
import json
import math
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from poincare_memory import HashingEmbedder, Memory, PoincareBall, fit_poincare_embeddings
from poincare_memory.hierarchy import closure_of_dag, tree_of_dag
from poincare_memory.viz import render_html, to_dict, to_graphml, to_mermaid

MOMENTS = 3
TRIES = 4  # at each moment; the machine may be busy with something else
SECONDS = 0.2


@dataclass
class Operation:
    """What is interrupted: `work` on what `prepare` makes, of which `told` says what there is to compare."""

    name: str
    work: Callable[[Any], Any]
    told: Callable[[Any], Any] = len
    prepare: Callable[[], Any] = list


class Alarm:
    """Sends SIGINT at a moment of an operation, and tells when the exception has come out of it."""

    def __init__(self) -> None:
        self._waiting = False
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, *_: object) -> None:
        if self._waiting:
            signal.raise_signal(signal.SIGINT)

    def seconds(self, work: Callable[[], Any], after: float) -> float:
        """From the signal to the exception; 0 where the work was done first."""
        due = time.monotonic() + after
        try:
            self._waiting = True
            signal.setitimer(signal.ITIMER_REAL, after)
            work()
            self._waiting = False
        except KeyboardInterrupt:
            return time.monotonic() - due
        finally:
            self._waiting = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        return 0.0


def filled(count: int) -> Memory:
    mem = Memory(embedder=HashingEmbedder(dim=16))
    mem.add_many(
        {
            "text": f"memory {i} of some",
            "id": str(i),
            "parent": str(i // 8) if i else None,
            "meta": {"i": i, "tags": ["a", "b"]},
        }
        for i in range(count)
    )
    return mem


def readings(mem: Memory, folder: Path) -> Iterator[Operation]:
    """What changes no memory; a file is the one before or the new one, which are the same."""
    queries = [f"query {i}" for i in range(1_000)]
    text = mem.to_json()
    store = str(folder / "a.db")
    mem.save(store)

    def hits(_: Any) -> list[Any]:
        return [(hit.id, hit.score) for hit in mem.search("memory 7", k=5, touch=False)]

    works: dict[str, Callable[[Any], Any]] = {
        "table": lambda _: mem.table(),
        "tree": lambda _: mem.tree(),
        "to_dict": lambda _: to_dict(mem),
        "render_html": lambda _: render_html(mem),
        "to_graphml": lambda _: to_graphml(mem),
        "to_mermaid": lambda _: to_mermaid(mem, limit=len(mem)),
        "to_json": lambda _: mem.to_json(),
        "to_json, indented": lambda _: mem.to_json(indent=1),
        "from_json": lambda _: Memory.from_json(text, embedder=mem.embedder),
        "load": lambda _: Memory.load(store, embedder=mem.embedder),
        "search_many": lambda _: mem.search_many(queries, touch=False),
        "copy": lambda _: copy.copy(mem),
        "_repr_html_": lambda _: mem._repr_html_(),
    }
    for name, work in works.items():
        yield Operation(name, work, hits)
    yield Operation(
        "save", lambda _: mem.save(store), lambda _: Memory.load(store, embedder=mem.embedder).ids
    )


def exchanges(mem: Memory, folder: Path) -> Iterator[Operation]:
    for suffix in (".jsonl", ".csv", ".md"):
        path = folder / f"a{suffix}"
        mem.export_file(path)

        def export(_: Any, path: Path = path) -> None:
            mem.export_file(path)

        def read(_: Any, path: Path = path) -> bytes:
            return path.read_bytes()

        def fill(other: Memory, path: Path = path) -> None:
            other.import_file(path)

        yield Operation(f"export {suffix}", export, read)
        yield Operation(f"import {suffix}", fill, count_and_top, lambda: Memory(embedder=mem.embedder))


def changes(mem: Memory) -> Iterator[Operation]:
    def copied() -> Memory:
        return copy.copy(mem)

    more = [{"text": f"more {i}", "parent": str(i % 100)} for i in range(len(mem))]
    yield Operation("add_many", lambda twin: twin.add_many(more), count_and_top, copied)
    yield Operation("remove", lambda twin: twin.remove("1", cascade=True), count_and_top, copied)
    yield Operation("link", lambda twin: twin.link("1", "2"), lambda twin: twin.parent("1"), copied)
    yield Operation("compact", lambda twin: twin.compact(), count_and_top, copied)
    yield Operation("build_index", lambda twin: twin.build_index(backend="hnsw"), count_and_top, copied)


def count_and_top(mem: Memory) -> tuple[int, list[str], list[str]]:
    found = mem.search("memory 7", k=len(mem), touch=False) if len(mem) else []
    assert sorted(hit.id for hit in found) == sorted(mem.ids)
    return len(mem), mem.roots()[:3], [hit.text for hit in found[:3]]


def computations() -> Iterator[Operation]:
    ball = PoincareBall()
    draw = np.random.default_rng(0)
    points = draw.uniform(-0.05, 0.05, (300_000, 64))
    across = np.asfortranarray(points)
    halves, whole = points.astype(np.float16), np.zeros(points.shape, np.int32)
    edges = [(i // 2, i) for i in range(1, 50_000)] + [(i // 3, i) for i in range(3, 50_000)]
    pairs = [(i // 10, i) for i in range(1, 10_000)]
    works: dict[str, Callable[[Any], Any]] = {
        "project": lambda _: ball.project(points),
        "distances of columns": lambda _: ball.distance(across, across[0]),
        "expmap of columns": lambda _: ball.expmap(across, points),
        "project float16": lambda _: ball.project(halves),
        "logmap of integers": lambda _: ball.logmap0(whole),
        "closure_of_dag": lambda _: closure_of_dag(edges),
        "tree_of_dag": lambda _: tree_of_dag(edges),
        "hard negatives": lambda _: fit_poincare_embeddings(pairs, epochs=1, hard_negatives=1),
    }
    for name, work in works.items():
        yield Operation(name, work)


def worst(operation: Operation, alarm: Alarm, draw: random.Random) -> float:
    """The longest time to an exception, of the shortest of a few tries at each moment."""
    state = operation.prepare()
    before = operation.told(state)
    begun = time.monotonic()
    operation.work(state)
    duration = time.monotonic() - begun
    after = operation.told(state)
    longest = 0.0
    for _ in range(MOMENTS):
        moment, shortest = max(1e-4, draw.uniform(0, duration)), math.inf
        for _ in range(TRIES):
            state = operation.prepare()
            shortest = min(shortest, alarm.seconds(partial(operation.work, state), moment))
            assert operation.told(state) in (before, after), operation.name
            if shortest <= SECONDS:
                break
        longest = max(longest, shortest)
    return longest


def main(count: int, seed: int) -> None:
    alarm, draw = Alarm(), random.Random(seed)
    mem = filled(count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for operations in (readings(mem, folder), exchanges(mem, folder), changes(mem), computations()):
            for operation in operations:
                sys.stdout.write(json.dumps([operation.name, worst(operation, alarm, draw)]) + "\n")
        assert not [path for path in folder.iterdir() if "tmp" in path.name]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
