"""Whatever fails, and wherever: the store is as before."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import CallableEmbedder, HashingEmbedder, Memory
from poincare_memory.store import editing, placement
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
HASHING = HashingEmbedder(dim=16)


class Unreliable:
    """An embedder that can be told to misbehave."""

    dim = 16

    def __init__(self) -> None:
        self.fault: Callable[[Any], Any] = lambda vectors: vectors

    def embed(self, texts: Sequence[str]) -> Any:
        return self.fault(HASHING.embed(texts))


def down(vectors: Any) -> Any:
    raise ConnectionError("embedding service unavailable")


FAULTS = {
    "raises": down,
    "too few rows": lambda vectors: vectors[:-1],
    "wrong dimension": lambda vectors: vectors[:, :-1],
    "one axis": lambda vectors: vectors[0],
    "not finite": lambda vectors: vectors * np.nan,
    "infinite": lambda vectors: np.full_like(vectors, np.inf),
    "no numbers": lambda vectors: vectors.astype(str) + "x",
    "complex": lambda vectors: vectors * 1j,
    "None": lambda vectors: None,
}


def filled(embedder: Any) -> Memory:
    mem = Memory(embedder, clock=lambda: NOW)
    mem.add_many(
        {"text": f"note {i}", "id": str(i), "parent": str(i // 2 - 1) if i > 1 else None, "meta": {"i": [i]}}
        for i in range(12)
    )
    return mem


def state(mem: Memory) -> Any:
    columns = mem._store.columns
    live = columns.live_rows()
    return (
        mem.table(at_time=NOW),
        mem.tree(),
        mem.points.tolist(),
        columns.embeddings(live).tolist(),
        [repr(record) for record in mem],
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_embedder_faults_change_nothing(fault: str) -> None:
    embedder = Unreliable()
    mem = filled(embedder)
    before = state(mem)
    embedder.fault = FAULTS[fault]
    error = ConnectionError if fault == "raises" else ValueError
    for change in (
        lambda: mem.add("new", id="new", parent="3"),
        lambda: mem.add_many([{"text": "x", "id": "x"}, {"text": "y", "parent": "x"}]),
        lambda: mem.update("3", text="other", meta={}, t=NOW),
    ):
        with pytest.raises(error):
            change()
        assert state(mem) == before
    mem.update("3", text="note 3")  # the same text needs no embedder
    assert state(mem) == before


@pytest.mark.parametrize("clock_result", [None, "now", 1.7e9, np.datetime64("2026-01-01")])
def test_clock_faults_change_nothing(clock_result: Any) -> None:
    mem = filled(HASHING)
    before = state(mem)
    mem.clock = lambda: clock_result
    for change in (lambda: mem.add("x"), lambda: mem.add_many([{"text": "x", "t": NOW}, {"text": "y"}])):
        with pytest.raises(TypeError):
            change()
        assert state(mem) == before


@pytest.mark.parametrize("step", ["place", "_fill"])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_commit_that_breaks_is_undone(
    monkeypatch: pytest.MonkeyPatch, step: str, error: type[BaseException]
) -> None:
    mem = filled(HASHING)
    mem.remove("11")  # so that a freed row is used again
    before = state(mem)
    whole = getattr(editing, step)

    def half(*args: Any) -> None:
        whole(*args)
        raise error

    monkeypatch.setattr(editing, step, half)
    with pytest.raises(error):
        mem.add_many([{"text": "x", "id": "x", "parent": "3"}, {"text": "y", "parent": "x"}, {"text": "z"}])
    monkeypatch.undo()
    assert state(mem) == before
    assert mem.add("x", id="x", parent="3") == "x"
    assert mem.children("3") == ["8", "9", "x"]


def test_memory_that_runs_out_while_growing_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mem = filled(HASHING)
    before = state(mem)
    columns = mem._store.columns

    def exhausted(*args: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(columns.room, "grown", exhausted)
    with pytest.raises(MemoryError):
        mem.add_many({"text": f"more {i}"} for i in range(1000))
    monkeypatch.undo()
    assert state(mem) == before
    mem.add_many({"text": f"more {i}"} for i in range(1000))
    assert len(mem) == 1012


def test_what_changed_while_the_embedder_ran() -> None:
    """The embedder runs unlocked: the parent may go, the id may be taken, the memory itself may go."""
    act: list[Callable[[], Any]] = []

    def embed(texts: Sequence[str]) -> Any:
        if act:
            act.pop()()
        return HASHING.embed(texts)

    mem = filled(CallableEmbedder(embed, 16))
    act.append(lambda: mem.remove("11"))
    with pytest.raises(KeyError, match="unknown parent"):
        mem.add("child", parent="11")
    act.append(lambda: mem.add("first", id="taken"))
    with pytest.raises(ValueError, match="duplicate id"):
        mem.add("second", id="taken")
    assert mem.get("taken").text == "first"

    def replace() -> None:
        mem.remove("10")
        mem.add("another", id="10")

    act.append(lambda: None)
    act.append(replace)
    with pytest.raises(KeyError):
        mem.update("10", text="too late")
    assert mem.get("10").text == "another"


def test_a_result_in_the_place_of_an_id_is_told_apart() -> None:
    mem = filled(CheapEmbedder())
    found = mem.search("1")[0]
    for wrong in (lambda: mem.add("x", parent=found), lambda: mem.link("10", found)):
        with pytest.raises(TypeError, match=r"parent: expected the id of a memory \(str\), got SearchResult"):
            wrong()


def test_items_may_come_from_a_generator_that_uses_the_memory() -> None:
    mem = Memory(CheapEmbedder())

    def items() -> Any:
        for i in range(3):
            mem.add(f"aside {i}", id=f"aside{i}")
            yield {"text": f"item {i}", "parent": f"aside{i}"}

    mem.add_many(items())
    assert [mem.level(id) for id in mem.ids] == [0, 0, 0, 1, 1, 1]


def test_a_failing_generator_adds_nothing() -> None:
    mem = Memory(CheapEmbedder())

    def items() -> Any:
        yield {"text": "one"}
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        mem.add_many(items())
    assert len(mem) == 0


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        ({"text": "a"}, TypeError, "wrap it in a list"),
        ("text", TypeError, "iterable of dicts"),
        (None, TypeError, "iterable of dicts of add.. arguments, got NoneType"),
        (["text"], TypeError, "item 0"),
        ([{"text": "a"}, {"text": "b", "metadata": {}}], TypeError, "item 1: unknown key 'metadata'"),
        ([{"text": "a"}, {"text": 5}], ValueError, "item 1"),
        ([{"text": "a", "id": "x"}, {"text": "b", "id": "x"}], ValueError, "item 1: duplicate id 'x'"),
        ([{"text": "a", "parent": "p"}, {"text": "p", "id": "p"}], KeyError, "item 0: unknown parent id 'p'"),
        ([{"text": "a", "meta": {"v": {"w": b""}}}], TypeError, r"item 0: meta\['v'\]\['w'\]"),
        ([{"text": "\ud800"}], ValueError, "surrogate"),
        ([{"text": "a", "id": "\ud800"}], ValueError, "surrogate"),
        ([{"text": "a", "id": "  "}], ValueError, "id must be"),
        ([{"text": "a"}, {"text": "b", "parent": ["x"]}], TypeError, "item 1: parent: expected the id"),
    ],
)
def test_bad_items_say_which(items: Any, error: type[Exception], message: str) -> None:
    mem = Memory(CheapEmbedder())
    with pytest.raises(error, match=message):
        mem.add_many(items)
    assert len(mem) == 0


def test_one_call_of_the_embedder_for_a_batch() -> None:
    calls: list[int] = []

    def embed(texts: Sequence[str]) -> Any:
        calls.append(len(texts))
        return HASHING.embed(texts)

    mem = Memory(CallableEmbedder(embed, 16))
    mem.add_many({"text": f"n {i}"} for i in range(50))
    assert calls == [50]
    mem.add_many([])
    assert calls == [50]


def test_ids_made_up_differ_from_ids_given(monkeypatch: pytest.MonkeyPatch) -> None:
    mem = Memory(CheapEmbedder())
    noise = [bytes(12), bytes(6), bytes([1] * 6)]
    monkeypatch.setattr(os, "urandom", lambda n: noise.pop(0))
    ids = mem.add_many([{"text": "a"}, {"text": "b", "id": "c"}, {"text": "d"}])
    assert ids == ["0" * 12, "c", "01" * 6]


def test_a_default_id_is_12_hex_digits() -> None:
    id = Memory(CheapEmbedder()).add("x")
    assert len(id) == 12
    assert int(id, 16) >= 0


def test_a_copy_can_be_copied_and_asked_about_the_past() -> None:
    mem = Memory(HASHING)
    mem.add("green tea", id="tea")
    again = pickle.loads(pickle.dumps(copy.deepcopy(copy.deepcopy(mem))))
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    assert [hit.id for hit in again.search("tea", as_of=tomorrow)] == ["tea"]
    assert copy.deepcopy(again).ids == mem.ids


def test_deepcopy_and_pickle_are_independent() -> None:
    mem = filled(HASHING)
    mem.remove("11")
    for twin in (copy.deepcopy(mem), pickle.loads(pickle.dumps(Memory(HASHING)))):
        twin.add("only here", id="here")
        assert "here" not in mem
    twin = copy.deepcopy(mem)
    twin.get("3").meta["i"].append(4)
    assert mem.get("3").meta == {"i": [3]}
    assert state(copy.deepcopy(mem)) == state(mem)


@pytest.mark.parametrize("live", [False, True])
def test_a_shallow_copy_is_independent_too(tmp_path: Path, live: bool) -> None:
    mem = Memory.open(tmp_path / "m.db", embedder=HASHING) if live else Memory(HASHING)
    mem.add("green tea", id="tea", meta={"i": [3]})
    mem.add("tax", id="tax", parent="tea")
    mem.remove("tax")
    twin = copy.copy(mem)
    assert twin.embedder is mem.embedder
    twin.add("only here", id="here", parent="tea")
    twin.get("tea").meta["i"].append(4)
    twin.update("tea", text="black tea")
    assert (mem.ids, mem.get("tea").text, mem.get("tea").meta) == (["tea"], "green tea", {"i": [3]})
    twin.close()
    mem.add("only there", id="there")
    assert mem.search("green tea", k=1)[0].id == "tea"
    mem.close()


def test_pickle_keeps_everything() -> None:
    mem = Memory(HASHING)
    mem.add_many({"text": f"n {i}", "id": str(i), "parent": str(i - 1) if i else None} for i in range(30))
    mem.remove("20", cascade=True)
    back = pickle.loads(pickle.dumps(mem))
    assert state(back) == state(mem)
    assert back.add("again", parent="3") in back.children("3")


def test_update_window_with_the_bound_that_is_there() -> None:
    mem = Memory(CheapEmbedder())
    mem.add("x", id="x", valid_from=datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="valid_until lies before"):
        mem.update("x", valid_until=datetime(2025, 1, 1), text="y")
    assert (mem.get("x").text, mem.get("x").valid_until) == ("x", None)
    mem.update("x", valid_from=None, valid_until=datetime(2025, 1, 1))
    assert mem.get("x").valid_from is None


def test_a_move_in_memory_that_ctrl_c_ends_has_not_been(monkeypatch):
    """The signal comes in when the kernel returns: codes and indexes follow the points back."""
    embedder = HashingEmbedder(dim=16)
    mem = Memory(embedder, inherit=0.9)
    mem.add_many(
        {"text": f"memory {i}", "id": str(i), "parent": str((i - 1) // 5) if i else None} for i in range(3000)
    )
    mem.add("somewhere else entirely", id="other")
    tree = mem.tree()

    def found(memory):
        return [(hit.id, round(hit.score, 9)) for hit in memory.search("somewhere else", k=20, touch=False)]

    before = found(mem)

    def place(store, rows):
        placement.place(store, rows)
        raise KeyboardInterrupt

    monkeypatch.setattr(editing, "place", place)
    with pytest.raises(KeyboardInterrupt):
        mem.link("0", "other")
    monkeypatch.undo()
    assert mem.tree() == tree
    assert found(mem) == before == found(Memory.from_json(mem.to_json()))
    mem.link("0", "other")
    assert found(mem) == found(Memory.from_json(mem.to_json())) != before
