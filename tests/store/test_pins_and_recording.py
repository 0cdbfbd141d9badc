"""Pinned memories, when a memory was recorded, and the order of siblings: what format 1 does not hold."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import Ebbinghaus, HalfLife, Memory, Product, ValidityWindow
from poincare_memory.viz.payload import data_block
from poincare_memory.viz.snapshot import take_snapshot
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)


class Mine:
    """A policy of the user's own."""

    def weight(self, now: Any, times: Any, access_counts: Any, valid_from: Any, valid_until: Any) -> Any:
        return np.array([0.5 ** ((now - t) / DAY) for t in times])


def passed_through(way: str, mem: Memory, path: Path) -> Memory:
    if way == "live":
        with Memory.open(path, embedder=CheapEmbedder(), decay=mem.decay) as live:
            live.add_many(
                {"text": record.text, "id": record.id, "t": record.t, "parent": record.parent_id}
                for record in mem
            )
        return mem
    if way == "json":
        return Memory.from_json(mem.to_json(), embedder=CheapEmbedder(), clock=mem.clock, decay=mem.decay)
    mem.save(path)
    if way == "saved, then live":
        return Memory.open(path, embedder=CheapEmbedder(), clock=mem.clock, decay=mem.decay)
    return Memory.load(path, embedder=CheapEmbedder(), clock=mem.clock, decay=mem.decay)


@pytest.mark.parametrize(
    "decay", [HalfLife(24), Ebbinghaus(24), Product(HalfLife(24), ValidityWindow(0.25)), Mine()]
)
def test_a_pinned_memory_is_always_as_new(decay):
    mem = Memory(CheapEmbedder(), decay=decay, clock=lambda: NOW)
    mem.add("old", id="old", t=NOW - 3 * DAY)
    mem.add("old", id="kept", t=NOW - 3 * DAY, pin=True)
    mem.add_many(
        [{"text": "x", "id": "x", "t": NOW - 9 * DAY, "pin": True}, {"text": "y", "id": "y", "t": NOW}]
    )
    weights = dict(zip(mem.ids, mem.time_weights(mem.ids), strict=True))
    assert weights["kept"] == weights["x"] == weights["y"] == 1.0
    assert weights["old"] < 0.2
    pair = {"id": {"$in": ["old", "kept"]}}
    assert [hit.id for hit in mem.search("old", filters=pair)] == ["kept", "old"]
    assert mem.search("old", k=1)[0].time_weight == 1.0
    mem.update("kept", pin=False)
    mem.get("old").pinned = True
    assert [hit.id for hit in mem.search("old", filters=pair)] == ["old", "kept"]
    mem.update("old", t=NOW - 30 * DAY)
    assert mem.time_weights(["old"])[0] == 1.0
    assert mem.get("old").t == NOW - 30 * DAY
    assert mem.search("old", at_time=NOW + 900 * DAY, k=1)[0].time_weight == 1.0


def test_reports_tell_when_a_pinned_memory_happened():
    mem = Memory(CheapEmbedder(), decay=HalfLife(24), clock=lambda: NOW)
    mem.add("old", id="old", t=NOW - 3 * DAY, pin=True)
    mem.add("new", id="new")
    assert [(row["t"], row["weight"]) for row in mem.table()] == [
        ((NOW - 3 * DAY).isoformat(), 1.0),
        (NOW.isoformat(), 1.0),
    ]
    assert (mem.stats()["oldest"], mem.stats()["newest"]) == ((NOW - 3 * DAY).isoformat(), NOW.isoformat())
    snapshot = take_snapshot(mem)
    assert snapshot.times.tolist() == mem._store.columns.t[:2].tolist()
    assert json.loads(data_block(snapshot))["pinned"] == [0]
    mem.update("old", pin=False)
    assert "pinned" not in json.loads(data_block(take_snapshot(mem)))


def test_validity_still_counts():
    mem = Memory(CheapEmbedder(), decay=ValidityWindow(0.25), clock=lambda: NOW)
    mem.add("over", id="over", valid_until=NOW - DAY, pin=True)
    assert mem.time_weights(["over"])[0] == 0.25


@pytest.mark.parametrize("bad", [1, "yes", None])
def test_pins_are_true_or_false(bad):
    mem = Memory(CheapEmbedder())
    mem.add("a", id="a")
    calls = [lambda: setattr(mem.get("a"), "pinned", bad), lambda: mem.add_many([{"text": "x", "pin": bad}])]
    if bad is not None:
        calls += [lambda: mem.add("b", pin=bad), lambda: mem.update("a", pin=bad)]
    for call in calls:
        with pytest.raises(TypeError, match="True or False"):
            call()
    assert mem.ids == ["a"]
    assert mem.get("a").pinned is False


