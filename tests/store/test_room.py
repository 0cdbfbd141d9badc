"""Matrices of vectors grow where they are, as long as there is address space behind them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from poincare_memory import Memory
from poincare_memory.store import room
from poincare_memory.store.room import LEAST_RESERVED, RESERVED, InMemory
from store.snapshots import everything
from store.table_embedder import TableEmbedder

DIM = 64
ROWS = LEAST_RESERVED // (8 * DIM)  # that are large enough to be given more than they ask for


def filled(rows: int) -> np.ndarray[Any, Any]:
    matrix = InMemory().grown("direction", np.zeros((1, DIM)), 1, rows, np.float64)
    matrix[:] = np.arange(rows)[:, None]
    return matrix


@pytest.mark.skipif(not room.address_space_is_free(), reason="this system counts address space")
def test_a_large_matrix_grows_where_it_is() -> None:
    matrix = filled(ROWS)
    for times in (2, 4, RESERVED):
        grown = InMemory().grown("direction", matrix, ROWS, times * ROWS, np.float64)
        assert grown.shape == (times * ROWS, DIM) and np.shares_memory(grown, matrix)
        np.testing.assert_array_equal(grown[:ROWS], matrix)
    beyond = InMemory().grown("direction", grown, ROWS, (RESERVED + 1) * ROWS, np.float64)
    assert not np.shares_memory(beyond, matrix)
    np.testing.assert_array_equal(beyond[:ROWS], matrix)


def test_what_comes_at_once_has_what_it_asks_for() -> None:
    assert InMemory().grown("direction", np.zeros((0, DIM)), 0, ROWS, np.float64).base is None


def test_another_type_and_another_place_are_copied() -> None:
    matrix = filled(ROWS)
    for old, dtype in (
        (matrix.astype(np.float32), np.float64),
        (matrix[1:], np.float64),
        (matrix[::2], np.float64),
    ):
        grown = InMemory().grown("direction", old, len(old), 2 * ROWS, dtype)
        assert grown.dtype == dtype and not np.shares_memory(grown, old)
        np.testing.assert_array_equal(grown[: len(old)], old)


@pytest.mark.parametrize("counted", [True, False])
def test_where_there_is_no_address_space_to_spare_it_has_what_it_asks_for(
    monkeypatch: pytest.MonkeyPatch, counted: bool
) -> None:
    made = list[int]()

    def empty(shape: tuple[int, int], dtype: Any) -> Any:
        made.append(shape[0])
        if shape[0] > ROWS:
            raise MemoryError
        return np.zeros(shape, dtype)

    monkeypatch.setattr(room, "address_space_is_free", lambda: not counted)
    monkeypatch.setattr(room.np, "empty", empty)
    assert room.roomy(ROWS, DIM, np.float64).shape == (ROWS, DIM)
    assert made == ([ROWS] if counted else [RESERVED * ROWS, ROWS])


def test_a_store_that_grew_in_place_and_its_copies_go_apart() -> None:
    rows = 2 * LEAST_RESERVED // (8 * 512)
    vectors = np.random.default_rng(0).normal(size=(rows, 512))
    mem = Memory(TableEmbedder({f"note {i}": vector for i, vector in enumerate(vectors)}))
    mem.add_many({"text": f"note {i}", "id": f"id {i}"} for i in range(rows // 2))
    twins = [copy.copy(mem), copy.deepcopy(mem), pickle.loads(pickle.dumps(mem))]
    before = everything(twins[0])
    for i in range(rows // 2, rows):
        mem.add(f"note {i}", id=f"id {i}")
    for twin in twins:
        assert everything(twin) == before
    at_once = Memory(mem.embedder)
    at_once.add_many({"text": f"note {i}", "id": f"id {i}"} for i in range(rows))
    np.testing.assert_array_equal(
        mem._store.columns.direction[:rows], at_once._store.columns.direction[:rows]
    )
