"""`Memory.search`: who competes, what it scores, what it refuses, what it leaves behind."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import Ebbinghaus, HalfLife, Memory, Product, ValidityWindow
from store.searched_memories import HOUR, NOW, family, fan, ids, memory

# --- modes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "root", "expected"),
    [
        ("nearest", None, ["r", "a", "b", "a1", "a2", "b1", "s"]),
        ("subtree", "r", ["r", "b", "b1", "a", "a2", "a1"]),
        ("subtree", "a", ["a", "a2", "a1"]),
        ("children", "r", ["a", "b"]),
        ("children", "a1", []),
        ("ancestors", "a1", ["a", "r"]),
        ("siblings", "a", ["b"]),
        ("siblings", "r", ["s"]),
        ("cone", "r", ["a", "b", "a1", "a2", "b1"]),
        ("cone", "a1", ["a2", "b1"]),  # they lie where it lies: energy 0
    ],
)
def test_who_competes_and_in_which_order_ties_stay(mode: Any, root: str | None, expected: list[str]) -> None:
    results = family().search(None, k=50, mode=mode, root=root, touch=False)
    assert ids(results) == expected
    assert all(result.distance == 0 and result.score == 0 for result in results)
    energies = [result.cone_energy for result in results]
    assert energies == ([0.0] * len(results) if mode == "cone" else [None] * len(results))


def test_removed_rows_that_are_used_again_keep_the_order_of_insertion() -> None:
    mem = fan(10)
    for id in ("3", "0", "7"):
        mem.remove(id)
    for id in ("x", "y", "z"):
        mem.add("again@0.005", id=id)
    assert ids(mem.search(None, k=20, touch=False)) == ["1", "2", "4", "5", "6", "8", "9", "x", "y", "z"]
    assert ids(mem.search("q@0.005", k=4)) == ["5", "x", "y", "z"]
    assert ids(mem.search("q@0.005", k=2, mode="siblings", root="5")) == ["x", "y"]
    assert ids(mem.search(None, mode="cone", root="5")) == ["x", "y", "z"]


# --- scores ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["shell", "hyperbolic"])
def test_every_term_of_the_score(metric: Any) -> None:
    mem = family(decay=HalfLife(24), depth_bias=0.3, time_coef=0.7, curvature=2.0)
    mem.update("b1", t=NOW - 48 * HOUR)
    for result in mem.search("q@0.5", k=10, metric=metric, query_depth=1.25, touch=False):
        depth = mem.depth(result.id)
        r, s = (1.25, depth) if metric == "hyperbolic" else (1.0, 1.0)
        half = math.sin(abs((0.5 if result.id != "s" else 1.5) - (0.1 if result.id != "s" else 0)) / 2)
        root = math.sqrt(2)
        q = math.sinh(root * (r - s) / 2) ** 2 + math.sinh(root * r) * math.sinh(root * s) * half**2
        distance = 2 * math.asinh(math.sqrt(q)) / root
        weight = 0.25 if result.id == "b1" else 1.0
        assert result.distance == pytest.approx(distance, abs=1e-12)
        assert result.time_weight == pytest.approx(weight, abs=1e-12)
        assert result.depth == depth
        assert result.score == pytest.approx(-distance + 0.3 * depth + 0.7 * math.log(weight), abs=1e-12)


def test_results_carry_plain_python_numbers() -> None:
    result = family().search("q@0.3", k=1, mode="cone", root="r")[0]
    for value in (result.score, result.distance, result.time_weight, result.depth, result.cone_energy):
        assert type(value) is float


def test_the_same_text_is_at_distance_zero() -> None:
    rng = np.random.default_rng(4)
    vectors = {str(i): rng.normal(size=(1, 384)) * 10.0 ** rng.uniform(-3, 3) for i in range(20)}

    class Table:
        dim = 384

        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
            return np.concatenate([vectors[text] for text in texts])

    mem = Memory(embedder=Table())
    mem.add_many({"text": str(i), "id": str(i)} for i in range(20))
    for text in vectors:
        for metric in ("shell", "hyperbolic"):
            best = mem.search(text, k=1, metric=metric, touch=False)[0]  # type: ignore[arg-type]
            assert (best.id, best.distance) == (text, 0.0)


def test_a_memory_without_direction_is_as_far_as_the_opposite_one() -> None:
    mem = memory(base_depth=1.5)
    mem.add("none@", id="none")
    mem.add(f"opposite@{math.pi}", id="opposite")
    mem.add("side@1.5", id="side")
    found = {result.id: result.distance for result in mem.search("q@0", k=3)}
    assert list(found) == ["side", "none", "opposite"]
    assert found["none"] == pytest.approx(3.0, abs=1e-12)
    # and a query without direction leaves the decision to depth and time
    assert [result.distance for result in mem.search("q@", k=3)] == pytest.approx([3.0] * 3, abs=1e-12)
    mem.update("side", t=NOW - 1000 * HOUR)
    mem.decay = HalfLife(24)
    assert ids(mem.search("q@", k=3)) == ["none", "opposite", "side"]


def test_deep_memories_do_not_saturate() -> None:
    mem = memory(depth_step=5.0)
    parent = None
    for level in range(200):
        parent = mem.add(f"i@{0.001 * level}", id=str(level), parent=parent)
    results = mem.search("q@0", k=200, metric="hyperbolic", query_depth=500.0)
    assert len({result.distance for result in results}) == 200
    assert all(math.isfinite(result.score) for result in results)


def brute_force(mem: Memory, query: str, k: int, at: datetime, keep: Callable[[Any], bool]) -> list[str]:
    results = [r for r in mem.search(query, k=10**6, at_time=at, touch=False, use_index=False) if keep(r)]
    return ids(sorted(results, key=lambda r: -r.score)[:k])


policies = st.sampled_from(
    [HalfLife(24), Ebbinghaus(100, 0.5), Product(HalfLife(500), ValidityWindow()), Product()]
)


@given(st.integers(0, 10**6), policies, st.sampled_from([0.0, 1.0, -2.0]), st.sampled_from([0.0, 3.0, -3.0]))
@settings(max_examples=40, deadline=None)
def test_filters_decay_and_depth_never_cost_a_result(
    seed: int, policy: Any, time_coef: float, depth_bias: float
) -> None:
    rng = np.random.default_rng(seed)
    n = 300
    mem = memory(decay=policy, time_coef=time_coef, depth_bias=depth_bias)
    mem.add_many(
        {
            "text": f"i@{rng.uniform(-3, 3)}" if rng.random() < 0.8 else "same@0.2",
            "id": str(i),
            "parent": str(rng.integers(0, i)) if i and rng.random() < 0.7 else None,
            "t": NOW - float(rng.uniform(0, 3000)) * HOUR,
            "valid_until": NOW if rng.random() < 0.3 else None,
            "meta": {"g": int(rng.integers(0, 5))},
        }
        for i in range(n)
    )
    if seed % 2:
        mem.build_index()
    at = NOW + HOUR
    metric: Any = "hyperbolic" if seed % 3 else "shell"
    mem.metric = metric
    for k in (1, 7, 40):
        for use_index in (False, True, None):
            found = mem.search("q@0.2", k=k, at_time=at, filters={"g": 2}, touch=False, use_index=use_index)
            assert ids(found) == brute_force(mem, "q@0.2", k, at, lambda r: r.record.meta["g"] == 2)
        found = mem.search("q@0.2", k=k, at_time=at, filters=lambda r: len(r.id) > 2, touch=False)
        assert ids(found) == brute_force(mem, "q@0.2", k, at, lambda r: len(r.id) > 2)


# --- touch ----------------------------------------------------------------------------------------------------


def test_touch_counts_what_is_returned_at_the_time_of_the_clock() -> None:
    mem = fan(5)
    results = mem.search("q@0", k=2, at_time=NOW - 99 * HOUR)
    assert [result.record.access_count for result in results] == [1, 1]
    assert [mem.get(str(i)).access_count for i in range(5)] == [1, 1, 0, 0, 0]
    assert [mem.get(str(i)).last_accessed for i in range(5)] == [NOW, NOW, None, None, None]
    mem.search("q@0", k=2, touch=False)
    assert mem.get("0").access_count == 1


def test_what_is_accessed_often_fades_slower() -> None:
    mem = memory(decay=Ebbinghaus(24))
    mem.add("x@0", id="x", t=NOW - 72 * HOUR)
    weights = [mem.search("x@0", touch=touch)[0].time_weight for touch in (False, True, True)]
    assert weights[0] == weights[1] < weights[2]
    assert weights[2] == pytest.approx(math.exp(-72 / 36), abs=1e-12)


def test_searches_of_many_threads_count_every_access() -> None:
    mem = fan(50)
    threads = [threading.Thread(target=lambda: [mem.search("q@0", k=3) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [mem.get(str(i)).access_count for i in range(4)] == [200, 200, 200, 0]
