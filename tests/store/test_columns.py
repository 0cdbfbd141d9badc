"""Columns: rows that come, go and come again, and what others can know of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import Memory
from store.table_embedder import CheapEmbedder, TableEmbedder


def changed_names(mem: Memory, since: int) -> set[str | None] | None:
    rows = mem._store.columns.changed_rows(since)
    return None if rows is None else {mem._store.columns.ids[row] for row in rows.tolist()}


def filled(n: int = 6) -> Memory:
    mem = Memory(CheapEmbedder())
    mem.add_many(
        {"text": f"t {i}", "id": str(i), "parent": str(i - 1) if i in (1, 2) else None} for i in range(n)
    )
    return mem


def test_changed_rows() -> None:
    mem = filled()
    columns = mem._store.columns
    start = columns.structure_version
    assert changed_names(mem, start) == set()
    mem.update("4", meta={"x": 1})
    mem.update("4", text="t 4")
    assert changed_names(mem, start) == set()
    mem.update("1", text="other")
    assert changed_names(mem, start) == {"1", "2"}
    after = columns.structure_version
    mem.add("new", id="new")
    mem.remove("5")
    assert changed_names(mem, after) == {"new", None}
    assert changed_names(mem, start) == {"1", "2", "new", None}
    mem.link("2", "4")
    assert changed_names(mem, columns.structure_version - 1) == {"2"}


def test_changed_rows_after_more_changes_than_the_journal_holds() -> None:
    mem = filled()
    start = mem._store.columns.structure_version
    for i in range(3000):
        mem.update("3", text=f"again {i}")
    assert changed_names(mem, start) == {"3"}


def test_versions_tell_values_from_structure() -> None:
    mem = filled()
    columns = mem._store.columns
    structure, value = columns.structure_version, columns.value_version
    mem.get("3").access_count = 5
    mem.update("3", meta={"a": 1})
    assert columns.structure_version == structure
    assert columns.value_version > value


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=40))
def test_live_rows_are_in_order_of_insertion(turns: list[int]) -> None:
    mem = Memory(CheapEmbedder())
    expected: list[str] = []
    for name in map(str, turns):
        if name in expected:
            mem.remove(name)
            expected.remove(name)
        else:
            mem.add("x", id=name)
            expected.append(name)
        columns = mem._store.columns
        rows = columns.live_rows()
        assert [columns.ids[row] for row in rows.tolist()] == expected
        assert not rows.flags.writeable
        assert (np.diff(columns.order[rows]) > 0).all()
        if columns.dense():
            assert rows.tolist() == list(range(columns.high_water))
    assert mem.ids == expected


def test_float32_embeddings_stay_float32_until_a_float64_one_comes() -> None:
    class Changing:
        dim = 2
        dtype: Any = np.float32

        def embed(self, texts: list[str]) -> Any:
            return np.full((len(texts), 2), 1 / 3, self.dtype)

    embedder = Changing()
    mem = Memory(embedder)
    mem.add("a", id="a")
    assert mem._store.columns.embedding_dtype == np.float32
    embedder.dtype = np.float64
    mem.add("b", id="b")
    columns = mem._store.columns
    assert columns.embedding_dtype == np.float64
    assert columns.embeddings(columns.live_rows()).tolist() == [[float(np.float32(1 / 3))] * 2, [1 / 3] * 2]
    embedder.dtype = np.float32
    mem.add("c", id="c")
    assert mem._store.columns.embedding_dtype == np.float64


def test_a_batch_is_kept_as_it_was_returned() -> None:
    vectors = np.random.default_rng(0).normal(size=(5, 3)) * 7
    mem = Memory(TableEmbedder({str(i): vector for i, vector in enumerate(vectors)}))
    mem.add_many({"text": str(i), "id": str(i)} for i in range(3))
    mem.add_many({"text": str(i), "id": str(i)} for i in range(3, 5))
    assert np.array_equal(mem._store.columns.embeddings(np.arange(5, dtype=np.int32)), vectors)


def test_an_emptied_memory_starts_over() -> None:
    mem = filled()
    for id in reversed(mem.ids):
        mem.remove(id)
    columns = mem._store.columns
    assert (columns.n, columns.high_water, columns.dense()) == (0, 0, True)
    mem.add("again", id="0")
    assert mem.ids == ["0"]
    assert columns.high_water == 1


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 384, 4097])
def test_any_dimension(dim: int) -> None:
    vectors = np.random.default_rng(dim).normal(size=(4, dim))
    mem = Memory(TableEmbedder({str(i): vector for i, vector in enumerate(vectors)}))
    mem.add_many({"text": str(i), "id": str(i), "parent": str(i - 1) if i else None} for i in range(4))
    np.testing.assert_allclose(
        np.linalg.norm(mem.points, axis=1), np.tanh(np.arange(1, 3, 0.5) / 2), rtol=0, atol=1e-14
    )
