"""Records: live views on rows, with their values checked on the way in, and good for ever."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import weakref
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from poincare_memory import Memory, MemoryRecord, SearchResult
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def mem() -> Memory:
    mem = Memory(CheapEmbedder(), clock=lambda: NOW)
    mem.add("alpha", id="a")
    mem.add("beta", id="b", parent="a", meta={"k": [1]}, valid_from=NOW)
    return mem


def test_a_record_is_live(mem: Memory) -> None:
    record = mem.get("b")
    assert record is mem.get("b")
    mem.update("b", text="gamma", meta={"new": True}, t=NOW - timedelta(days=1))
    mem.link("b", None)
    assert (record.text, record.meta, record.parent_id) == ("gamma", {"new": True}, None)
    assert record.t == NOW - timedelta(days=1)


def test_changes_through_a_record_reach_the_store(mem: Memory) -> None:
    record = mem.get("b")
    record.t = datetime(2020, 1, 1)
    record.valid_until = NOW + timedelta(days=1)
    record.access_count = 7
    record.last_accessed = NOW
    record.meta["more"] = 1
    del record
    gc.collect()
    again = mem.get("b")
    assert mem.stats()["oldest"] == "2020-01-01T00:00:00+00:00"
    assert mem.stats()["accesses"] == 7
    assert (again.valid_until, again.last_accessed) == (NOW + timedelta(days=1), NOW)
    assert mem.table()[1]["meta"] == {"k": [1], "more": 1}
    again.meta = {"whole": "new"}
    assert mem.table()[1]["meta"] == {"whole": "new"}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("t", None, TypeError),
        ("t", date(2026, 1, 1), TypeError),
        ("t", "2026-01-01", TypeError),
        ("valid_from", 5, TypeError),
        ("valid_until", NOW - timedelta(days=1), ValueError),
        ("access_count", -1, ValueError),
        ("access_count", 1.5, ValueError),
        ("access_count", True, ValueError),
        ("access_count", 2**63, ValueError),
        ("last_accessed", "x", TypeError),
        ("meta", {"v": float("inf")}, ValueError),
        ("meta", [1], TypeError),
        ("id", "c", AttributeError),
        ("text", "c", AttributeError),
        ("parent_id", None, AttributeError),
    ],
)
def test_bad_values_are_refused(mem: Memory, name: str, value: Any, error: type[Exception]) -> None:
    before = mem.table(), repr(mem.get("b"))
    with pytest.raises(error):
        setattr(mem.get("b"), name, value)
    assert (mem.table(), repr(mem.get("b"))) == before


def test_a_record_survives_its_memory(mem: Memory) -> None:
    parent, record = mem.get("a"), mem.get("b")
    text = repr(record)
    mem.remove("a", cascade=True)
    assert repr(record) == text
    assert parent.text == "alpha"
    record.t = datetime(2020, 1, 1)
    record.meta = {"mine": 1}
    assert (record.t.year, record.meta) == (2020, {"mine": 1})
    for i in range(20):
        mem.add(f"another {i}", id=str(i))
    assert (record.id, record.text, record.parent_id) == ("b", "beta", "a")
    assert mem.get("0").t == NOW


def test_records_compare_print_and_copy_as_plain_ones(mem: Memory) -> None:
    record = mem.get("b")
    plain = MemoryRecord("b", "beta", "a", NOW, {"k": [1]}, NOW)
    assert record == plain
    assert plain == record
    assert record != mem.get("a")
    assert record != "b"
    assert repr(record) == repr(plain)
    assert isinstance(record, MemoryRecord)
    with pytest.raises(TypeError):
        hash(record)
    for twin in (
        copy.copy(record),
        copy.deepcopy(record),
        pickle.loads(pickle.dumps(record)),
        dataclasses.replace(record),
    ):
        assert type(twin) is MemoryRecord
        assert twin == record
    assert dataclasses.replace(record, text="changed").text == "changed"
    assert dataclasses.asdict(record)["meta"] == {"k": [1]}
    deep = copy.deepcopy(record)
    deep.meta["k"].append(2)
    assert record.meta == {"k": [1]}


def test_a_search_result_is_plain_data(mem: Memory) -> None:
    result = SearchResult(mem.get("b"), -1.0, 1.0, 1.0, 1.5)
    assert (result.id, result.text, result.t) == ("b", "beta", result.record.t)
    assert result.meta is result.record.meta
    assert result.to_dict() == {
        "id": "b",
        "text": "beta",
        "parent": "a",
        "score": -1.0,
        "distance": 1.0,
        "time_weight": 1.0,
        "depth": 1.5,
        "cone_energy": None,
        "t": "2026-01-01T00:00:00+00:00",
        "meta": {"k": [1]},
    }


def test_the_default_time_is_now_in_utc() -> None:
    assert abs(MemoryRecord("a", "x").t - datetime.now(timezone.utc)) < timedelta(minutes=1)


def test_millions_of_looks_leave_nothing_behind(mem: Memory) -> None:
    kept = mem.get("a")
    mem.add_many({"text": f"n{i}"} for i in range(3000))
    for id in mem.ids:
        mem.get(id)
    gc.collect()
    assert len(mem._store.columns._records) == 1
    assert mem.get("a") is kept


def test_who_asks_for_a_record_while_it_goes_gets_another(mem: Memory) -> None:
    record = mem.get("b")
    found = []
    reference = weakref.ref(record, lambda _: found.append(mem.get("b")))
    del record
    assert reference() is None
    assert found[0] is mem.get("b")
    assert found[0].text == "beta"


def test_records_in_a_cycle_are_collected(mem: Memory) -> None:
    record = mem.get("b")
    record.me = record  # type: ignore[attr-defined]
    del record
    gc.collect()
    assert len(mem._store.columns._records) == 0


def test_vars_shows_the_fields(mem: Memory) -> None:
    record = mem.get(mem.ids[0])
    assert vars(record) == {
        field.name: getattr(record, field.name) for field in dataclasses.fields(MemoryRecord)
    }