def test_recorded_is_not_happened():
    moments = iter(NOW + i * DAY for i in range(9))
    mem = Memory(CheapEmbedder(), clock=lambda: next(moments))
    mem.add("then", id="a", t=NOW - 99 * DAY)
    mem.add_many([{"text": "b", "id": "b"}, {"text": "c", "id": "c", "t": NOW}])
    assert [record.recorded_at for record in mem] == [NOW, NOW + DAY, NOW + DAY]
    mem.update("a", text="other")
    assert mem.get("a").recorded_at == NOW
    with pytest.raises(AttributeError):
        mem.get("a").recorded_at = NOW
    record = mem.get("a")
    mem.remove("a")
    assert (record.recorded_at, record.pinned) == (NOW, False)


@pytest.mark.parametrize("way", ["saved", "json", "saved, then live"])
def test_files_keep_pins_moments_and_the_order_of_siblings(tmp_path, way):
    mem = Memory(CheapEmbedder(), decay=HalfLife(24), clock=lambda: NOW)
    for name in "abcdefg":
        mem.add(name, id=name, parent=None if name in "ab" else "a", pin=name in "ce")
    mem.link("c", "b")
    mem.link("c", "a")
    mem.link("d", "b")
    mem.link("e", "b")
    mem.link("d", "a")
    mem.remove("f")
    again = passed_through(way, mem, tmp_path / "m.db")
    assert again.tree() == mem.tree()
    assert again.children("a") == ["g", "c", "d"]
    assert [(r.id, r.pinned, r.recorded_at) for r in again] == [(r.id, r.pinned, r.recorded_at) for r in mem]
    assert again.time_weights(again.ids).tolist() == mem.time_weights(mem.ids).tolist()
    for each in (mem, again):
        each.add("h", id="h", parent="a")
        each.link("g", None)
        each.link("g", "a")
    assert again.children("a") == mem.children("a") == ["c", "d", "h", "g"]
    again.close()


def test_a_live_store_keeps_them_too(tmp_path):
    path = tmp_path / "m.db"
    mem = Memory.open(path, embedder=CheapEmbedder(), decay=HalfLife(24), clock=lambda: NOW)
    other = Memory.open(path, embedder=CheapEmbedder(), clock=lambda: NOW)
    mem.add("a", id="a", pin=True, t=NOW - DAY)
    mem.add("b", id="b", t=NOW - DAY)
    assert other.time_weights(["a", "b"]).tolist() == [1.0, 0.5]
    other.update("a", pin=False)
    mem.get("b").pinned = True
    assert mem.time_weights(["a", "b"]).tolist() == other.time_weights(["a", "b"]).tolist() == [0.5, 1.0]
    with pytest.raises(ZeroDivisionError), mem.transaction():  # noqa: PT012
        mem.update("a", pin=True, t=NOW)
        mem.update("b", pin=False)
        raise ZeroDivisionError
    assert mem.time_weights(["a", "b"]).tolist() == [0.5, 1.0]
    mem.update("b", text="changed")
    mem.close()
    other.close()
    with Memory.open(path, embedder=CheapEmbedder()) as again:
        assert [(r.pinned, r.recorded_at) for r in again] == [(False, NOW), (True, NOW)]
    assert [r.pinned for r in Memory.load(path, embedder=CheapEmbedder())] == [False, True]


@pytest.mark.parametrize(
    ("field", "value"), [("pinned", "yes"), ("attached", -1), ("attached", "x"), ("recorded_at", "soon")]
)
def test_nonsense_in_a_file_is_refused(field, value):
    mem = Memory(CheapEmbedder())
    mem.add("a", id="a")
    data = json.loads(mem.to_json())
    data["records"][0][field] = value
    with pytest.raises(ValueError, match=f"record 0 .*{field}"):
        Memory.from_json(json.dumps(data), embedder=CheapEmbedder())


def test_a_batch_without_times_is_of_one_moment_of_the_system() -> None:
    mem = Memory(CheapEmbedder())
    early = datetime(2020, 1, 1, tzinfo=timezone.utc)
    mem.add_many([{"text": f"note {i}", "t": early if i == 2 else None} for i in range(5)])
    times = [record.t for record in mem]
    assert len(set(times)) == 2 and times[2] == early
    assert times[0] == mem.get(mem.ids[0]).recorded_at
