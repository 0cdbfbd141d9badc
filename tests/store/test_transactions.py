"""Transactions: what they group happens whole, or leaves no trace."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import HalfLife, Memory
from store.snapshots import everything
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
NAMES = [f"n{i}" for i in range(10)]
TEXTS = ("a", "b", "c d", "é", "!!!")


class ChangeOfMind(Exception):
    pass


def step(mem: Memory, draw: Any) -> None:
    """One random edit that is allowed, or none."""
    known = mem.ids
    name = draw(st.sampled_from(NAMES))
    text = draw(st.sampled_from(TEXTS))
    other = draw(st.sampled_from([None, *known]))
    kind = draw(
        st.sampled_from(("add", "add_many", "update", "link", "remove", "record", "touch", "setting"))
    )
    if kind == "add" and name not in known:
        mem.add(text, id=name, parent=other)
    elif kind == "add_many":
        mem.add_many([{"text": text, "parent": other}, {"text": text}])
    elif kind == "setting":
        mem.inherit = draw(st.sampled_from((0.0, 0.25, 0.75)))
        mem.decay = HalfLife(draw(st.integers(1, 9)))
    elif kind == "touch":
        mem.search(text, k=3)
    elif not known:
        return
    elif kind == "update":
        mem.update(draw(st.sampled_from(known)), text=text, meta={"text": text}, valid_until=NOW)
    elif kind == "link":
        child = draw(st.sampled_from(known))
        if other != child and child not in (mem.ancestors(other) if other else []):
            mem.link(child, other)
    elif kind == "remove":
        mem.remove(draw(st.sampled_from(known)), cascade=True)
    else:
        record = mem.get(draw(st.sampled_from(known)))
        record.t = NOW - timedelta(hours=draw(st.integers(0, 9)))
        record.meta["seen"] = [text]
        record.access_count = draw(st.integers(0, 9))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_block_that_raises_leaves_no_trace(data: st.DataObject) -> None:
    mem = Memory(CheapEmbedder(), clock=lambda: NOW)
    for _ in range(data.draw(st.integers(0, 6))):
        step(mem, data.draw)
    records = list(mem)
    before, seen = everything(mem), [repr(record) for record in records]
    known = (mem.inherit, mem.decay)
    with pytest.raises(ChangeOfMind), mem.transaction():  # noqa: PT012
        for _ in range(data.draw(st.integers(1, 8))):
            step(mem, data.draw)
        raise ChangeOfMind
    assert everything(mem) == before
    assert [repr(record) for record in records] == seen
    assert (mem.inherit, mem.decay) == known
    # And it goes on as if nothing had been.
    mem.add("later", id="later", parent=mem.ids[0] if mem.ids else None)
    assert mem.search("later", k=1)[0].id == "later"
    assert mem.ids[-1] == "later"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_inner_block_takes_back_its_own_part_only(data: st.DataObject) -> None:
    mem = Memory(CheapEmbedder(), clock=lambda: NOW)
    with mem.transaction():
        for _ in range(data.draw(st.integers(0, 5))):
            step(mem, data.draw)
        before = everything(mem)
        with pytest.raises(ChangeOfMind), mem.transaction():  # noqa: PT012
            for _ in range(data.draw(st.integers(1, 5))):
                step(mem, data.draw)
            raise ChangeOfMind
        assert everything(mem) == before
    assert everything(mem) == before


def test_an_index_follows_what_was_taken_back() -> None:
    rng = np.random.default_rng(0)
    mem = Memory(CheapEmbedder(), clock=lambda: NOW)
    mem.add_many({"text": f"text {i}", "id": str(i)} for i in range(5000))
    mem.build_index("hnsw")
    for _ in range(5):
        with pytest.raises(ChangeOfMind), mem.transaction():  # noqa: PT012
            for i in rng.choice(5000, 20, replace=False).tolist():
                mem.update(str(i), text=f"other {i}")
            mem.remove("0")
            mem.add("text 0", id="new")
            raise ChangeOfMind
        for i in rng.choice(5000, 20, replace=False).tolist():
            assert mem.search(f"text {i}", k=1, use_index=True)[0].distance < 1e-6
    assert "new" not in mem


def test_a_failed_edit_inside_leaves_the_others() -> None:
    mem = Memory(CheapEmbedder())
    with mem.transaction():
        mem.add("one", id="one")
        with pytest.raises(ValueError, match="duplicate"):
            mem.add_many([{"text": "two", "id": "two"}, {"text": "x", "id": "one"}])
        mem.add("three", id="three")
    assert mem.ids == ["one", "three"]


def test_others_see_all_of_it_or_nothing() -> None:
    mem = Memory(CheapEmbedder())
    seen: list[int] = []
    inside, over = threading.Event(), threading.Event()

    def look() -> None:
        inside.wait(10)
        while not over.is_set():
            seen.append(len(mem.ids))
        seen.append(len(mem.ids))

    watcher = threading.Thread(target=look)
    watcher.start()
    with mem.transaction():
        for i in range(50):
            mem.add(f"text {i}")
            inside.set()
    over.set()
    watcher.join()
    assert set(seen) <= {0, 50}
    assert seen[-1] == 50


def test_a_record_of_a_memory_that_came_back_is_live_again() -> None:
    mem = Memory(CheapEmbedder())
    mem.add("one", id="one")
    record = mem.get("one")
    with pytest.raises(ChangeOfMind), mem.transaction():  # noqa: PT012
        mem.remove("one")
        added = mem.get(mem.add("two", id="two"))
        raise ChangeOfMind
    mem.update("one", text="changed")
    assert record is mem.get("one")
    assert record.text == "changed"
    assert added.text == "two"
    added.meta = {"only": "here"}
    assert mem.ids == ["one"]
    assert mem.get("one").meta == {}


@pytest.mark.parametrize("live", [False, True])
def test_other_threads_see_nothing_before_the_end(live: bool, tmp_path: Path) -> None:
    """Neither what looks at columns, nor what only counts or looks an id up."""
    with Memory.open(tmp_path / "m.db", embedder=CheapEmbedder()) if live else Memory(CheapEmbedder()) as mem:
        mem.add("a", id="a")
        seen: list[Any] = []

        def look() -> None:
            seen.append(("b" in mem, len(mem), mem.ids, mem.children("a"), [one.id for one in mem]))

        thread = threading.Thread(target=look)
        with suppress(ChangeOfMind), mem.transaction():
            mem.add("b", id="b", parent="a")
            assert "b" in mem
            assert len(mem) == 2
            thread.start()
            thread.join(0.2)
            assert thread.is_alive()
            raise ChangeOfMind
        thread.join(10)
        assert seen == [(False, 1, ["a"], [], ["a"])]
