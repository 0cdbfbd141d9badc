"""Columns of filtered keys: what they answer is what the metadata says, whoever changed it, and how."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from poincare_memory import Memory
from poincare_memory.retrieval.conditions import MISSING, values_under
from poincare_memory.retrieval.filters import MetadataFilter, compile_filter
from poincare_memory.retrieval.key_column import KeyColumn
from poincare_memory.store import candidates, filtered_keys


class Line:
    """Every text at the same place: filters are what differs."""

    dim = 2

    def embed(self, texts: Any) -> Any:
        return np.ones((len(texts), 2))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns from the first filter on, however few memories there are."""
    monkeypatch.setattr(filtered_keys, "USES", 1)
    monkeypatch.setattr(candidates, "LEAST_CANDIDATES", 0)


QUICK = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking takes minutes

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, -0.0, 1.0, 2.0**53, 2**53 + 1, 10**30, -(10**400), 1e300])
    | st.sampled_from(["", "a", "tea", "3", "2026-01-01", "2026-01-01T12:00:00+02:00", "é"])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip
odd_values = values | st.sampled_from(
    [float("nan"), float("inf"), np.float64(2), np.array([1, 2]), Decimal(1), (1, 2), list(range(99))]
)
operands = scalars | st.sampled_from(
    [datetime(2026, 1, 1, 10), date(2026, 1, 1), float("nan"), np.float64(2), Decimal(1), [1, 2], {"a": 1}]
)
keys = st.sampled_from(["k", "m", "k.a", "level", "t"])
metas = st.none() | st.dictionaries(keys, values, max_size=3)
operators = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$contains"])
conditions = st.one_of(
    st.tuples(keys, values).map(lambda pair: {pair[0]: pair[1]}),
    st.tuples(keys, operators, operands).map(lambda told: {told[0]: {told[1]: told[2]}}),
    st.tuples(keys, st.sampled_from(["$in", "$nin"]), st.lists(operands, max_size=3)).map(
        lambda told: {told[0]: {told[1]: told[2]}}
    ),
    st.tuples(keys, st.booleans()).map(lambda pair: {pair[0]: {"$exists": pair[1]}}),
)
filters = conditions | st.tuples(conditions, conditions).map(lambda both: {"$or": list(both)})


@given(st.lists(odd_values, max_size=8), operators | st.sampled_from(["$in", "$nin", "$exists"]), operands)
@settings(max_examples=1000, deadline=None)
def test_a_column_is_its_values_one_by_one(stored: list[Any], name: str, operand: Any) -> None:
    if name in ("$in", "$nin"):
        operand = [operand, "tea", 1]
    if name == "$exists":
        operand = bool(operand == 1)
    filters = {"k": {name: operand}}
    compiled = compile_filter(filters)
    assert isinstance(compiled, MetadataFilter)
    found = [{"k": value} for value in stored]
    column = KeyColumn(len(stored) + 1)
    column.put(range(len(stored)), values_under("k", found))
    column.put([len(stored)], [MISSING])
    missing = name in ("$ne", "$nin") or (name == "$exists" and not operand)
    truth = column.truth(name, operand, missing)
    if truth is not None:
        assert truth.tolist() == compiled.mask([*found, {}]).tolist()


def expected(mem: Memory, filters: Any) -> list[str]:
    """Ids by a filter of metadata as it is, one memory after the other, without touching it."""
    columns = mem._store.columns
    compiled = compile_filter(filters)
    assert isinstance(compiled, MetadataFilter)
    rows = columns.live_rows()
    level, t = columns.level[rows], columns.t[rows]
    mask = compiled.mask([columns.metas[row] for row in rows.tolist()], {"level": level, "t": t}.__getitem__)
    return [columns.name(row) for row in rows[mask == 1].tolist()]


def check(mem: Memory, filters: Any) -> None:
    found = [hit.record for hit in mem.search(None, k=10**6, filters=filters, touch=False)]
    assert [record.id for record in found] == expected(mem, filters)


class Refused(Exception):
    pass


