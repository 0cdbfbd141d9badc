"""Wrong arguments of a search, and calls of the user's own code."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from poincare_memory import Memory
from store.searched_memories import HOUR, NOW, Angles, family, fan, ids, memory

# --- arguments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -3, 5])
@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"mode": "zzz"}, ValueError, "unknown mode 'zzz'"),
        ({"mode": None}, ValueError, "unknown mode None"),
        ({"mode": "zzz", "root": "r"}, ValueError, "unknown mode 'zzz'"),
        ({"mode": "subtree"}, ValueError, "mode='subtree' needs root"),
        ({"mode": "cone", "query": None}, ValueError, "mode='cone' needs root"),
        ({"mode": "subtree", "root": "typo"}, KeyError, "typo"),
        ({"root": "typo"}, KeyError, "typo"),
        ({"mode": "subtree", "root": {"id": "r"}}, TypeError, "root: expected the id of a memory"),
        ({"mode": "subtree", "root": [["r"]]}, TypeError, "root: expected the id of a memory"),
        ({"query": ""}, ValueError, "query"),
        ({"query": " \n"}, ValueError, "query"),
        ({"query": 5}, ValueError, "query"),
        ({"metric": "euclidean"}, ValueError, "metric"),
        ({"query_depth": -1.0}, ValueError, "query_depth"),
        ({"query_depth": math.nan}, ValueError, "query_depth"),
        ({"query_depth": math.inf}, ValueError, "query_depth"),
        ({"query_depth": "deep"}, TypeError, "query_depth"),
        ({"filters": [("g", 1)]}, TypeError, "filters"),
        ({"filters": "g"}, TypeError, "filters"),
        ({"at_time": "2026-01-01"}, TypeError, "at_time"),
        ({"at_time": 1.7e9}, TypeError, "at_time"),
        ({"oversample": "many"}, TypeError, "oversample"),
    ],
)
def test_wrong_arguments_are_named_whatever_the_store_holds(
    arguments: dict[str, Any], error: type[Exception], said: str, filled: bool, k: int
) -> None:
    mem = family() if filled else memory()
    if arguments.get("root") == "r" and not filled:
        return
    with pytest.raises(error, match=said):
        mem.search(**{"query": "q@0", "k": k, **arguments})
    assert all(record.access_count == 0 for record in mem)


@pytest.mark.parametrize("k", [2.5, "3", None])
def test_k_is_a_whole_number(k: Any) -> None:
    with pytest.raises(TypeError, match="k: expected an integer"):
        family().search("q@0", k=k)


@pytest.mark.parametrize("use_index", [True, False, None])
def test_k_of_any_size(use_index: bool | None) -> None:
    mem = fan(5)
    for k, expected in [(np.int64(2), 2), (np.uint8(3), 3), (5, 5), (1000, 5), (2**40, 5), (0, 0), (-3, 0)]:
        assert len(mem.search("q@0", k=k, use_index=use_index)) == expected  # type: ignore[arg-type]


def test_nothing_to_search() -> None:
    assert memory().search("q@0") == memory().search(None) == []
    assert fan(3).search("q@0", filters={"g": "no such"}) == []
    assert fan(3).search("q@0", filters=lambda record: False) == []


def test_a_root_does_not_restrict_the_nearest_mode() -> None:
    assert len(family().search("q@0", k=50, root="a")) == 7


def test_metadata_values_that_are_arrays() -> None:
    mem = fan(3)
    mem.get("1").meta["v"] = np.array([1, 2])
    assert mem.search("q@0", filters={"v": 5}) == []
    assert ids(mem.search("q@0", filters={"v": np.array([1, 2])})) == ["1"]


# --- calls of the user's own code -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [{}, {"use_index": True}, {"filters": {"g": 1}}, {"metric": "hyperbolic"}]
)
def test_one_call_of_embedder_and_clock(arguments: dict[str, Any]) -> None:
    ticks: list[int] = []

    def clock() -> datetime:
        ticks.append(1)
        return NOW

    mem = fan(5, clock=clock)
    mem.build_index()
    embedder = mem.embedder
    assert isinstance(embedder, Angles)
    embedder.asked.clear()
    ticks.clear()
    mem.search("q@0", **arguments)
    assert (embedder.asked, len(ticks)) == ([["q@0"]], 1)
    mem.search("q@0", at_time=NOW, touch=False, **arguments)
    assert len(ticks) == 1


def test_a_search_without_query_does_not_ask_the_embedder() -> None:
    mem = fan(5)
    assert isinstance(mem.embedder, Angles)
    mem.embedder.asked.clear()
    mem.search(None, k=2)
    assert mem.embedder.asked == []


class Halves:
    """Weight 1/2 at even places of what it is asked about; keeps the question."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def weight(self, now: Any, times: Any, counts: Any, valid_from: Any, valid_until: Any) -> Any:
        self.asked.append((now, times, counts, valid_from, valid_until))
        return np.where(np.arange(len(times)) % 2, 1.0, 0.5)


