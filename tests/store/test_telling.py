"""What a memory says of itself and of calls that it refuses; `async with`."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import Memory, MIPSIndex, PoincareBall
from poincare_memory.hierarchy import TrainingReport
from poincare_memory.store import StoreClosedError
from store.table_embedder import CheapEmbedder


def test_remove_says_how_to_remove_several() -> None:
    mem = Memory(CheapEmbedder())
    ids = mem.add_many([{"text": "a"}, {"text": "b"}])
    with pytest.raises(TypeError, match=r"one memory \(str\), got list; .* mem.transaction\(\)"):
        mem.remove(ids)  # type: ignore[arg-type]  # what is refused
    assert mem.ids == ids


def test_context_names_itself() -> None:
    mem = Memory(CheapEmbedder())
    with pytest.raises(TypeError, match=r"Memory.context\(\) got .*'max_tokens'.*`budget`"):
        mem.context("a", max_tokens=100)
    assert mem.context("a", mode="nearest", explain=True) == ""


def test_context_of_a_search_of_ones_own() -> None:
    class Own(Memory):
        def search(self, *args: Any, shout: bool = False, **options: Any) -> Any:
            return super().search(*args, **options)

    mem = Own(CheapEmbedder())
    mem.add("a")
    assert mem.context("a", shout=True).endswith("a")


def test_an_index_tells_what_it_is() -> None:
    mem = Memory(CheapEmbedder())
    mem.add_many([{"text": str(i)} for i in range(9)])
    assert mem.index is None
    assert mem.build_index() is mem.index
    assert repr(mem.index) == "ShellIndex(backend='auto', size=9, graphs=[])"
    mem.build_index("hnsw")
    graph = "graphs=['shell'], hnsw_m=32, ef_construction=200, ef_search=64)"
    assert repr(mem.index) == f"ShellIndex(backend='hnsw', size=9, {graph}"
    mem.add("another")
    assert "size=10" in repr(mem.index)
    points = np.array([[0.1, 0.2], [0.3, 0.1]])
    alone = MIPSIndex(PoincareBall(), "hnsw").build(points)
    assert repr(alone).startswith("MIPSIndex(backend='hnsw', size=2, graphs=['hyperbolic'], hnsw_m=32")
    assert repr(MIPSIndex(PoincareBall())) == "MIPSIndex(backend='auto', size=0, graphs=[])"


def test_an_index_that_comes_back_tells_its_graphs(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=CheapEmbedder()) as mem:
        mem.add_many([{"text": str(i)} for i in range(9)])
        mem.build_index("hnsw")
    with Memory.open(tmp_path / "m.db", embedder=CheapEmbedder()) as mem:
        before = repr(mem.index)
        mem.search("3", use_index=True)
        assert "graphs=['shell']" in before
        assert repr(mem.index) == before


@pytest.mark.parametrize("act", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_index_of_a_memory_stays_with_it(act: Any) -> None:
    mem = Memory(CheapEmbedder())
    mem.add("a")
    index = mem.build_index("hnsw")
    with pytest.raises(TypeError, match="pickle or copy the Memory"):
        act(index)
    assert copy.deepcopy(mem).build_index("hnsw").size == 1


def test_a_report_shows_few_losses() -> None:
    few = TrainingReport(2, 0.5, [1.0, 0.5], seconds=1.5, seed=3)
    assert repr(few) == "TrainingReport(epochs=2, final_loss=0.5, losses=[1, 0.5], seconds=1.5, seed=3)"
    many = TrainingReport(1000, 0.25, [1 / (i + 1) for i in range(999)] + [0.25])
    assert "losses=[1, ..., 0.25]" in repr(many)
    assert "losses=[]" in repr(TrainingReport(0, float("nan"), []))


def test_async_with_closes_in_a_worker_thread(tmp_path: Path) -> None:
    closed_by = []

    class Watched(Memory):
        def close(self) -> None:
            closed_by.append(threading.current_thread())
            super().close()

    async def use(fail: bool) -> Memory:
        async with Watched.open(tmp_path / "m.db", embedder=CheapEmbedder()) as mem:
            await mem.aadd("tea")
            if fail:
                raise ZeroDivisionError
        return mem

    mem = asyncio.run(use(False))
    assert closed_by[0] is not threading.main_thread()
    with pytest.raises(StoreClosedError):
        mem.add("more")
    with pytest.raises(ZeroDivisionError):
        asyncio.run(use(True))
    assert len(closed_by) == 2
    with Memory.open(tmp_path / "m.db", embedder=CheapEmbedder()) as again:
        assert [record.text for record in again] == ["tea", "tea"]