class Actor:
    """Does to a memory what users do, metadata in place included."""

    def __init__(self, mem: Memory) -> None:
        self.mem = mem
        self.held: list[Any] = []

    def do(self, kind: str, number: int, meta: Any, value: Any) -> None:
        mem, ids = self.mem, self.mem.ids
        id = ids[number % len(ids)] if ids else None
        if kind == "add" or id is None:
            mem.add("x", meta=meta, parent=id if number % 2 else None)
        elif kind == "many":
            mem.add_many({"text": "x", "meta": meta} for _ in range(3))
        elif kind == "update":
            mem.update(id, meta=meta or {})
        elif kind == "remove":
            mem.remove(id, cascade=True)
        elif kind == "assign":
            mem.get(id).meta = copy.deepcopy(meta or {})
        elif kind == "in place":
            mem.get(id).meta["k"] = copy.deepcopy(value)
        elif kind == "hold":
            self.held.append(mem.get(id).meta)
            self.held.extend(inner for inner in mem.get(id).meta.values() if isinstance(inner, dict | list))
        elif kind == "change held":
            self.change_held(number, value)
        elif kind == "let go":
            self.held.clear()
        elif kind == "compact":
            mem.compact()
        elif kind == "undo":
            with pytest.raises(Refused):
                self.undone(number, meta, value)

    def undone(self, number: int, meta: Any, value: Any) -> None:
        with self.mem.transaction():
            for step in ("update", "in place", "remove", "add", "change held"):
                self.do(step, number, meta, value)
                check(self.mem, {"k": 1})
            raise Refused

    def change_held(self, number: int, value: Any) -> None:
        if not self.held:
            return
        held = self.held[number % len(self.held)]
        if isinstance(held, dict):
            held["a" if number % 2 else "k"] = copy.deepcopy(value)
        else:
            held.append(copy.deepcopy(value))


steps = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *"add many update remove assign hold compact undo search".split(),
                "in place",
                "change held",
                "let go",
            ]
        ),
        st.integers(0, 30),
        metas,
        values,
        filters,
    ),
    min_size=3,
    max_size=20,
)


def act(mem: Memory, told: list[Any]) -> None:
    actor = Actor(mem)
    for kind, number, meta, value, wanted in told:
        actor.do(kind, number, meta, value)
        check(mem, wanted)
    for wanted in ({"k": 1}, {"k.a": {"$exists": True}}, {"m": {"$ne": "tea"}}, {"k": {"$gte": 1}}):
        check(mem, wanted)


@given(steps)
@settings(max_examples=200, deadline=None, phases=QUICK)
def test_columns_keep_in_step_with_every_change(told: list[Any]) -> None:
    act(Memory(embedder=Line()), told)


@given(steps)
@settings(max_examples=20, deadline=None, phases=QUICK)
def test_columns_of_live_stores_keep_in_step(tmp_path_factory: Any, told: list[Any]) -> None:
    path = tmp_path_factory.mktemp("live") / "a.db"
    with Memory.open(path, embedder=Line(), synchronous="off") as mem:
        act(mem, told)


def refuse(mem: Memory, change: Callable[[], None]) -> None:
    with mem.transaction():
        change()
        check(mem, {"k": 1})
        raise Refused


def test_an_undone_change_gives_back_metadata_that_somebody_holds() -> None:
    mem = Memory(embedder=Line())
    mem.add("x", id="a", meta={"k": 0})
    held = mem.get("a").meta
    for change in (lambda: mem.update("a", meta={"k": 1}), lambda: mem.remove("a")):
        with pytest.raises(Refused):
            refuse(mem, change)
        check(mem, {"k": 1})
        held["k"] = 1 - held["k"]
        check(mem, {"k": 1})


