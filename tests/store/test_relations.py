"""path, lca, context, and the asynchronous twins."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import Memory

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


@pytest.fixture
def mem() -> Memory:
    mem = Memory(clock=lambda: NOW)
    mem.add_many(
        [
            {"text": "Drinks", "id": "drinks"},
            {"text": "Green tea\nfrom Uji", "id": "tea", "parent": "drinks", "t": NOW - timedelta(days=1)},
            {"text": "Tea whisk", "id": "whisk", "parent": "tea", "t": NOW - timedelta(days=9)},
            {"text": "Black coffee", "id": "coffee", "parent": "drinks", "t": NOW - timedelta(days=5)},
            {"text": "Tea tax", "id": "tax", "t": NOW - timedelta(days=30)},
        ]
    )
    return mem


def test_path_and_lca(mem: Memory) -> None:
    assert mem.path("whisk") == ["drinks", "tea", "whisk"]
    assert mem.path("tax") == ["tax"]
    assert mem.lca("whisk", "coffee") == "drinks"
    assert mem.lca("whisk", "tea") == "tea"
    assert mem.lca("tea", "tea") == "tea"
    assert mem.lca("tax", "tea") is None
    for call in (lambda: mem.path("x"), lambda: mem.lca("tea", "x"), lambda: mem.lca("x", "tea")):
        with pytest.raises(KeyError):
            call()


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=25), st.data())
def test_lca_is_the_last_shared_step_of_both_paths(choices: list[int], data: st.DataObject) -> None:
    mem = Memory()
    for i, choice in enumerate(choices):
        above = choice % (i + 1)
        mem.add("x", id=str(i), parent=None if above == i else str(above))
    a, b = (str(data.draw(st.integers(0, len(choices) - 1))) for _ in "ab")
    shared = [one for one, other in zip(mem.path(a), mem.path(b), strict=False) if one == other]
    assert mem.lca(a, b) == (shared[-1] if shared else None)


def test_context_shows_matches_under_their_ancestors(mem: Memory) -> None:
    assert mem.context("tea", k=3) == (
        "- [2026-05-02] Tea tax\n- Drinks\n  - [2026-05-31] Green tea from Uji\n    - [2026-05-23] Tea whisk"
    )
    block = mem.context("coffee tea", k=5)
    assert block.count("Drinks") == 1
    assert len(block.splitlines()) == 5


def test_context_keeps_to_its_budget(mem: Memory) -> None:
    whole = mem.context("green tea", k=5)
    for budget in range(len(whole) + 5):
        block = mem.context("green tea", budget=budget, k=5)
        assert len(block) <= budget
    assert mem.context("green tea", budget=len(whole), k=5) == whole
    assert "Green tea" in mem.context("green tea", budget=45, k=5)
    assert mem.context("green tea", budget=24, k=5).endswith("…")
    assert mem.context("green tea", budget=0) == ""
    assert Memory().context("tea") == ""
    with pytest.raises(ValueError, match="budget"):
        mem.context("tea", budget=-1)
    with pytest.raises(TypeError, match="budget"):
        mem.context("tea", budget=1.5)  # type: ignore[arg-type]


def test_the_twins_do_what_their_methods_do() -> None:
    async def session() -> None:
        mem = Memory(clock=lambda: NOW)
        assert await mem.aadd("Drinks", id="drinks") == "drinks"
        assert await mem.aadd_many([{"text": "Tea", "id": "tea", "parent": "drinks"}]) == ["tea"]
        await mem.aupdate("tea", text="Green tea")
        assert [hit.id for hit in await mem.asearch("tea", k=1)] == ["tea"]
        assert [[hit.id for hit in hits] for hits in await mem.asearch_many(["tea"], k=1)] == [["tea"]]
        assert await mem.acontext("tea", 200, k=1) == mem.context("tea", 200, k=1)
        await mem.aremove("drinks", cascade=True)
        assert len(mem) == 0
        with pytest.raises(KeyError):
            await mem.aremove("drinks")

    asyncio.run(session())


def test_the_loop_goes_on_and_a_search_can_be_cancelled() -> None:
    begun, let_go = threading.Event(), threading.Event()

    class Slow:
        dim = 2

        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
            begun.set()
            let_go.wait(10)
            return np.ones((len(texts), 2))

    async def session() -> int:
        mem = Memory(embedder=Slow())
        task = asyncio.create_task(mem.aadd("x", id="x"))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(mem) == 0
        let_go.set()
        while len(mem) == 0:  # what had begun happens, whole
            await asyncio.sleep(0.001)
        return len(mem)

    assert asyncio.run(asyncio.wait_for(session(), 20)) == 1
