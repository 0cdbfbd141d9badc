"""Many queries at once get the answers of single searches; explain, min_score, diversity, several roots."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from poincare_memory import Ebbinghaus, HalfLife, Memory, NoDecay, SearchResult
from poincare_memory._core import _kernels
from poincare_memory.store import batches

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
N = 3000


class Clusters:
    """Text "i" is row i of a fixed matrix; some rows are identical, some zero."""

    dim = 24

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(30, self.dim))
        self.matrix = centres[rng.integers(0, 30, N + 200)] + 0.2 * rng.normal(size=(N + 200, self.dim))
        self.matrix[:40] = self.matrix[0]
        self.matrix[40:45] = 0
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        self.calls += 1
        return self.matrix[[int(text.split()[-1]) for text in texts]]


@pytest.fixture(scope="module")
def mem() -> Memory:
    rng = np.random.default_rng(1)
    mem = Memory(embedder=Clusters(), clock=lambda: NOW)
    mem.add_many(
        {
            "text": f"memory number {i}",
            "id": str(i),
            "parent": str(rng.integers(0, i)) if i and i % 3 else None,
            "t": NOW - timedelta(hours=float(rng.uniform(0, 1000))),
            "meta": {"g": i % 2},
        }
        for i in range(N)
    )
    for i in (2990, 2995):
        mem.remove(str(i), cascade=True)
    return mem


QUERIES = [str(i) for i in (N, N + 1, N + 2, 0, 42, 77, N + 9)]


def plain(hits: list[SearchResult]) -> list[Any]:
    return [(hit.id, hit.score, hit.distance, hit.time_weight, hit.terms) for hit in hits]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"decay": HalfLife(200)},
        {"decay": Ebbinghaus(100), "time_coef": -0.5, "depth_bias": 0.7},
        {"depth_bias": -2.0},
        {"decay": HalfLife(0.001), "time_coef": 1e6},
        {"lexical_coef": 0.4},
    ],
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 1},
        {"k": 40, "metric": "hyperbolic"},
        {"metric": "hyperbolic", "query_depth": 2.5},
        {"filters": {"g": 1}},
        {"filters": lambda record: record.meta["g"] == 0},
        {"mode": "subtree", "root": "0"},
        {"k": 10**6},
        {"diversity": 0.4, "k": 8},
        {"min_score": -1.0, "explain": True},
        {"filters": {"g": 5}},
    ],
)
def test_the_answers_are_those_of_single_searches(
    mem: Memory, settings: dict[str, Any], options: dict[str, Any]
) -> None:
    old = {name: getattr(mem, name) for name in settings}
    for name, value in settings.items():
        setattr(mem, name, value)
    try:
        together = mem.search_many(QUERIES, touch=False, **options)
        alone = [mem.search(query, touch=False, **options) for query in QUERIES]
    finally:
        for name, value in old.items():
            setattr(mem, name, value)
    assert list(map(plain, together)) == list(map(plain, alone))


class OwnPlaces(Memory):
    """Query "i" lies in the direction of row i, or in none, at one of `depths`."""

    depths = (1.0, 1.0)

    def embed_query(self, query: str, depth: float | None = None) -> npt.NDArray[np.float64]:
        number = int(query.split()[-1])
        direction = self.embedder.embed([query])[0]
        norm = max(float(np.linalg.norm(direction)), 1e-300)
        own: npt.NDArray[np.float64] = direction / norm * np.tanh(self.depths[number % 2] / 2)
        return own


@pytest.mark.parametrize("metric", ["shell", "hyperbolic"])
@pytest.mark.parametrize("depths", [(1.0, 1.0), (0.5, 2.0)])
def test_queries_that_a_subclass_places(metric: Any, depths: tuple[float, float]) -> None:
    mem = OwnPlaces(embedder=Clusters(), clock=lambda: NOW)
    mem.depths = depths
    mem.add_many([{"text": str(i), "id": str(i)} for i in range(600)])
    together = mem.search_many(QUERIES, k=10, touch=False, metric=metric)
    alone = [mem.search(query, k=10, touch=False, metric=metric) for query in QUERIES]
    assert list(map(plain, together)) == list(map(plain, alone))


@pytest.mark.parametrize("metric", ["shell", "hyperbolic"])
def test_one_pass_answers_all_queries(mem: Memory, monkeypatch: pytest.MonkeyPatch, metric: Any) -> None:
    """Otherwise the test above would compare scans with scans."""
    answered: list[int] = []
    original = _kernels.scan_batch

    def counted(*arguments: Any) -> Any:
        answers = original(*arguments)
        answered.append(len(answers or ()))
        return answers

    monkeypatch.setattr(_kernels, "scan_batch", counted)
    monkeypatch.setattr(mem, "decay", HalfLife(200))
    mem.search_many(QUERIES, touch=False, metric=metric)
    without_direction = 1
    assert answered == [len(QUERIES) - without_direction]
    monkeypatch.setattr(batches, "QUERIES_AT_ONCE", 2)
    mem.search_many(QUERIES, touch=False, metric=metric)
    assert answered[1:] == [2, 2, 2]


def test_radii_beyond_float32_are_left_to_the_scan() -> None:
    mem = Memory(embedder=Clusters(), clock=lambda: NOW, depth_step=30.0, metric="hyperbolic")
    parent = None
    for i in range(100, 140):
        parent = mem.add(str(i), id=str(i), parent=parent)
    options: dict[str, Any] = {"k": 5, "query_depth": 400.0, "touch": False}
    together = mem.search_many(QUERIES, **options)
    assert list(map(plain, together)) == [plain(mem.search(query, **options)) for query in QUERIES]


class Asked:
    """A policy of the user's own that counts how often it is asked."""

    def __init__(self) -> None:
        self.times = 0

    def weight(self, now: Any, times: Any, counts: Any, valid_from: Any, valid_until: Any) -> Any:
        self.times += 1
        return np.linspace(0.1, 1.0, len(times))