def test_what_another_process_writes_is_taken_in(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory.open(path, embedder=Line()) as mine, Memory.open(path, embedder=Line()) as theirs:
        mine.add_many({"text": "x", "id": str(i), "meta": {"k": i}} for i in range(5))
        check(mine, {"k": {"$gte": 3}})
        theirs.update("1", meta={"k": 7})
        theirs.remove("4")
        theirs.add("x", id="new", meta={"k": "tea"})
        theirs.get("0").meta["k"] = 9
        theirs.update("2", t=datetime(2026, 1, 1, tzinfo=timezone.utc))
        assert [hit.id for hit in mine.search(filters={"k": {"$gte": 3}}, k=9)] == ["0", "1", "3"]
        check(mine, {"k": "tea"})


def test_a_column_comes_with_the_second_filter_on_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtered_keys, "USES", 2)
    mem = Memory(embedder=Line())
    mem.add_many({"text": "x", "meta": {"k": i, "m": "tea"}} for i in range(50))
    kept = mem._store.columns.filtered_keys()._kept
    check(mem, {"k": {"$gte": 3, "$lt": 9}})
    assert not kept
    check(mem, {"k": 4, "m": "tea"})
    assert list(kept) == ["k"]
    monkeypatch.setattr(filtered_keys, "MOST_KEYS", 2)
    for key in ("m", "x", "m", "x"):
        check(mem, {key: "tea"})
    assert list(kept) == ["m", "x"]
    read: list[Any] = []
    monkeypatch.setattr(KeyColumn, "put", lambda self, rows, values: read.append(list(rows)))
    check(mem, {"m": "tea"})
    assert read == []


def test_what_was_let_go_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mem = Memory(embedder=Line())
    mem.add_many({"text": "x", "meta": {"k": i, "user": {"tags": ["a"]}}} for i in range(20))
    held = mem.get(mem.ids[3]).meta["user"]["tags"]
    check(mem, {"k": 1})
    for record in mem:
        assert record.meta["k"] >= 0
    del record
    gc.collect()
    exposed = mem._store.columns.filtered_keys()._exposed
    assert len(exposed) == 20
    check(mem, {"user.tags": {"$contains": "b"}})
    assert exposed == {3}
    held.append("b")
    check(mem, {"user.tags": {"$contains": "b"}})


def test_a_table_of_values_that_are_gone_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtered_keys, "SLACK", 5)
    mem = Memory(embedder=Line())
    mem.add("x", id="a")
    for i in range(50):
        mem.update("a", meta={"k": f"value {i}"})
        check(mem, {"k": f"value {i}"})
    assert mem._store.columns.filtered_keys()._kept["k"].distinct < 10


def test_copies_have_columns_of_their_own() -> None:
    mem = Memory(embedder=Line())
    mem.add("x", id="a", meta={"k": 1})
    check(mem, {"k": 1})
    other = pickle.loads(pickle.dumps(mem))
    other.update("a", meta={"k": 2})
    check(other, {"k": 2})
    check(mem, {"k": 1})


def test_filters_of_many_threads_while_metadata_changes() -> None:
    mem = Memory(embedder=Line())
    mem.add_many({"text": "x", "id": str(i), "meta": {"k": i % 2, "fixed": i % 2}} for i in range(300))
    failed: list[BaseException] = []
    done = threading.Event()

    def filtering() -> None:
        try:
            while not done.is_set():
                assert len(mem.search(filters={"fixed": 1}, k=1000, touch=False)) == 150
                mem.search(filters={"k": {"$gte": 1}}, k=1000, touch=False)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=filtering) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(300):
        mem.get(str(i)).meta["k"] = "other"
        mem.update(str(i), meta={"k": 5, "fixed": i % 2})
    done.set()
    for thread in threads:
        thread.join()
    assert not failed
    check(mem, {"k": 5})


def test_columns_that_ctrl_c_left_half_in_step_are_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    mem = Memory(Line())
    mem.add_many({"text": "x", "id": str(i), "meta": {"k": i % 3}} for i in range(30))

    def found() -> list[str]:
        return [hit.id for hit in mem.search("x", k=30, filters={"k": 1}, touch=False)]

    before = found()
    mem.update("0", meta={"k": 1})
    mem.update("1", meta={})

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KeyColumn, "put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found()
    monkeypatch.undo()
    assert sorted({*found(), "1"}) == sorted({*before, "0"})
    assert "1" not in found()