def test_a_policy_of_the_users_own_is_asked_about_what_passes_the_filter() -> None:
    policy = Halves()
    mem = memory(decay=policy)
    for i in range(4):
        mem.add(
            f"i@{i}", id=str(i), t=NOW - i * HOUR, valid_until=NOW if i == 3 else None, meta={"keep": i != 1}
        )
    found = mem.search("q@0", k=4, filters={"keep": True})
    assert policy.asked == [
        (NOW, [NOW, NOW - 2 * HOUR, NOW - 3 * HOUR], [0, 0, 0], [None] * 3, [None, None, NOW])
    ]
    assert {result.id: result.time_weight for result in found} == {"0": 0.5, "2": 1.0, "3": 0.5}
    for result in found:
        assert result.score == pytest.approx(-result.distance + math.log(result.time_weight), abs=1e-12)


@pytest.mark.parametrize("weights", [[0.5], [math.nan] * 3, [2.0] * 3, [-1.0] * 3, "abc", None])
def test_a_policy_that_answers_nonsense_is_noticed(weights: Any) -> None:
    class Nonsense:
        def weight(self, *arguments: Any) -> Any:
            return weights

    mem = fan(3, decay=Nonsense())
    with pytest.raises(ValueError, match="Nonsense"):
        mem.search("q@0")
    assert all(record.access_count == 0 for record in mem)


def test_filters_and_policies_may_use_and_change_the_memory() -> None:
    mem = fan(20)

    def removing(record: Any) -> bool:
        if record.id in ("0", "7") and record.id in mem:
            mem.remove(record.id)
            mem.add("new@0", id=f"new{record.id}")
            mem.search("q@0", k=1, touch=False)
        return True

    assert ids(mem.search("q@0", k=3, filters=removing)) == ["1", "2", "3"]

    class Removing:
        def weight(self, now: Any, times: Any, *rest: Any) -> Any:
            mem.remove("1")
            return np.ones(len(times))

    mem.decay = Removing()
    assert ids(mem.search("q@0", k=3, filters={"g": 1})) == []
    assert "1" not in mem


def test_a_slow_embedder_does_not_keep_others_waiting() -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow(Angles):
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
            if texts[0].startswith("slow"):
                entered.set()
                assert leave.wait(10)
            return super().embed(texts)

    mem = Memory(embedder=Slow(), clock=lambda: NOW)
    mem.add("i@0", id="a")
    results: list[Any] = []
    searching = threading.Thread(target=lambda: results.extend(mem.search("slow@0")))
    searching.start()
    assert entered.wait(10)
    mem.add("i@0", id="b")
    assert ids(mem.search("q@0")) == ["a", "b"]
    leave.set()
    searching.join(10)
    assert ids(results) == ["a", "b"]
