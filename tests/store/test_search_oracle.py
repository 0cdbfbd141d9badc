"""`search` and `search_many` against the oracle: stores, modes, filters, policies and options of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from poincare_memory import Ebbinghaus, HalfLife, Memory, NoDecay, Product, SearchResult, ValidityWindow
from poincare_memory.store import candidates, filtered_keys, ranking
from store.search_oracle import Oracle, Scored, diverse, marginal

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
WORDS = "tea coffee green Lisbon knee running ran".split()
CLOSE = 1e-9  # scores that differ by less may come in either order


class Places:
    """The last word of a text says where it lies: row i of a table with duplicates and zeros in it."""

    dim = 5

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(6, self.dim))
        self.table = centres[rng.integers(0, 6, 300)] + 0.3 * rng.normal(size=(300, self.dim))
        self.table[:25] = self.table[0]
        self.table[25:40] = 0
        self.table[40:50] = self.table[0] * -1

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        return self.table[[int(text.split()[-1]) for text in texts]]


class Own:
    """A policy of the user's own."""

    def weight(self, now: Any, times: Any, counts: Any, valid_from: Any, valid_until: Any) -> Any:
        return np.array([0.2 + 0.8 / (1 + (now - t).total_seconds() / 3600 % 7) for t in times])


def grown(seed: int, n: int, **options: Any) -> Memory:
    """A forest with everything in it, some of it removed or moved again."""
    rng = np.random.default_rng(seed)
    told = {"now": NOW - timedelta(hours=5000)}
    mem = Memory(embedder=Places(seed), clock=lambda: told["now"], **options)
    for i in range(n):
        told["now"] = NOW - timedelta(hours=float(n - i))
        start = NOW - timedelta(hours=float(rng.uniform(0, 50))) if rng.random() < 0.2 else None
        mem.add(
            " ".join([*rng.choice(WORDS, rng.integers(1, 4)), str(rng.integers(0, 300))]),
            id=str(i),
            parent=mem.ids[rng.integers(0, len(mem))] if len(mem) and rng.random() < 0.7 else None,
            t=NOW - timedelta(hours=float(rng.uniform(-10, 500))),
            valid_from=start,
            valid_until=None if start is None else start + timedelta(hours=20),
            meta={"g": int(rng.integers(0, 4)), "tags": [str(rng.choice(WORDS))]}
            if rng.random() < 0.8
            else None,
            pin=bool(rng.random() < 0.1),
        )
        if rng.random() < 0.05:
            mem.remove(mem.ids[rng.integers(0, len(mem))], cascade=True)
    told["now"] = NOW
    mem.search_many(["x 3", "x 7", "x 3"], k=2)  # counts accesses
    return mem


FILTERS: list[Any] = [
    None,
    {"g": 2},
    {"g": {"$gte": 1, "$lt": 3}},
    {"tags": {"$contains": "tea"}},
    {"$or": [{"g": 0}, {"g": {"$exists": False}}]},
    {"g": "no such"},
    lambda record: len(record.text) % 2 == 0,
]
POLICIES: list[Any] = [
    NoDecay(),
    HalfLife(48),
    Ebbinghaus(100, 0.5),
    Product(HalfLife(200), ValidityWindow()),
    Own(),
]
stores = st.fixed_dictionaries(
    {
        "decay": st.sampled_from(POLICIES),
        "depth_bias": st.sampled_from([0.0, 0.0, 0.7, -3.0]),
        "time_coef": st.sampled_from([1.0, 0.0, -2.0, 30.0]),
        "curvature": st.sampled_from([1.0, 0.25, 4.0]),
        "metric": st.sampled_from(["shell", "hyperbolic"]),
        "inherit": st.sampled_from([0.25, 0.0, 0.9]),
    }
)
asked = st.fixed_dictionaries(
    {
        "filters": st.sampled_from(FILTERS),
        "as_of": st.sampled_from([None, None, NOW - timedelta(hours=40)]),
        "lexical_coef": st.sampled_from([0.0, 0.0, 0.4, -0.3, 5.0]),
        "query_depth": st.sampled_from([None, 0.0, 2.5]),
    }
)
modes = st.sampled_from(
    ["nearest", "nearest", "subtree", "subtree of two", "children", "ancestors", "siblings", "cone", "cone"]
)
queries = st.sampled_from([None, "tea 7", "green tea Lisbon 120", "unheard 3", "knee 30", "ran 44"])


