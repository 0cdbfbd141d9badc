"""Deep and wide: no recursion, nothing quadratic."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from poincare_memory import Memory
from store.table_embedder import CheapEmbedder

LEVELS = 5000


@pytest.fixture(scope="module")
def chain() -> Memory:
    mem = Memory(CheapEmbedder())
    mem.add_many(
        {"text": f"node {i}", "id": str(i), "parent": str(i - 1) if i else None} for i in range(LEVELS)
    )
    return mem


def test_a_chain_of_5000_levels(chain: Memory) -> None:
    last = str(LEVELS - 1)
    assert chain.level(last) == LEVELS - 1
    assert chain.ancestors(last) == [str(i) for i in reversed(range(LEVELS - 1))]
    assert chain.descendants("0") == [str(i) for i in range(1, LEVELS)]
    assert chain.stats()["max_level"] == LEVELS - 1
    assert len(chain.tree(str(LEVELS - 500)).splitlines()) == 500
    depths = [row["depth"] for row in chain.table()]
    assert (np.diff(depths) == 0.5).all()
    with pytest.raises(ValueError, match="under itself"):
        chain.link("0", last)


def test_a_drawing_of_gigabytes_is_refused() -> None:
    mem = Memory(CheapEmbedder())
    count = 50_000
    mem.add_many({"text": "node", "id": str(i), "parent": str(i - 1) if i else None} for i in range(count))
    with pytest.raises(ValueError, match=r"tree: 50000 memories down to level 49999 .* draw a branch"):
        mem.tree()
    with pytest.raises(ValueError, match="level 49998"):
        mem.tree("1")
    assert len(mem.tree(str(count - 100)).splitlines()) == 100


def test_edits_of_a_deep_chain(chain: Memory) -> None:
    chain.update("0", text="a new beginning")
    assert chain.depth("3") == 2.5
    chain.link("1000", None)
    assert (chain.level("1000"), chain.level("4999")) == (0, 3999)
    chain.link("1000", "999")
    assert chain.level("4999") == 4999
    chain.add("one more", id="more", parent="4999")
    assert chain.depth("more") == 1.0 + 5000 * 0.5
    chain.remove("1", cascade=True)
    assert chain.ids == ["0"]


def grows(work: Callable[[int], float]) -> bool:
    """Four times the work takes at most nine times as long, or no time at all."""
    small, large = work(5000), work(20000)
    return large < 0.25 or large < 9 * small


def wide(n: int) -> Memory:
    mem = Memory(CheapEmbedder())
    mem.add("root", id="r")
    mem.add_many({"text": f"c {i}", "id": str(i), "parent": "r"} for i in range(n))
    return mem


@pytest.mark.parametrize("order", ["eldest first", "youngest first", "shuffled"])
def test_removing_children_one_by_one_is_linear(order: str) -> None:
    def work(n: int) -> float:
        mem = wide(n)
        ids = mem.children("r")
        if order == "youngest first":
            ids.reverse()
        if order == "shuffled":
            np.random.default_rng(0).shuffle(ids)
        start = time.process_time()
        for id in ids:
            mem.remove(id)
        taken = time.process_time() - start
        assert mem.ids == ["r"]
        return taken

    assert grows(work)


def test_linking_away_and_removing_a_wide_tree() -> None:
    mem = wide(20000)
    for i in range(0, 20000, 40):
        mem.link(str(i), "1")
    assert len(mem.children("r")) == 19500
    assert mem.children("1") == [str(i) for i in range(0, 20000, 40)]
    mem.remove("r", cascade=True)
    assert len(mem) == 0
    assert mem.add("again", id="r") == "r"


def test_churn_uses_rows_again() -> None:
    mem = wide(100)
    for turn in range(2000):
        mem.remove(str(turn))
        mem.add(f"c {turn}", id=str(100 + turn), parent="r")
    columns = mem._store.columns
    assert columns.capacity < 250
    assert len(columns.ids) == columns.high_water < 250
    assert mem.children("r") == [str(i) for i in range(2000, 2100)]
    assert mem.ids == ["r", *mem.children("r")]