def test_the_users_own_code_is_asked_once_for_all_queries(
    mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Asked()
    seen: list[str] = []
    monkeypatch.setattr(mem, "decay", policy)

    def odd(record: Any) -> bool:
        seen.append(record.id)
        return int(record.id) % 2 == 1

    together = mem.search_many(QUERIES, k=7, filters=odd, touch=False, at_time=NOW)
    assert policy.times == 1
    assert len(seen) == len(set(seen)) == len(mem)
    alone = [mem.search(query, k=7, filters=odd, touch=False, at_time=NOW) for query in QUERIES]
    assert list(map(plain, together)) == list(map(plain, alone))


def test_one_call_of_the_embedder_and_accesses_counted_once_a_query() -> None:
    embedder = Clusters()
    mem = Memory(embedder=embedder, clock=lambda: NOW)
    mem.add_many({"text": str(i), "id": str(i)} for i in range(100, 110))
    embedder.calls = 0
    hits = mem.search_many(["100", "100", "101"], k=1)
    assert embedder.calls == 1
    assert [[hit.id for hit in found] for found in hits] == [["100"], ["100"], ["101"]]
    assert mem.get("100").access_count == 2
    assert mem.get("101").last_accessed == NOW


def test_nothing_asked_and_nothing_there(mem: Memory) -> None:
    assert mem.search_many([]) == []
    assert mem.search_many(["1", "2"], k=0) == [[], []]
    assert Memory().search_many(["tea"]) == [[]]
    for wrong in ("tea", b"tea"):
        with pytest.raises(TypeError, match="wrap it in a list"):
            mem.search_many(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="query 1"):
        mem.search_many(["1", " "])
    with pytest.raises(ValueError, match="query 1"):
        mem.search_many(["1", None])  # type: ignore[list-item]


def test_terms_add_up_to_the_score(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"decay": HalfLife(200), "depth_bias": 0.3, "time_coef": 0.8}.items():
        monkeypatch.setattr(mem, name, value)
    hits = mem.search("number 7", touch=False, explain=True, lexical_coef=0.5)
    for hit in hits:
        assert hit.terms is not None
        assert set(hit.terms) == {"distance", "depth", "time", "lexical"}
        assert sum(hit.terms.values()) == pytest.approx(hit.score, abs=1e-12)
        assert hit.to_dict()["terms"] == hit.terms
    assert hits[0].terms is not None
    assert hits[0].terms["lexical"] > 0
    assert mem.search("7", touch=False)[0].terms is None
    assert "terms" not in mem.search("7", touch=False)[0].to_dict()


def test_several_queries_in_the_place_of_one_are_told_of_it() -> None:
    with pytest.raises(ValueError, match=r"non-empty string.*search_many"):
        Memory().search(["tea", "tax"])  # type: ignore[arg-type]


def test_min_score_cuts(mem: Memory) -> None:
    everything = mem.search("7", k=50, touch=False)
    cut = everything[20].score
    some = mem.search("7", k=50, touch=False, min_score=cut)
    assert plain(some) == plain([hit for hit in everything if hit.score >= cut])
    with pytest.raises(ValueError, match="min_score"):
        mem.search("7", min_score=float("nan"))


def test_diversity_takes_one_of_many_alike(mem: Memory) -> None:
    flat = Memory(embedder=Clusters(), clock=lambda: NOW)
    flat.add_many({"text": str(i), "id": str(i)} for i in [*range(30), *range(100, 1000)])
    alike = {str(i) for i in range(30)}
    best = flat.search("0", k=5, touch=False)
    assert {hit.id for hit in best} <= alike
    mixed = [hit.id for hit in flat.search("0", k=5, touch=False, diversity=0.6)]
    assert mixed[0] == best[0].id
    assert len(alike & set(mixed)) == 1
    assert plain(mem.search("0", k=5, touch=False, diversity=0.0)) == plain(mem.search("0", k=5, touch=False))
    assert len(mem.search("0", k=5, touch=False, diversity=1.0)) == 5
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="diversity"):
            mem.search("0", diversity=wrong)


