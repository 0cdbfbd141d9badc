"""Point in time: what was known then, and the versions that memories have had."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import HalfLife, Memory
from store.table_embedder import CheapEmbedder

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def at(self, hours: float) -> datetime:
        self.now = START + hours * HOUR
        return self.now


def opened(path: Path, clock: Any, **more: Any) -> Memory:
    return Memory.open(path, embedder=CheapEmbedder(), clock=clock, **more)


def found(mem: Memory, when: datetime, **more: Any) -> list[str]:
    return sorted(hit.id for hit in mem.search("text", k=99, as_of=when, **more))


@pytest.mark.parametrize("kind", ["in memory", "live", "with versions"])
def test_what_was_recorded_later_is_hidden(tmp_path, kind):
    clock = Clock()
    mem = (
        Memory(CheapEmbedder(), clock=clock, decay=HalfLife(1))
        if kind == "in memory"
        else opened(tmp_path / "m.db", clock, decay=HalfLife(1), history=kind == "with versions")
    )
    for hour, name in enumerate("abc"):
        clock.at(hour)
        mem.add(
            f"text {name}", id=name, t=START - 5 * HOUR, parent=None if name == "a" else "a", meta={"n": hour}
        )
    clock.at(9)
    assert [found(mem, START + h * HOUR) for h in (-1, 0, 0.5, 1, 2)] == [
        [],
        ["a"],
        ["a"],
        ["a", "b"],
        ["a", "b", "c"],
    ]
    one = START + HOUR
    assert found(mem, one, mode="subtree", root="a") == ["a", "b"]
    assert found(mem, one, filters={"n": {"$gte": 1}}) == ["b"]
    assert found(mem, one, filters=lambda record: record.id != "a") == ["b"]
    assert [len(hits) for hits in mem.search_many(["text", "x"], as_of=one)] == [2, 2]
    assert mem.search("text", as_of=one, k=1)[0].time_weight == pytest.approx(0.5**6)
    assert mem.search("text", as_of=one, at_time=START, k=1)[0].time_weight == pytest.approx(0.5**5)
    with pytest.raises(TypeError, match="as_of"):
        mem.search("text", as_of="yesterday")
    mem.close()


def test_versions_stand_from_when_they_were_recorded_till_they_were_replaced(tmp_path):
    clock = Clock()
    mem = opened(tmp_path / "m.db", clock, history=True)
    mem.add("text one", id="a", meta={"n": 1})
    mem.add("text b", id="b")
    clock.at(1)
    mem.update("a", text="text two")
    clock.at(2)
    mem.update("a", meta={"n": 2})
    clock.at(3)
    mem.link("a", "b")
    clock.at(4)
    mem.remove("b", cascade=True)
    clock.at(5)
    mem.add("text three", id="a")
    want = [
        ("text one", {"n": 1}, None, 0, 1),
        ("text two", {"n": 1}, None, 1, 2),
        ("text two", {"n": 2}, None, 2, 3),
        ("text two", {"n": 2}, "b", 3, 4),
        ("text three", {}, None, 5, None),
    ]
    for each in (mem, opened(tmp_path / "m.db", clock)):
        got = each.history("a")
        assert [
            (v.record.text, v.record.meta, v.record.parent_id, v.recorded_at, v.replaced_at) for v in got
        ] == [
            (text, meta, parent, START + begin * HOUR, None if end is None else START + end * HOUR)
            for text, meta, parent, begin, end in want
        ]
        for hour, text in enumerate(["text one", "text two", "text two", "text two", None, "text three"]):
            hits = {hit.id: hit.record for hit in each.search("text", as_of=START + (hour + 0.5) * HOUR)}
            assert (hits["a"].text if "a" in hits else None) == text
        assert each.search("x", mode="children", root="b", as_of=START + 3.5 * HOUR)[0].id == "a"
        with pytest.raises(KeyError, match="unknown id 'nobody'"):
            each.history("nobody")
        assert [v.record.text for v in each.history("b")] == ["text b"]
        each.close()


def test_metadata_changed_in_place_makes_a_version(tmp_path):
    clock = Clock()
    with opened(tmp_path / "m.db", clock, history=True) as mem:
        mem.add("note", id="a", meta={"n": 0})
        clock.at(2)
        with mem.transaction():  # one commit, one version
            mem.get("a").meta["n"] = 1
            mem.update("a", text="other")
        clock.at(3)
        mem.get("a").meta["n"] = 2
        clock.at(4)
        assert len(mem) == 1  # notices
        versions = mem.history("a")
        assert [(v.record.text, v.record.meta["n"]) for v in versions] == [
            ("note", 0),
            ("other", 1),
            ("other", 2),
        ]
        assert [v.replaced_at for v in versions] == [START + 2 * HOUR, START + 4 * HOUR, None]
        assert mem.search("note", as_of=START + HOUR)[0].record.meta == {"n": 0}
        assert mem.search("note", as_of=START + 3 * HOUR)[0].record.meta == {"n": 1}


def test_versions_are_kept_by_all_once_one_asked_for_them(tmp_path):
    """Also by a process that had the file open before, in the edit that follows and in one that waited for its turn."""
    clock = Clock()
    path = tmp_path / "m.db"
    early, idle = opened(path, clock), opened(path, clock)
    early.add("before", id="a")
    assert early.history("a")[0].record.text == "before"
    clock.at(1)
    late = opened(path, clock, history=True)
    early.update("a", text="between")  # the first call of it since
    clock.at(3)
    idle.remove("a")
    for mem in (early, idle, late):
        assert [v.record.text for v in mem.history("a")] == ["before", "between"]
        assert [v.replaced_at for v in mem.history("a")] == [START + HOUR, START + 3 * HOUR]
        assert mem.search("between", as_of=START + 2 * HOUR)[0].text == "between"
        mem.close()


def test_without_versions_there_is_the_present_one(tmp_path):
    clock = Clock()
    for mem in (Memory(CheapEmbedder(), clock=clock), opened(tmp_path / "m.db", clock)):
        clock.at(0)
        mem.add("one", id="a")
        clock.at(1)
        mem.update("a", text="two")
        (version,) = mem.history("a")
        assert (version.record.text, version.recorded_at, version.replaced_at) == ("two", START, None)
        assert [hit.text for hit in mem.search("x", as_of=START)] == ["two"]
        mem.close()


def test_a_search_of_the_past_gives_copies_and_counts_nothing(tmp_path):
    clock = Clock()
    mem = opened(tmp_path / "m.db", clock, history=True)
    mem.add("text", id="a")
    hit = mem.search("text", as_of=START)[0]
    hit.record.meta = {"only": "here"}
    assert mem.get("a").meta == {}
    assert mem.get("a").access_count == 0
    mem.close()


@pytest.mark.parametrize("seed", range(4))
def test_every_moment_of_a_random_life_is_remembered(tmp_path, seed):
    """The answers at the time against the answers later, for every moment."""
    draw, clock = random.Random(seed), Clock()
    mem = opened(tmp_path / "m.db", clock, history=True)
    other = opened(tmp_path / "m.db", clock)
    seen: list[tuple[datetime, Any]] = []

    def answers(**more: Any) -> Any:
        hits = mem.search("text 3", k=99, touch=False, at_time=START, **more)
        # Ties may fall differently: a direction that was read back may differ by rounding.
        return sorted(
            (round(h.score, 9), h.id, h.text, str(h.record.meta), h.record.parent_id, h.depth) for h in hits
        )

    for hour in range(40):
        now = clock.at(hour)
        who, ids = draw.choice((mem, other)), mem.ids
        kind = draw.choice(("add", "add", "update", "meta", "remove", "move", "together"))
        some = draw.choice(ids) if ids else None
        if kind == "add" or some is None:
            who.add(f"text {hour % 7}", id=f"n{draw.randrange(1000)}", on_duplicate="update")
        elif kind == "update":
            who.update(some, text=f"text {draw.randrange(9)}")
        elif kind == "meta":
            who.get(some).meta = {"hour": hour}
        elif kind == "remove":
            who.remove(some, cascade=True)
        elif kind == "move" and not who.children(some):
            target = draw.choice(ids)
            if target != some and some not in who.ancestors(target):
                who.link(some, target)
        else:
            with who.transaction():
                who.update(some, text="text 0")
                who.update(some, text=f"text {draw.randrange(9)}")
                who.add("text 5", id=f"t{hour}", parent=some)
        seen.append((now, answers()))
    mem.compact()
    for now, before in seen:
        assert answers(as_of=now + HOUR / 2) == before
    last = seen[-1][0]
    ours, theirs = ([hit.score for hit in each.search("text 3", as_of=last)] for each in (mem, other))
    assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
    mem.close()
    other.close()
