"""stats, table, tree, repr and frame: what a memory says of itself."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import Ebbinghaus, HalfLife, Memory, NoDecay, Product, ValidityWindow
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def family(**settings: Any) -> Memory:
    mem = Memory(CheapEmbedder(), clock=lambda: NOW, **settings)
    mem.add_many(
        [
            {"text": "grandmother", "id": "g", "t": NOW - timedelta(hours=48)},
            {"text": "mother", "id": "m", "parent": "g", "t": NOW - timedelta(hours=24)},
            {"text": "aunt", "id": "a", "parent": "g", "meta": {"tags": ["x"]}},
            {"text": "me", "id": "i", "parent": "m", "valid_until": NOW - timedelta(hours=1)},
            {"text": "neighbour", "id": "n"},
        ]
    )
    return mem


def test_stats() -> None:
    mem = family(decay=HalfLife(24))
    mem.get("a").access_count = 2
    assert mem.stats() == {
        "count": 5,
        "roots": 2,
        "max_level": 2,
        "levels": {0: 2, 1: 2, 2: 1},
        "dim": 8,
        "curvature": 1.0,
        "metric": "shell",
        "decay": {"type": "half_life", "hours": 24},
        "depth_min": 1.0,
        "depth_max": 2.0,
        "oldest": "2025-12-30T00:00:00+00:00",
        "newest": "2026-01-01T00:00:00+00:00",
        "mean_time_weight": (0.25 + 0.5 + 1 + 1 + 1) / 5,
        "accesses": 2,
    }
    later = mem.stats(at_time=NOW + timedelta(hours=24))
    assert later["mean_time_weight"] == pytest.approx((0.25 + 0.5 + 1 + 1 + 1) / 10, rel=1e-12)


def test_stats_of_nothing() -> None:
    empty = Memory(CheapEmbedder()).stats()
    assert empty["count"] == empty["roots"] == empty["max_level"] == empty["accesses"] == 0
    assert empty["levels"] == {}
    for key in ("depth_min", "depth_max", "oldest", "newest", "mean_time_weight"):
        assert empty[key] is None
    assert Memory().table() == []
    assert Memory().tree() == ""


def test_table() -> None:
    mem = family(decay=HalfLife(36))
    row = mem.table()[1]
    assert row == {
        "id": "m",
        "text": "mother",
        "parent": "g",
        "level": 1,
        "depth": 1.5,
        "t": "2025-12-31T00:00:00+00:00",
        "weight": 0.629961,
        "accesses": 0,
        "meta": {},
    }
    mem.table()[2]["meta"]["tags"].append("y")
    assert mem.get("a").meta == {"tags": ["x"]}


def test_tree() -> None:
    mem = family()
    assert mem.tree() == "\n".join(
        [
            "grandmother  [g d=1.00]",
            "├── mother  [m d=1.50]",
            "│   └── me  [i d=2.00]",
            "└── aunt  [a d=1.50]",
            "neighbour  [n d=1.00]",
        ]
    )
    assert mem.tree("m") == "mother  [m d=1.50]\n└── me  [i d=2.00]"
    assert mem.tree("i", max_text=1) == "…  [i d=2.00]"
    assert mem.tree("g", max_text=11).startswith("grandmother  [")
    assert mem.tree("g", max_text=10).startswith("grandmoth…  [")
    with pytest.raises(KeyError, match="unknown id 'nobody'"):
        mem.tree("nobody")
    with pytest.raises(ValueError, match="max_text"):
        mem.tree(max_text=0)


@pytest.mark.parametrize("text", ["two\nlines", "two\r\nlines", "two\u2028lines", "two\x0blines"])
def test_a_memory_is_one_line_of_the_tree(text: str) -> None:
    mem = Memory(CheapEmbedder())
    mem.add(text, id="x")
    mem.add("one line", id=text)
    assert mem.tree() == "two lines  [x d=1.00]\none line  [two lines d=1.00]"


def test_repr_names_what_matters() -> None:
    assert repr(family(curvature=2.5)) == "Memory(n=5, dim=8, curvature=2.5, decay=NoDecay(), metric='shell')"


POLICIES = st.sampled_from(
    [
        NoDecay(),
        HalfLife(30),
        Ebbinghaus(24, 0.5),
        ValidityWindow(0.01),
        Product(HalfLife(50), ValidityWindow(), Ebbinghaus(80)),
    ]
)
HOURS = st.integers(-500, 500)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(HOURS, st.integers(0, 9), HOURS, HOURS), min_size=1, max_size=8), POLICIES, HOURS)
def test_weights_are_those_of_the_policy(rows: Any, policy: Any, later: int) -> None:
    """The kernel over columns, a policy of the user's own with the same formula, and the policy on lists."""

    class Own:
        def weight(self, *arguments: Any) -> Any:
            return policy.weight(*arguments)

    weights = []
    at = NOW + timedelta(hours=later)
    for decay in (policy, Own()):
        mem = Memory(CheapEmbedder(), decay=decay, clock=lambda: NOW)
        for i, (hours, accesses, start, length) in enumerate(rows):
            begin = NOW + timedelta(hours=start)
            mem.add(
                "x",
                id=str(i),
                t=NOW - timedelta(hours=hours),
                valid_from=begin,
                valid_until=begin + timedelta(hours=abs(length)),
            )
            mem.get(str(i)).access_count = accesses
        weights.append(mem.time_weights(mem.ids, at))
        assert mem.stats(at)["mean_time_weight"] == pytest.approx(weights[-1].mean(), rel=1e-12)
    records = list(mem)
    expected = policy.weight(
        at,
        [r.t for r in records],
        [r.access_count for r in records],
        [r.valid_from for r in records],
        [r.valid_until for r in records],
    )
    np.testing.assert_allclose(weights[0], expected, rtol=1e-12, atol=0)
    np.testing.assert_allclose(weights[1], expected, rtol=1e-12, atol=0)


def test_time_weights_of_some_and_none() -> None:
    mem = family(decay=HalfLife(24))
    np.testing.assert_allclose(mem.time_weights(["m", "g", "m"]), [0.5, 0.25, 0.5])
    assert mem.time_weights([]).shape == (0,)
    with pytest.raises(KeyError):
        mem.time_weights(["m", "nobody"])


@pytest.mark.parametrize("wrong", ["2026-01-01", 1.7e9, NOW.date(), np.datetime64("2026-01-01")])
def test_wrong_moments_are_type_errors(wrong: Any) -> None:
    mem = family()
    for read in (mem.stats, mem.table, lambda at_time: mem.time_weights(["m"], at_time)):
        with pytest.raises(TypeError, match="at_time"):
            read(at_time=wrong)


def test_dataframe() -> None:
    frame = family().to_dataframe()
    assert list(frame.columns) == [
        "id",
        "text",
        "parent",
        "level",
        "depth",
        "t",
        "weight",
        "accesses",
        "meta",
    ]
    assert frame["id"].tolist() == ["g", "m", "a", "i", "n"]
    assert list(Memory().to_dataframe().columns) == list(frame.columns)
