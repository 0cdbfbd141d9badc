"""One memory, many threads and processes."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from poincare_memory import Memory
from store.table_embedder import CheapEmbedder
from store.test_lock import forked, forking, threads_and_fork


@pytest.fixture
def busy_interpreter() -> Iterator[None]:
    """Threads that switch as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


READS: dict[str, Callable[[Memory], Any]] = {
    "table": lambda mem: mem.table(),
    "stats": lambda mem: mem.stats(),
    "points": lambda mem: mem.points,
    "tree": lambda mem: mem.tree(),
    "records": lambda mem: [(r.id, r.text, r.parent_id, r.t, r.meta) for r in mem],
    "siblings": lambda mem: mem.siblings("1"),
    "descendants": lambda mem: mem.descendants("0"),
    "search": lambda mem: mem.search("n 5", filters={"kind": "x"}),
    "cone": lambda mem: mem.search(None, mode="cone", root="0"),
}


@pytest.mark.usefixtures("busy_interpreter")
@pytest.mark.parametrize("read", READS)
def test_reads_under_edits(read: str) -> None:
    mem = Memory(CheapEmbedder())
    mem.add_many(
        {"text": f"n {i}", "id": str(i), "parent": str(i % 10) if i > 9 else None, "meta": {"kind": "x"}}
        for i in range(60)
    )
    errors: list[BaseException] = []
    stop = threading.Event()

    def guarded(work: Callable[[int], Any]) -> Callable[[], None]:
        def run() -> None:
            turn = 0
            while not stop.is_set():
                try:
                    work(turn)
                except BaseException as error:
                    errors.append(error)
                    return
                turn += 1

        return run

    def edit(turn: int) -> None:
        a = mem.add(f"x {turn}", parent="0", meta={"kind": "x"})
        b = mem.add(f"y {turn}", parent=a)
        mem.link(b, "1")
        mem.update(a, text=f"z {turn}", meta={"kind": "y"})
        mem.remove(a)
        mem.remove(b)

    works = [guarded(edit), guarded(edit), *[guarded(lambda turn: READS[read](mem))] * 2]
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    time.sleep(0.25)
    stop.set()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert mem.ids == [str(i) for i in range(60)]


@pytest.mark.usefixtures("busy_interpreter")
def test_no_edit_of_many_threads_is_lost() -> None:
    mem = Memory(CheapEmbedder())
    mem.add("root", id="root")

    def work(name: int) -> None:
        for i in range(60):
            mem.add_many([{"text": "a", "id": f"{name}-{i}", "parent": "root"}, {"text": "b"}])
            if i % 3 == 0:
                mem.remove(f"{name}-{i}")

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(mem) == 1 + 4 * (120 - 20)
    assert len(set(mem.ids)) == len(mem)
    assert sorted(mem.children("root")) == sorted(f"{n}-{i}" for n in range(4) for i in range(60) if i % 3)


class Slow(CheapEmbedder):
    """Takes its time over one text."""

    def __init__(self) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Any:
        if texts[0] == "slow":
            self.entered.set()
            assert self.leave.wait(20)
        return super().embed(texts)


def test_a_slow_embedder_blocks_nobody() -> None:
    embedder = Slow()
    mem = Memory(embedder)
    mem.add("a", id="a")
    thread = threading.Thread(target=lambda: mem.add("slow", id="s"))
    thread.start()
    assert embedder.entered.wait(10)
    assert [hit.id for hit in mem.search("a")] == ["a"]
    mem.add("b", id="b")
    mem.update("a", meta={"x": 1})
    embedder.leave.set()
    thread.join(10)
    assert mem.ids == ["a", "b", "s"]


@forking
@threads_and_fork
def test_a_child_uses_what_it_inherits_while_a_thread_adds() -> None:
    embedder = Slow()
    mem = Memory(embedder)
    mem.add("a", id="a")
    thread = threading.Thread(target=lambda: mem.add("slow"))
    thread.start()
    assert embedder.entered.wait(10)

    def use() -> None:
        assert [hit.id for hit in mem.search("a")] == ["a"]
        mem.add("b", id="b", parent="a")
        mem.remove("a", cascade=True)
        os._exit(0 if len(mem) == 0 else 1)

    assert forked(use) == 0
    embedder.leave.set()
    thread.join(10)
    assert len(mem) == 2


def test_embedder_clock_filter_and_policy_may_use_the_memory() -> None:
    seen: list[int] = []

    class Policy:
        def weight(self, now: Any, times: list[Any], *rest: Any) -> Any:
            seen.append(len(mem))
            return np.ones(len(times))

    class Nosy(CheapEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            seen.append(len(mem.ids))
            return super().embed(texts)

    def clock() -> Any:
        from datetime import datetime

        seen.append(len(mem.table(at_time=datetime(2026, 1, 1))))
        return datetime(2026, 1, 1)

    mem = Memory(Nosy(), decay=Policy(), clock=clock)
    mem.add("a", id="a")
    mem.search("a", filters=lambda record: bool(mem.get(record.id).text and mem.add("noticed")))
    assert len(mem) == 2
    assert seen


@pytest.mark.usefixtures("busy_interpreter")
@pytest.mark.parametrize("read", ["stats", "table", "inspect"])
def test_a_users_policy_sees_only_memories_that_were_there(read: str) -> None:
    """A memory removed between the look at the rows and the weighing has no time any more."""
    bad: list[Any] = []

    class Policy:
        def weight(self, now: Any, times: list[Any], *rest: Any) -> Any:
            bad.extend(t for t in times if t is None)
            return np.ones(len(times))

    mem = Memory(CheapEmbedder(), decay=Policy())
    mem.add_many({"text": f"n {i}", "id": str(i)} for i in range(50))
    stop = threading.Event()

    def edit() -> None:
        while not stop.is_set():
            mem.remove(mem.add("x"))

    thread = threading.Thread(target=edit)
    thread.start()
    for _ in range(30):
        getattr(mem, read)()
    stop.set()
    thread.join(10)
    assert bad == []
