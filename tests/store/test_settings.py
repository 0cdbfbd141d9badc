"""Settings of a memory: checked when given and when changed."""

from __future__ import annotations

import contextlib
import copy
import inspect
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import HalfLife, HashingEmbedder, Memory, NoDecay
from poincare_memory.store.live import DEFAULTS
from store.table_embedder import CheapEmbedder

NAN, INF = float("nan"), float("inf")
OUT_OF_RANGE: dict[str, list[Any]] = {
    "curvature": [0, -1, NAN, INF],
    "base_depth": [0, -1, NAN, INF, 1e308],
    "depth_step": [0, -0.5, NAN, INF, 1e101],
    "inherit": [-0.1, 1.1, NAN, INF],
    "cone_k": [0, -1, NAN, INF],
    "metric": ["euclidean", "", None, 5],
    "time_coef": [NAN, INF, -INF],
    "depth_bias": [NAN, INF, -INF],
}
WRONG_TYPE: dict[str, list[Any]] = {
    "curvature": ["1", None],
    "base_depth": ["1", None, True, [1.0]],
    "depth_step": ["x"],
    "inherit": ["0.5", False],
    "cone_k": [None],
    "time_coef": ["1"],
    "depth_bias": [1j],
    "cone_constrained": [1, "yes", None],
    "decay": [5, "half life"],
    "clock": [5, datetime(2026, 1, 1)],
    "embedder": [5, "model", len],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in OUT_OF_RANGE.items() for v in values])
def test_out_of_range(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Memory(**{name: value})
    if name != "curvature":
        mem = Memory()
        before = getattr(mem, name)
        with pytest.raises(ValueError, match=name):
            setattr(mem, name, value)
        assert getattr(mem, name) == before


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in WRONG_TYPE.items() for v in values])
def test_wrong_type(name: str, value: Any) -> None:
    if value is None and name in ("decay", "clock", "embedder"):
        return
    with pytest.raises(TypeError):
        Memory(**{name: value})


def test_defaults_and_order_of_arguments() -> None:
    mem = Memory()
    assert isinstance(mem.embedder, HashingEmbedder)
    assert mem.decay == NoDecay()
    values = (mem.base_depth, mem.depth_step, mem.inherit, mem.cone_constrained, mem.cone_k, mem.metric)
    assert values == (1.0, 0.5, 0.25, False, 0.1, "shell")
    assert (mem.time_coef, mem.depth_bias, mem.ball.c, mem.dim) == (1.0, 0.0, 1.0, 256)
    given = Memory(
        CheapEmbedder(), 4.0, HalfLife(1), 0.5, 0.25, 0.75, True, 0.2, "hyperbolic", -1.0, 0.5, datetime.now
    )
    assert (given.ball.c, given.base_depth, given.depth_step, given.inherit) == (4.0, 0.5, 0.25, 0.75)
    assert (given.cone_constrained, given.cone_k, given.metric) == (True, 0.2, "hyperbolic")
    assert (given.time_coef, given.depth_bias, given.clock) == (-1.0, 0.5, datetime.now)


@pytest.mark.parametrize("number", [2, np.float32(2), np.int64(2), np.float64(2)])
def test_numbers_of_every_kind(number: Any) -> None:
    mem = Memory(base_depth=number)
    assert (mem.base_depth, type(mem.base_depth)) == (2.0, float)


def test_falsy_objects_are_kept() -> None:
    class Falsy:
        def __bool__(self) -> bool:
            return False

    class Embedder(Falsy, CheapEmbedder):
        pass

    class Policy(Falsy):
        def weight(self, now: Any, times: list[Any], *rest: Any) -> Any:
            return np.ones(len(times))

    class Clock(Falsy):
        def __call__(self) -> datetime:
            return datetime(2026, 1, 1)

    embedder, policy, clock = Embedder(), Policy(), Clock()
    mem = Memory(embedder, decay=policy, clock=clock)
    assert mem.embedder is embedder
    assert mem.decay is policy
    assert mem.clock is clock


