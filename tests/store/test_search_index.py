"""A search through the graph: the same answers as the exact scan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from poincare_memory import HalfLife, Memory, NoDecay, index
from poincare_memory.store import ranking

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
N = 5000


class Clusters:
    """Text "i" is row i of a fixed matrix: 40 clusters in 8 dimensions, the first 300 rows identical."""

    dim = 8

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(40, 8))
        self.matrix = centres[rng.integers(0, 40, N + 500)] + 0.3 * rng.normal(size=(N + 500, 8))
        self.matrix[:300] = self.matrix[0]
        self.matrix[300:303] = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        return self.matrix[[int(text) for text in texts]]


@pytest.fixture(scope="module")
def mem() -> Memory:
    rng = np.random.default_rng(1)
    mem = Memory(embedder=Clusters(), clock=lambda: NOW, decay=HalfLife(10_000), depth_bias=0.01)
    mem.add_many(
        {
            "text": str(i),
            "id": str(i),
            "parent": str(rng.integers(0, i)) if i and i % 3 else None,
            "t": NOW - timedelta(hours=float(rng.uniform(0, 1000))),
            "meta": {"g": i % 2, "rare": i % 100 == 0},
        }
        for i in range(N)
    )
    mem.build_index("hnsw")
    return mem


def answers(mem: Memory, use_index: bool, **arguments: Any) -> list[list[tuple[str, float]]]:
    return [
        [(r.id, r.score) for r in mem.search(str(q), touch=False, use_index=use_index, **arguments)]
        for q in range(N, N + 20)
    ]


@pytest.fixture
def graph_calls(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each search was answered through the graph."""
    calls: list[bool] = []
    through = ranking.Ranking._through_graph

    def counted(self: Any, *arguments: Any) -> Any:
        hits = through(self, *arguments)
        calls.append(hits is not None)
        return hits

    monkeypatch.setattr(ranking.Ranking, "_through_graph", counted)
    return calls


@pytest.mark.parametrize("metric", ["shell", "hyperbolic"])
@pytest.mark.parametrize("filters", [None, {"g": 1}, lambda record: record.meta["g"] == 1])
@pytest.mark.parametrize("alone", [False, True], ids=["every term", "distance alone"])
def test_the_graph_answers_like_the_scan(
    mem: Memory,
    metric: str,
    filters: Any,
    alone: bool,
    graph_calls: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranking, "SCANNED_MEANWHILE", 0)
    if alone:
        monkeypatch.setattr(mem, "depth_bias", 0.0)
        monkeypatch.setattr(mem, "decay", NoDecay())
    through_graph = answers(mem, True, k=10, metric=metric, filters=filters)
    assert sum(graph_calls) > 10  # the rest fell back on the scan
    exact = answers(mem, False, k=10, metric=metric, filters=filters)
    same = sum(a == b for x, y in zip(through_graph, exact, strict=True) for a, b in zip(x, y, strict=True))
    assert same >= 0.99 * sum(map(len, exact))


