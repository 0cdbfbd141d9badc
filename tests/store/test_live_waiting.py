"""Accesses and metadata changed in place: what a live store writes later."""

from __future__ import annotations

import gc
import logging
import time

import pytest

from poincare_memory import Memory
from store.live_memories import filled, opened
from store.table_embedder import CheapEmbedder


@pytest.mark.parametrize(
    "call",
    [
        lambda mem: mem.add("one"),
        lambda mem: mem.search("leg", k=1, touch=False),
        lambda mem: mem.get("arm"),
        lambda mem: len(mem),
        lambda mem: mem.close(),
    ],
)
def test_metadata_changed_in_place_is_written_at_the_next_call(tmp_path, call):
    mem, other = filled(opened(tmp_path / "m.db")), opened(tmp_path / "m.db")
    mem.get("leg").meta["side"] = ["left"]  # held by nobody afterwards
    len(mem)
    assert other.get("leg").meta == {"side": ["left"]}
    held = mem.get("leg").meta
    held["side"].append("right")  # deep inside, after it was written once
    call(mem)
    assert other.get("leg").meta == {"side": ["left", "right"]}
    assert Memory.load(tmp_path / "m.db", embedder=CheapEmbedder()).get("leg").meta == held
    mem.close()
    other.close()


def test_reading_metadata_writes_nothing(tmp_path):
    mem = filled(opened(tmp_path / "m.db"))
    mem.get("leg").meta["x"] = 1
    len(mem)
    statements: list[str] = []
    mem._store.columns.file._connections.writer.set_trace_callback(statements.append)
    held = [record.meta for record in mem]
    assert [len(mem), held[0]] == [5, {"n": 1}]
    mem.search("leg", k=2, touch=False)
    assert statements == []
    mem.close()


def test_metadata_changed_by_two(tmp_path):
    """Who wrote first, wins; what the other process did to the rest of a memory is no reason to lose it."""
    mem, other = filled(opened(tmp_path / "m.db")), opened(tmp_path / "m.db")
    held = mem.get("body").meta
    held["here"] = True
    other.update("body", text="whole body")
    assert len(mem) == 5
    assert (mem.get("body").text, mem.get("body").meta) == ("whole body", {"n": 1, "here": True})
    assert other.get("body").meta == {"n": 1, "here": True}
    held["here"] = False
    other.update("body", meta={"n": 2})
    assert mem.get("body").meta == other.get("body").meta == {"n": 2}
    mem.add("one")
    assert mem.get("body").meta == other.get("body").meta == {"n": 2}
    mem.close()
    other.close()


def test_what_waits_is_written_later_while_another_process_writes(tmp_path):
    mem, other = filled(opened(tmp_path / "m.db", busy_timeout=600)), opened(tmp_path / "m.db")
    with other.transaction():
        mem.get("leg").meta["x"] = 1
        assert len(mem) == 5  # does not wait for the turn
    deadline = time.monotonic() + 30
    while other.get("leg").meta != {"x": 1} and time.monotonic() < deadline:
        len(mem)
    assert other.get("leg").meta == {"x": 1}
    mem.close()
    other.close()


def test_metadata_that_cannot_be_written_stops_no_search_but_every_edit(tmp_path, caplog):
    mem = filled(opened(tmp_path / "m.db"))
    mem.get("leg").meta["bad"] = {1, 2}
    with caplog.at_level(logging.WARNING, "poincare_memory"):
        assert mem.search("leg", k=1, touch=False)[0].id == "leg"
        assert len(mem) == 5
    assert len(caplog.records) == 1
    assert "'leg'" in caplog.text
    for edit in (
        lambda: mem.add("more"),
        lambda: mem.link("leg", None),
        lambda: setattr(mem, "inherit", 0.5),
    ):
        with pytest.raises(TypeError, match=r"'leg'.*bad"):
            edit()
    assert mem.parent("leg") == "body"
    mem.get("leg").meta["bad"] = 3
    mem.close()
    with opened(tmp_path / "m.db") as again:
        assert (again.get("leg").meta, again.inherit, len(again)) == ({"bad": 3}, 0.25, 5)


def test_metadata_that_was_replaced_is_not_written_over_what_replaced_it(tmp_path):
    path = tmp_path / "live.db"
    with Memory.open(path) as memory, Memory.open(path) as other:
        memory.add("note", id="a", meta={"n": 0})
        for n, each in enumerate((memory, memory, other, memory, other)):
            with each.transaction():
                seen = each.get("a").meta
                assert seen == {"n": n}
                each.update("a", meta={"n": n + 1})
            seen["n"] = -1  # nobody's any more
            assert Memory.load(path).get("a").meta == {"n": n + 1}
            each.add(f"another {n}")
            assert Memory.load(path).get("a").meta == {"n": n + 1}


def test_metadata_that_nobody_holds_is_not_kept_track_of(tmp_path):
    mem = filled(opened(tmp_path / "m.db"))
    held = mem.get("leg").meta
    assert mem.get("arm").meta == {}
    mem.add("one")
    file = mem._store.columns.file
    assert [meta is held for meta, _ in file.waiting._metas.values()] == [True]
    mem.close()


def test_accesses_add_up(tmp_path):
    a, b = filled(opened(tmp_path / "m.db")), opened(tmp_path / "m.db")
    for _ in range(3):
        a.search("leg", k=5)
        b.search("leg", k=2, mode="subtree", root="body")
    a.add("flush a")
    b.add("flush b")
    assert {row["id"]: row["accesses"] for row in a.table()} == {
        row["id"]: row["accesses"] for row in b.table()
    }
    assert a.stats()["accesses"] == 3 * 5 + 3 * 2
    a.search("leg", k=1)
    a.close()
    assert b.stats()["accesses"] == 3 * 5 + 3 * 2 + 1
    b.close()


def test_accesses_are_written_when_there_are_many(tmp_path, monkeypatch):
    monkeypatch.setattr("poincare_memory.store.waiting.FLUSH_AFTER_MEMORIES", 4)
    mem = filled(opened(tmp_path / "m.db", busy_timeout=600))
    other = opened(tmp_path / "m.db")
    mem.search("leg", k=3)
    assert other.stats()["accesses"] == 0
    mem.search("leg", k=5)
    assert other.stats()["accesses"] == 8
    with other.transaction():  # no turn to write now: the search does not wait
        mem.search("leg", k=5)
    mem.close()
    assert other.stats()["accesses"] == 13
    other.close()


def test_what_waits_is_written_when_a_memory_is_dropped(tmp_path):
    mem = filled(opened(tmp_path / "m.db"))
    mem.search("leg", k=5)
    mem.get("leg").meta["x"] = 1
    file = mem._store.columns.file
    del mem
    gc.collect()
    assert file.closed
    with opened(tmp_path / "m.db") as again:
        assert again.stats()["accesses"] == 5
        assert again.get("leg").meta == {"x": 1}


def test_what_one_memory_cannot_write_loses_nothing_of_the_others(tmp_path, caplog):
    """A memory that nobody closes has nobody to tell what is wrong: it writes the rest."""
    mem = filled(opened(tmp_path / "m.db"))
    held = [mem.get(id).meta for id in ("leg", "body")]
    held[0]["when"] = object()
    held[1]["seen"] = True
    with caplog.at_level(logging.WARNING, "poincare_memory"):
        del mem, held
        gc.collect()
    assert "not written: memory 'leg': meta['when'] is a object" in caplog.text
    with opened(tmp_path / "m.db") as again:
        assert again.get("body").meta == {"n": 1, "seen": True}
        assert "when" not in again.get("leg").meta