def test_fixed_for_life() -> None:
    mem = Memory()
    for name in ("ball", "projector", "dim"):
        with pytest.raises(AttributeError):
            setattr(mem, name, getattr(mem, name))


def test_a_new_depth_holds_for_what_is_placed_afterwards() -> None:
    mem = Memory(CheapEmbedder())
    mem.add("before", id="b")
    mem.base_depth, mem.depth_step = 2.0, 1.0
    mem.add("after", id="a")
    mem.add("child", id="c", parent="a")
    assert [mem.depth(id) for id in mem.ids] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("offset", [None, timedelta(0), timedelta(hours=-5), timedelta(hours=5, minutes=45)])
def test_the_clock_may_be_in_any_zone(offset: timedelta | None) -> None:
    zone = None if offset is None else timezone(offset)
    mem = Memory(CheapEmbedder(), clock=lambda: datetime(2026, 1, 1, tzinfo=zone))
    mem.add("a", id="a")
    mem.add_many([{"text": "b", "id": "b"}, {"text": "c", "t": datetime(2025, 1, 1, tzinfo=timezone.utc)}])
    mem.search("a")
    expected = datetime(2026, 1, 1, tzinfo=timezone.utc) - (offset or timedelta(0))
    for record in (mem.get("a"), mem.get("b")):
        assert (record.t, record.t.utcoffset()) == (expected, timedelta(0))
        assert record.last_accessed == expected
    assert mem.stats()["newest"] == expected.isoformat()


def test_the_clock_is_asked_once_for_every_memory_without_a_time() -> None:
    ticks = iter(range(100))
    mem = Memory(CheapEmbedder(), clock=lambda: datetime(2026, 1, 1, 0, 0, next(ticks)))
    mem.add_many([{"text": "a"}, {"text": "b", "t": datetime(2020, 1, 1)}, {"text": "c"}])
    assert [record.t.second for record in mem] == [0, 0, 1]
    assert next(ticks) == 2


def test_another_embedder_of_the_same_length_embeds_from_then_on() -> None:
    mem = Memory(HashingEmbedder(dim=32))
    mem.add("green tea", id="old")
    before = mem.point("old")
    mem.embedder = HashingEmbedder(dim=32, seed=7)
    mem.add("green tea", id="new")
    assert [hit.id for hit in mem.search("green tea", k=1)] == ["new"]
    assert (mem.point("old") == before).all()
    with pytest.raises(ValueError, match="dim 64, but this memory's vectors have 32"):
        mem.embedder = HashingEmbedder(dim=64)
    for wrong in (5, HashingEmbedder, len):
        with pytest.raises(TypeError, match="embedder"):
            mem.embedder = wrong  # type: ignore[assignment]
    assert mem.embedder == HashingEmbedder(dim=32, seed=7)


def test_an_embedder_set_in_a_transaction_that_fails_was_never_set() -> None:
    mem = Memory(HashingEmbedder(dim=32))

    def half_a_change() -> None:
        with mem.transaction():
            mem.embedder = HashingEmbedder(dim=32, seed=7)
            mem.add("")

    with pytest.raises(ValueError, match="text"):
        half_a_change()
    assert mem.embedder == HashingEmbedder(dim=32)


def test_a_live_file_takes_an_embedder_that_returns_the_same_only(tmp_path: Path) -> None:
    class Cached(HashingEmbedder):
        pass

    path = tmp_path / "live.db"
    with Memory.open(path) as mem:
        mem.add("green tea", id="tea")
        with pytest.raises(ValueError, match="another embedder"):
            mem.embedder = HashingEmbedder(seed=7)
        assert mem.embedder == HashingEmbedder()
        mem.embedder = Cached()
        assert [hit.id for hit in mem.search("green tea")] == ["tea"]
    with Memory.open(path, embedder=Cached()) as mem:
        assert mem.ids == ["tea"]


