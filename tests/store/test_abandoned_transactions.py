"""A thread that ends inside a transaction without leaving it: none of its edits happen, and the others go on."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from poincare_memory import Memory
from poincare_memory.store.changes import Transaction
from store.snapshots import everything
from store.table_embedder import CheapEmbedder

PATIENCE = 30.0


@pytest.fixture(params=["memory", "live"])
def mem(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "memory":
        yield Memory(CheapEmbedder())
    else:
        with Memory.open(tmp_path / "m.db", embedder=CheapEmbedder()) as opened:
            yield opened


def left_behind(mem: Memory, edits: Callable[[], Any], depth: int = 1) -> list[Any]:
    """What keeps a block open whose thread has ended."""
    blocks = [mem.transaction() for _ in range(depth)]

    def work() -> None:
        for block in blocks:
            block.__enter__()
        edits()

    run(work)
    return blocks


def run(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "stuck"


def edit(mem: Memory) -> None:
    mem.add("half", id="half", parent="root")
    mem.update("root", text="another", meta={"n": 2})
    mem.remove("leaf")
    mem.inherit = 0.75


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize(
    "act",
    [
        lambda mem: mem.add("next", id="next"),
        lambda mem: mem.search("next", touch=False),
        lambda mem: mem.ids,
        lambda mem: mem.update("leaf", meta={"k": 1}),
        lambda mem: mem.compact(),
        lambda mem: mem.transaction().__enter__(),
    ],
    ids=["add", "search", "ids", "update", "compact", "transaction"],
)
def test_others_go_on(
    mem: Memory, act: Callable[[Memory], Any], depth: int, caplog: pytest.LogCaptureFixture
) -> None:
    mem.add("root", id="root")
    mem.add("leaf", id="leaf", parent="root")
    before = everything(mem)
    blocks = left_behind(mem, lambda: edit(mem), depth)
    with caplog.at_level(logging.WARNING, "poincare_memory"):
        run(lambda: act(mem))
        assert "next" in mem or everything(mem) == before or mem.get("leaf").meta == {"k": 1}
    assert "ended inside a transaction" in caplog.text
    assert "half" not in mem
    assert "leaf" in mem
    assert mem.inherit == 0.25
    for block in reversed(blocks):  # whoever closes what held it, changes nothing
        with mem.transaction():
            mem.add("mine", id="mine")
            block.__exit__(None, None, None)
            mem.remove("mine")
    run(lambda: mem.add("later", id="later"))
    assert "later" in mem


def test_a_generator_that_nobody_closes(mem: Memory) -> None:
    @contextmanager
    def grouped() -> Iterator[None]:
        with mem.transaction():
            yield

    kept = []

    def work() -> None:
        group = grouped()
        kept.append(group)
        group.__enter__()
        mem.add("half")

    run(work)
    run(lambda: mem.add("whole"))
    kept.clear()
    assert [record.text for record in mem] == ["whole"]


def test_a_later_thread_is_not_taken_for_the_one_that_ended(mem: Memory) -> None:
    """Threads are given the identity of one that ended; its transaction is not theirs."""
    left_behind(mem, lambda: mem.add("half"))
    for i in range(5):
        run(lambda i=i: mem.add(str(i)))
    assert [record.text for record in mem] == list("01234")


def test_many_who_wait_go_on(mem: Memory) -> None:
    left_behind(mem, lambda: mem.add("half"))
    works = [lambda i=i: mem.add(str(i)) for i in range(4)] + [lambda: mem.search("0") for _ in range(4)]
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "stuck"
    assert sorted(record.text for record in mem) == list("0123")


def test_one_of_a_thread_that_runs_is_waited_for() -> None:
    mem, entered, leave = Memory(CheapEmbedder()), threading.Event(), threading.Event()

    def work() -> None:
        with mem.transaction():
            mem.add("first")
            entered.set()
            leave.wait(PATIENCE)

    slow = threading.Thread(target=work, daemon=True)
    slow.start()
    assert entered.wait(PATIENCE)
    second = threading.Thread(target=lambda: mem.add("second"), daemon=True)
    second.start()
    second.join(1.0)
    assert second.is_alive()
    leave.set()
    slow.join(PATIENCE)
    second.join(PATIENCE)
    assert [record.text for record in mem] == ["first", "second"]


def test_closing(tmp_path: Path) -> None:
    mem = Memory.open(tmp_path / "m.db", embedder=CheapEmbedder())
    mem.add("kept")
    left_behind(mem, lambda: mem.add("half"))
    run(mem.close)
    with Memory.open(tmp_path / "m.db", embedder=CheapEmbedder()) as again:
        assert [record.text for record in again] == ["kept"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_forking(mem: Memory) -> None:
    left_behind(mem, lambda: mem.add("half"))
    child = os.fork()
    if child == 0:
        mem.add("of the child")
        os._exit(len(mem) - 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    mem.add("of the parent")
    assert "half" not in [record.text for record in mem]


def test_a_block_is_entered_once() -> None:
    mem = Memory(CheapEmbedder())
    block = mem.transaction()
    assert isinstance(block, Transaction)
    with block:
        mem.add("a")
        with pytest.raises(RuntimeError, match="begun already"):
            block.__enter__()
    with block:  # one after another is no harm
        mem.add("b")
    assert len(mem) == 2
    run(lambda: mem.add("c"))
