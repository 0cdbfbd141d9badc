"""While much is built, no cycles are collected; afterwards they are as before."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from collections.abc import Iterator

import pytest

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.collector import CollectorPaused


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    gc.enable()
    assert CollectorPaused._inside == 0


def test_contexts_within_each_other() -> None:
    with CollectorPaused():
        with CollectorPaused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off() -> None:
    gc.disable()
    with CollectorPaused():
        pass
    assert not gc.isenabled()


def test_an_error_ends_it() -> None:
    with pytest.raises(RuntimeError), CollectorPaused():
        raise RuntimeError
    assert gc.isenabled()


def test_threads_end_with_the_last() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with CollectorPaused():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with CollectorPaused():
        thread.start()
        assert inside.wait(10)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_an_interrupt_on_the_way_in(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gc.disable

    def interrupted() -> None:
        whole()
        raise KeyboardInterrupt

    monkeypatch.setattr(gc, "disable", interrupted)
    with pytest.raises(KeyboardInterrupt), CollectorPaused():
        pass
    assert gc.isenabled()


def test_what_an_interrupt_left_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gc.enable
    left: list[bool] = []

    class Row:
        pass

    made: list[weakref.ref[Row]] = []

    def build() -> None:
        row = Row()
        made.append(weakref.ref(row))
        raise KeyboardInterrupt

    def enable() -> None:
        left.append(made[0]() is not None)
        whole()

    monkeypatch.setattr(gc, "enable", enable)
    with pytest.raises(KeyboardInterrupt), CollectorPaused():
        build()
    assert left == [False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_collects() -> None:
    with CollectorPaused():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() and CollectorPaused._inside == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_tables_and_files_are_built_without_collections() -> None:
    mem = Memory(HashingEmbedder(dim=8))
    mem.add_many({"text": f"note {i}", "meta": {"tags": ["a", "b"]}} for i in range(20_000))
    collections: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            collections.append(sys._getframe(1).f_code.co_name)

    gc.callbacks.append(note)
    try:
        gc.collect()
        collections.clear()
        mem.table()
    finally:
        gc.callbacks.remove(note)
    assert not collections