class Counting(Memory):
    """A subclass with state of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.count = 0


def test_a_loaded_subclass_is_constructed(tmp_path: Path) -> None:
    mem = Counting(decay=HalfLife(3), base_depth=2.0, curvature=0.5)
    mem.add("green tea", id="tea")
    mem.save(tmp_path / "mem.db")
    for loaded in (
        Counting.load(tmp_path / "mem.db"),
        Counting.from_json(mem.to_json()),
        Counting.open(tmp_path / "live.db", base_depth=2.0, curvature=0.5),
    ):
        assert isinstance(loaded, Counting)
        assert loaded.count == 0
        assert (loaded.base_depth, loaded.ball.c) == (2.0, 0.5)
        loaded.close()


def test_a_subclass_may_place_queries_in_its_own_way() -> None:
    class Synonyms(Memory):
        def embed_query(self, query: str, depth: float | None = None) -> Any:
            return super().embed_query(query.replace("chai", "tea"), depth)

    mem = Synonyms()
    mem.add_many([{"text": "green tea", "id": "tea"}, {"text": "tax filing", "id": "tax"}])
    for metric in ("shell", "hyperbolic"):
        (by_synonym,) = mem.search("green chai", k=1, metric=metric)
        (by_name,) = Memory.from_json(mem.to_json()).search("green tea", k=1, metric=metric)
        assert (by_synonym.id, by_synonym.depth) == ("tea", 1.0)
        assert by_synonym.distance == pytest.approx(by_name.distance, abs=1e-7)


def test_an_embedder_whose_length_changed_is_named_and_changes_nothing() -> None:
    mem = Memory(HashingEmbedder(dim=32))
    mem.add("green tea", id="tea")
    mem.embedder.dim = 64  # type: ignore[misc]
    for use in (
        lambda: mem.add("tax"),
        lambda: mem.add_many([{"text": "tax"}]),
        lambda: mem.update("tea", text="tax"),
        lambda: mem.search("tea"),
        lambda: mem.embed_query("tea"),
    ):
        with pytest.raises(ValueError, match=r"HashingEmbedder\.dim is 64 by now, .* made with 32"):
            use()
    assert [record.text for record in mem] == ["green tea"]


def test_a_new_live_store_has_the_defaults_of_a_memory() -> None:
    parameters = inspect.signature(Memory).parameters
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS
    not_in_files = {"embedder", "decay", "clock", "precision"}
    assert set(parameters) - set(DEFAULTS) == not_in_files


def test_the_weight_of_words_is_kept_in_files_and_json(tmp_path: Path) -> None:
    path, saved = tmp_path / "live.db", tmp_path / "saved.db"
    with Memory.open(path, lexical_coef=0.5) as mem:
        mem.add("tea")
        mem.save(saved)
        assert Memory.from_json(mem.to_json()).lexical_coef == 0.5
    assert Memory.load(saved).lexical_coef == Memory.load(path).lexical_coef == 0.5
    with Memory.open(path) as mem, Memory.open(path, lexical_coef=0.5) as other:
        assert mem.lexical_coef == 0.5
        other.lexical_coef = 0.25
        assert len(mem) == 1  # a look at the file
        assert mem.lexical_coef == 0.25
        with pytest.raises(ValueError, match=r"lexical_coef=0\.25"):
            Memory.open(path, lexical_coef=0.5)
        mem.lexical_coef = 0.0
    assert Memory.load(path).lexical_coef == 0.0
    assert "lexical_coef" not in Memory().to_json()


def test_a_search_follows_the_policy_of_the_moment() -> None:
    """What is kept of a policy goes with it: also in a copy, and where a transaction takes it back."""
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    mem = Memory(CheapEmbedder(), decay=NoDecay(), clock=lambda: now)
    mem.add("old", id="old", t=now - timedelta(hours=10))

    def weight(memory: Memory) -> float:
        return memory.search("old", k=1, touch=False)[0].time_weight

    assert weight(mem) == 1
    mem.decay = HalfLife(10)
    assert weight(mem) == weight(copy.copy(mem)) == pytest.approx(0.5)
    with contextlib.suppress(RuntimeError), mem.transaction():
        mem.decay = HalfLife(5)
        assert weight(mem) == pytest.approx(0.25)
        raise RuntimeError
    assert weight(mem) == pytest.approx(0.5)