@pytest.mark.parametrize(
    "settings",
    [
        {"decay": HalfLife(24)},
        {"depth_bias": 5.0},
        {"depth_bias": -5.0},
        {"time_coef": -1.0, "decay": HalfLife(24)},
    ],
)
def test_terms_that_outweigh_distance_cost_nothing(
    mem: Memory, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setattr(mem, name, value)
    for use_index in (True, None):
        assert answers(mem, use_index, k=5) == answers(mem, False, k=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(("cost", "by_graph"), [(15, True), (40, False)])
def test_half_of_the_memories_are_worth_a_fourth_of_the_graph(
    cost: int, by_graph: bool, mem: Memory, graph_calls: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph visits twice the nodes where half pass, of which a scan reads half."""
    monkeypatch.setattr(ranking, "SCANNED_MEANWHILE", cost)
    monkeypatch.setattr(mem, "depth_bias", 0.0)
    monkeypatch.setattr(mem, "decay", NoDecay())
    asked: dict[str, Any] = {"k": 5, "touch": False}
    mem.search(str(N), **asked)
    mem.search(str(N), filters={"g": 1}, **asked)
    assert graph_calls == [True, by_graph]


@pytest.mark.parametrize(("many", "by_graph"), [(100_000, True), (50, False)])
def test_what_a_graph_looks_at_beside_what_is_asked_counts(
    many: int, by_graph: bool, mem: Memory, graph_calls: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten times the candidates, and the scan is the quicker of the two."""
    monkeypatch.setattr(ranking, "SCANNED_MEANWHILE", 15)
    monkeypatch.setattr(index, "MANY_POINTS", many)
    monkeypatch.setattr(mem, "depth_bias", 0.0)
    monkeypatch.setattr(mem, "decay", NoDecay())
    mem.search(str(N), k=5, touch=False)
    assert graph_calls == [by_graph]


@pytest.mark.parametrize("metric", ["shell", "hyperbolic"])
@pytest.mark.parametrize(("decay", "by_graph"), [(HalfLife(1), False), (HalfLife(1e6), True)])
def test_a_graph_that_age_outweighs_is_asked_once(
    metric: str,
    decay: HalfLife,
    by_graph: bool,
    mem: Memory,
    graph_calls: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranking, "SCANNED_MEANWHILE", 10)
    monkeypatch.setattr(mem, "depth_bias", 0.0)
    monkeypatch.setattr(mem, "decay", decay)
    asked: list[int] = []  # rows
    nearest = ranking.Ranking._best_of_nearest

    def counted(self: Any, k: int, wanted: int, *arguments: Any) -> Any:
        asked.append(wanted)
        return nearest(self, k, wanted, *arguments)

    monkeypatch.setattr(ranking.Ranking, "_best_of_nearest", counted)
    through_graph = answers(mem, True, k=1, metric=metric)
    assert abs(sum(graph_calls) - 20 * by_graph) < 5
    assert len(asked) < 25  # of 20 queries; a few are promising enough to ask again
    assert through_graph == answers(mem, False, k=1, metric=metric)


def test_rare_matches_and_large_k_are_found(mem: Memory) -> None:
    for arguments in ({"k": 60, "filters": {"rare": True}}, {"k": 2000}, {"k": 10, "filters": {"g": "none"}}):
        assert answers(mem, True, **arguments)[:5] == answers(mem, False, **arguments)[:5]


@pytest.mark.parametrize("decay", [HalfLife(1e12), NoDecay()])
def test_identical_memories_keep_their_order(
    mem: Memory, decay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mem, "depth_bias", 0.0)
    monkeypatch.setattr(mem, "decay", decay)
    for k in (1, 5, 100, 301):
        found = mem.search("0", k=k, touch=False, use_index=True)
        exact = mem.search("0", k=k, touch=False, use_index=False)
        assert [r.id for r in found] == [r.id for r in exact]


def test_the_index_follows_changes(mem: Memory) -> None:
    mem.add(str(N + 400), id="new")
    assert mem.search(str(N + 400), k=1, touch=False)[0].id == "new"
    mem.remove("new")
    assert mem.search(str(N + 400), k=1, touch=False)[0].id != "new"
    query = str(N + 401)
    before = mem.search(query, k=1, touch=False)[0].id
    mem.update(before, text="1")
    assert mem.search(query, k=1, touch=False)[0].id != before
    mem.update(before, text=before)
    assert mem.search(query, k=1, touch=False)[0].id == before


def test_distance_alone_is_ranked_where_the_graph_holds_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """By one native call: the scan's hits to the bit, after removals too."""
    monkeypatch.setattr(ranking, "SCANNED_MEANWHILE", 0)
    mem = Memory(embedder=Clusters(), clock=lambda: NOW)
    mem.add_many({"text": str(i), "id": str(i)} for i in range(N) if not 300 <= i < 303)
    for id in map(str, range(0, N, 7)):
        if id in mem:
            mem.remove(id)
    mem.add_many({"text": str(i), "id": str(i)} for i in range(N, N + 30))  # in the rows of those that went
    mem.build_index("hnsw")
    scanned: list[int] = []
    scan = ranking.Ranking._scan
    monkeypatch.setattr(ranking.Ranking, "_scan", lambda self, *a: scanned.append(1) or scan(self, *a))
    found = answers(mem, True, k=10)
    assert not scanned
    exact = answers(mem, False, k=10)
    same = sum(a == b for x, y in zip(found, exact, strict=True) for a, b in zip(x, y, strict=True))
    assert same >= 0.99 * sum(map(len, exact))


@pytest.mark.parametrize("emptied", [True, False])
def test_memories_too_deep_for_the_graph_are_searched_by_the_scan(
    emptied: bool, graph_calls: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "SCANNED_MEANWHILE", 0)
    monkeypatch.setattr(ranking, "GRAPH_LEAST", 1)
    mem = Memory(embedder=Clusters(), depth_step=1.0, metric="hyperbolic")
    mem.add_many({"text": str(i), "id": str(i)} for i in range(400, 410))
    mem.build_index("hnsw")
    assert mem.search("404", k=1, oversample=1)[0].id == "404"
    assert graph_calls == [True]
    if emptied:
        for id in mem.ids:
            mem.remove(id)
    parent = None
    for level in range(60):
        parent = mem.add(str(500 + level), id=f"level {level}", parent=parent)
    for metric in ("hyperbolic", "shell"):
        asked = {"k": 5, "oversample": 1, "metric": metric, "touch": False}
        through = [hit.id for hit in mem.search("510", use_index=True, **asked)]
        assert through == [hit.id for hit in mem.search("510", use_index=False, **asked)]
    assert graph_calls[1] is False


def test_a_deep_memory_without_direction_is_no_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    class Normal:
        dim = 6

        def embed(self, texts: Sequence[str]) -> Any:
            rows = [
                np.random.default_rng(int(text)).normal(size=6) if text != "0" else np.zeros(6)
                for text in texts
            ]
            return np.stack(rows)

    monkeypatch.setattr(ranking, "SCANNED_MEANWHILE", 0)
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    mem = Memory(embedder=Normal(), clock=lambda: now, metric="hyperbolic", depth_step=500.0, time_coef=5.0)
    mem.decay = HalfLife(1)
    mem.add_many([{"text": str(i), "t": now - timedelta(hours=i)} for i in range(1, 400)])
    mem.build_index("hnsw")
    mem.search("3")  # the graph of depths is there before those that no graph could hold
    below = None
    for _ in range(8):
        below = mem.add("0", parent=below, t=now)
    for query in ("3", "100", "4000"):
        found = mem.search(query, k=8, touch=False)
        assert found == mem.search(query, k=8, touch=False, use_index=False)