def agree(found: list[SearchResult], expected: list[Scored], k: int) -> None:
    """The k best with all their terms, but for the order of scores that only rounding tells apart."""
    by_id = {one.id: one for one in expected}
    assert len(found) == len({hit.id for hit in found}) == min(max(k, 0), len(expected))
    for hit, at_place in zip(found, expected, strict=False):
        told = by_id[hit.id]
        size = CLOSE * (1 + abs(told.score))
        assert abs(hit.score - at_place.score) <= size
        assert abs(hit.score - told.score) <= size
        assert hit.distance == pytest.approx(told.distance, abs=1e-7)
        assert hit.depth == pytest.approx(told.depth, abs=1e-12)
        assert hit.time_weight == pytest.approx(told.weight, rel=1e-9)
        if hit.terms is not None:
            assert sum(hit.terms.values()) == pytest.approx(hit.score, abs=size)
            assert hit.terms["lexical"] == pytest.approx(told.lexical, abs=1e-9)


@pytest.fixture(autouse=True, scope="module")
def every_way() -> Any:
    """Graph and columns of keys however few memories there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "SCANNED_MEANWHILE", 0)
        patch.setattr(ranking, "GRAPH_LEAST", 8)
        patch.setattr(ranking, "GRAPH_WORDS", 3)
        patch.setattr(candidates, "LEAST_CANDIDATES", 1)
        patch.setattr(filtered_keys, "USES", 1)
        yield


@given(
    st.integers(0, 2**32),
    st.integers(0, 60),
    stores,
    asked,
    modes,
    queries,
    st.integers(-1, 70),
    st.booleans(),
)
@settings(max_examples=150, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_every_search_is_the_oracles(
    seed: int, n: int, made: Any, options: Any, mode: str, query: str | None, k: int, indexed: bool
) -> None:
    mem = grown(seed, n, **made)
    options = dict(options)
    if mode != "nearest":
        if not len(mem):
            return
        first = mem.ids[seed % len(mem)]
        options |= {"mode": mode, "root": first}
        if mode == "subtree of two":
            options |= {"mode": "subtree", "root": [first, mem.ids[seed // 7 % len(mem)]]}
    if indexed:
        mem.build_index("hnsw")
    expected = Oracle(mem).scored(query, NOW, **options)
    options |= {"touch": False, "at_time": NOW, "explain": True}
    for use_index in (None, False):
        agree(mem.search(query, k=k, use_index=use_index, **options), expected, k)
    if query is None:
        return
    other = "coffee 9"
    both = mem.search_many([query, other, query], k=k, **options)
    agree(both[0], expected, k)
    assert [hit.to_dict() for hit in both[2]] == [hit.to_dict() for hit in both[0]]
    if expected:
        least = expected[min(len(expected) - 1, 5)].score - 1e-7
        cut = mem.search(query, k=k, min_score=least, **options)
        agree(cut, [one for one in expected if one.score >= least], k)


@given(
    st.integers(0, 2**32),
    st.integers(1, 40),
    stores,
    asked,
    st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    st.integers(1, 8),
)
@settings(max_examples=60, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_a_diverse_choice_is_the_oracles(
    seed: int, n: int, made: Any, options: Any, diversity: float, k: int
) -> None:
    mem = grown(seed, n, **made)
    pool = Oracle(mem).scored("green tea 120", NOW, **options)
    found = mem.search("green tea 120", k=k, diversity=diversity, touch=False, at_time=NOW, **options)
    assert (
        found
        == mem.search_many(["green tea 120"], k=k, diversity=diversity, touch=False, at_time=NOW, **options)[
            0
        ]
    )
    told = {one.id: one for one in pool}
    chosen = diverse(mem, pool, k, diversity)
    assert len(found) == len(chosen)
    ids = [hit.id for hit in found]
    if ids != chosen:  # two were worth the same; what comes after them may be anything
        at = next(i for i, (x, y) in enumerate(zip(ids, chosen, strict=True)) if x != y)
        worth = [marginal(mem, pool, chosen[:at], told[id], diversity) for id in (ids[at], chosen[at])]
        assert worth[0] == pytest.approx(worth[1], abs=1e-7)
    for hit in found:
        assert hit.score == pytest.approx(told[hit.id].score, rel=1e-9, abs=1e-9)
