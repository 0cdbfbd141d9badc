"""MIPSIndex: exact backends against plain distances, the graph's recall, and what comes in wrong."""

from __future__ import annotations

import copy
import importlib.util
import pickle
from typing import Any

import numpy as np
import pytest

import poincare_memory.index as index_module
from poincare_memory import MIPSIndex, PoincareBall

BALL = PoincareBall(0.7)
EXACT: list[Any] = ["auto", "numpy"]


def points(n: int, dim: int = 5, deepest: float = 6.0, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return BALL.point_at(rng.normal(size=(n, dim)), rng.uniform(0, deepest, n))


@pytest.mark.parametrize("backend", EXACT)
@pytest.mark.parametrize("k", [1, 7, 50, 1000])
def test_the_nearest_in_order_with_their_inner_products(backend: Any, k: int) -> None:
    stored, query = points(50), points(1, seed=1)[0]
    indices, scores = MIPSIndex(BALL, backend).build(stored).query(query, k)
    distances = BALL.distance(query, stored)
    assert indices.tolist() == np.argsort(distances, kind="stable")[:k].tolist()
    products = BALL.to_lorentz(stored[indices]) @ (BALL.to_lorentz(query) * [-1, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(scores, products, rtol=1e-9)
    assert (indices.dtype, scores.dtype) == (np.int64, np.float64)


@pytest.mark.parametrize("backend", EXACT)
def test_equal_points_come_in_row_order(backend: Any) -> None:
    index = MIPSIndex(BALL, backend).build(np.tile(points(1), (30, 1)))
    assert index.query(points(1)[0], 5)[0].tolist() == [0, 1, 2, 3, 4]


def test_the_graph_finds_the_nearest_at_mixed_depths() -> None:
    stored = points(2000, dim=8)
    exact, graph = MIPSIndex(BALL, "numpy").build(stored), MIPSIndex(BALL, "hnsw").build(stored)
    queries = points(40, dim=8, seed=2)
    hits = sum(len({*exact.query(q, 10)[0]} & {*graph.query(q, 10)[0]}) for q in queries)
    assert hits >= 0.95 * 400


@pytest.mark.parametrize(("stored", "dim", "asked"), [(300, 8, 64), (1200, 8, 128), (1200, 80, 132)])
def test_more_points_and_dimensions_have_more_candidates(
    stored: int, dim: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "MANY_POINTS", 300)
    index = MIPSIndex(BALL, "hnsw").build(points(stored, dim=dim))
    query = points(1, dim=dim, seed=1)[0]
    answer = index.query(query, 3)[0].tolist()
    graph, candidates = index._graph, []

    class Asked:
        def search(self, *arguments: Any, ef: int, **options: Any) -> Any:
            candidates.append(ef)
            return graph.search(*arguments, ef=ef, **options)

    monkeypatch.setattr(index, "_graph", Asked())
    assert (index.query(query, 3)[0].tolist(), candidates) == (answer, [asked])


@pytest.mark.parametrize("empty", [[], np.zeros((0, 5)), np.zeros((0, 0))])
def test_an_index_of_nothing_finds_nothing(empty: Any) -> None:
    for index in (MIPSIndex(BALL), MIPSIndex(BALL).build(empty)):
        indices, scores = index.query(points(1)[0], 3)
        assert (index.size, indices.tolist(), scores.tolist()) == (0, [], [])
    assert MIPSIndex(BALL).build(points(3)).query(points(1)[0], 0)[0].tolist() == []


def test_the_points_are_copied_and_may_be_replaced() -> None:
    stored = points(9)
    index = MIPSIndex(BALL, "numpy").build(stored)
    before = index.query(stored[4], 3)[0].tolist()
    query = stored[4].copy()
    stored[:] = 0
    assert index.query(query, 3)[0].tolist() == before
    assert index.build(points(2)).size == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.full((2, 3), np.nan), "row 0 is not finite"),
        ([[0.1, 0.1], [3.0, 0.0]], "row 1 has norm 3"),
        ([0.1, 0.2], r"expected shape \(n, d\)"),
        (np.zeros((1, 2, 3)), r"expected shape \(n, d\)"),
    ],
)
def test_wrong_points_leave_the_index_as_it_was(wrong: Any, message: str) -> None:
    index = MIPSIndex(BALL).build(points(4))
    with pytest.raises(ValueError, match=message):
        index.build(wrong)
    assert index.size == 4


def test_wrong_queries_and_settings() -> None:
    index = MIPSIndex(BALL).build(points(4))
    for wrong in ([0.1, 0.1], [np.nan] * 5, [1.0] * 5, [[0.1] * 5]):
        with pytest.raises(ValueError, match="query point"):
            index.query(np.array(wrong), 2)
    with pytest.raises(TypeError):
        index.query(points(1)[0], 2.0)  # type: ignore[arg-type]
    for settings in ({"backend": "annoy"}, {"hnsw_m": 1}, {"ef_search": 0}, {"n_threads": 0}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            MIPSIndex(BALL, **settings)  # type: ignore[arg-type]


@pytest.mark.skipif(importlib.util.find_spec("faiss") is not None, reason="faiss is installed")
def test_without_faiss_the_error_names_the_extra() -> None:
    with pytest.raises(ImportError, match=r"poincare-memory\[ann\]"):
        MIPSIndex(BALL, "faiss").build(points(4))


def test_the_graph_of_a_tree_finds_what_the_scan_finds() -> None:
    """In a tree the few nodes near the centre are closer to all others than those are to each other."""
    rng = np.random.default_rng(0)
    ball = PoincareBall()
    parents = [-1 if i < 20 else int(rng.integers(0, i)) for i in range(3000)]
    levels = np.zeros(3000)
    for i, parent in enumerate(parents):
        levels[i] = 0 if parent < 0 else levels[parent] + 1
    tree = ball.point_at(rng.normal(size=(3000, 16)), 1.0 + 0.5 * levels)
    graph, exact = MIPSIndex(ball, backend="hnsw").build(tree), MIPSIndex(ball, backend="numpy").build(tree)
    assert graph._graph is not None
    for i in range(0, 3000, 60):
        assert graph.query(tree[i], 1)[0].tolist() == [i]
        assert graph.query(tree[i], 10)[0].tolist() == exact.query(tree[i], 10)[0].tolist()


@pytest.mark.parametrize("backend", [*EXACT, "hnsw"])
@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))]
)
def test_copies_answer_as_the_original(backend: Any, duplicate: Any) -> None:
    """A graph of C++ is no picture of itself: it is built again."""
    stored = points(200)
    index = MIPSIndex(BALL, backend, n_threads=1).build(stored)
    again = duplicate(index)
    for query in points(5, seed=3):
        for ours, theirs in zip(index.query(query, 10), again.query(query, 10), strict=True):
            assert ours.tolist() == theirs.tolist()
    assert (again._graph is None) == (index._graph is None)
    again.build(points(3))
    assert (index.size, again.size) == (200, 3)