def test_several_roots(mem: Memory) -> None:
    two = mem.search("7", k=10**6, mode="subtree", root=["3", "0", "3"], touch=False)
    expected = {"0", "3", *mem.descendants("0"), *mem.descendants("3")}
    assert {hit.id for hit in two} == expected
    assert len(two) == len(expected)
    nested = mem.descendants("0")[0]
    assert {hit.id for hit in mem.search(k=10**6, mode="subtree", root=("0", nested), touch=False)} == {
        "0",
        *mem.descendants("0"),
    }
    with pytest.raises(ValueError, match="several ids"):
        mem.search("7", mode="children", root=["0", "3"])
    with pytest.raises(ValueError, match="at least one"):
        mem.search("7", mode="subtree", root=[])
    with pytest.raises(KeyError, match="nobody"):
        mem.search("7", mode="subtree", root=["0", "nobody"])


def test_a_zero_embedding_and_no_decay(mem: Memory) -> None:
    mem_hits = mem.search_many(["42"], k=3, touch=False)[0]
    assert len(mem_hits) == 3
    assert isinstance(mem.decay, NoDecay)


def test_edges_of_single_and_many_alike() -> None:
    """Zero directions, k of any size, nothing that matches, copies: the same from both, and no surprise."""
    mem = Memory(embedder=Clusters(), clock=lambda: NOW, lexical_coef=0.3)
    assert mem.search_many(["1", "42"], k=3) == [[], []]
    mem.add_many({"text": f"memory {i}", "id": str(i), "meta": {"g": 1}} for i in [*range(30), 40, 41, 42])
    cases: list[dict[str, Any]] = [
        {"k": 0}, {"k": -1}, {"k": 33}, {"k": 34}, {"k": 2**62}, {"filters": {"g": 2}}, {"filters": {"x": 1}},
        {"min_score": 1e9}, {"diversity": 1.0, "k": 2**40}, {"lexical_coef": 0.0, "k": 40},
    ]  # fmt: skip
    for options in cases:
        together = mem.search_many(QUERIES, touch=False, **options)
        assert list(map(plain, together)) == [plain(mem.search(q, touch=False, **options)) for q in QUERIES]
        expected = 0 if {"filters", "min_score"} & set(options) else min(33, max(0, options["k"]))
        assert {len(hits) for hits in together} == {expected}
    without_direction = mem.search("42", k=40, touch=False, lexical_coef=0.0)
    assert {hit.distance for hit in without_direction} == {2.0}
    assert [hit.id for hit in without_direction] == mem.ids


def test_a_query_that_is_not_finite_changes_nothing() -> None:
    class Broken(Clusters):
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
            found = super().embed(texts)
            found[-1, 3] = np.nan
            return found

    mem = Memory(embedder=Clusters(), clock=lambda: NOW)
    mem.add("1", id="1")
    mem.embedder = Broken()
    with pytest.raises(ValueError, match="returned nan at place 3 of the embedding of text 0"):
        mem.search("1")
    with pytest.raises(ValueError, match="returned nan at place 3 of the embedding of text 1"):
        mem.search_many(["1", "1"])
    assert mem.get("1").access_count == 0
