"""Training epochs against a float64 NumPy oracle with the same draws, and against finite differences."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory._core import _kernels

MARGIN = 1 - _kernels.BALL_EPS_FLOAT64
WORD = 2**64 - 1


class Xoshiro:
    """xoshiro256++ in Python integers."""

    def __init__(self, words):
        self.s = [int(word) for word in words]

    def below(self, bound):
        s = self.s
        total = (s[0] + s[3]) & WORD
        result = ((((total << 23) | (total >> 41)) & WORD) + s[0]) & WORD
        t = (s[1] << 17) & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = ((s[3] << 45) | (s[3] >> 19)) & WORD
        return ((result >> 32) * bound) >> 32


def excluded_lists(pairs, nodes):
    lists = [sorted({u, *(v for a, v in pairs if a == u)}) for u in range(nodes)]
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    shifted = np.array([node - i for one in lists for i, node in enumerate(one)], np.int32)
    return lists, start, shifted


def oracle_samples(pairs, nodes, negatives, words, exclude):
    """The pairs in the order of one epoch, each with its negatives."""
    random = Xoshiro(words)
    order = list(pairs)
    for i in range(len(order), 1, -1):
        j = random.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    lists, _, _ = excluded_lists(pairs, nodes)
    for u, v in order:
        forbidden = set(lists[u]) if exclude else {u, v}
        allowed = [node for node in range(nodes) if node not in forbidden]
        yield u, v, [allowed[random.below(len(allowed))] for _ in range(negatives if allowed else 0)]


def poincare_terms(u, x):
    """Distance, and its Riemannian gradients at u and at x (curvature 1)."""
    a, b, gap = 1 - u @ u, 1 - x @ x, u - x
    delta = 2 * (gap @ gap) / (a * b)
    sinh = np.sqrt(delta * (delta + 2))
    if sinh == 0:
        return 0.0, 0 * u, 0 * x
    at_u = (a * gap + (gap @ gap) * u) / (b * sinh)
    at_x = (-b * gap + (gap @ gap) * x) / (a * sinh)
    return np.arcsinh(sinh), at_u, at_x


def euclidean_terms(u, x):
    d = np.linalg.norm(u - x)
    direction = (u - x) / d if d else 0 * u
    return d, direction, -direction


def oracle_epoch(points, pairs, negatives, words, exclude, rate, terms, ball):
    total = 0.0
    for u, v, drawn in oracle_samples(pairs, len(points), negatives, words, exclude):
        others = [v, *drawn]
        found = [terms(points[u], points[x]) for x in others]
        weight = np.exp(-np.array([d for d, _, _ in found]))
        weight /= weight.sum()
        total -= np.log(weight[0])
        slope = -weight
        slope[0] += 1
        points[u] -= rate * sum(s * at_u for s, (_, at_u, _) in zip(slope, found, strict=True))
        for s, x, (_, _, at_x) in zip(slope, others, found, strict=True):
            points[x] -= rate * s * at_x
        for node in {u, *others} if ball else ():
            norm = np.linalg.norm(points[node])
            points[node] *= min(1.0, MARGIN / max(norm, 1e-300))
    return total


def kernel_epoch(points, pairs, negatives, words, exclude, rate, ball, dtype):
    nodes, dim = points.shape
    source, target = np.array(pairs, np.int32).T.copy()
    _, start, shifted = excluded_lists(pairs, nodes)
    run = _kernels.TrainingRun(
        nodes, source, target, start if exclude else None, shifted if exclude else None, negatives, words
    )
    rows = np.zeros((nodes, _kernels.training_stride(dim, dtype == np.float32)), dtype)
    rows[:, :dim] = points
    if ball:
        gap = (1 - (rows * rows).sum(axis=1)).astype(dtype)
        loss = _kernels.poincare_epoch(run, rows, gap, rate)
        np.testing.assert_allclose(gap, 1 - (rows.astype(float) ** 2).sum(axis=1), atol=1e-6)
    else:
        loss = _kernels.euclidean_epoch(run, rows, rate)
    assert not rows[:, dim:].any()
    return rows[:, :dim].astype(float), loss


@st.composite
def tasks(draw):
    nodes = draw(st.integers(2, 12))
    edge = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda e: e[0] != e[1])
    pairs = draw(st.lists(edge, min_size=1, max_size=12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dim = draw(st.sampled_from([1, 2, 3, 5, 8, 9, 10, 17, 33]))
    direction = rng.normal(size=(nodes, dim))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    points = direction * rng.uniform(0.05, 0.8, (nodes, 1))
    return points, pairs, rng.integers(1, 2**64, 4, dtype=np.uint64)


@pytest.mark.parametrize("ball", [True, False])
@given(tasks(), st.integers(1, 12), st.booleans())
@settings(max_examples=60, deadline=None)
def test_epoch_equals_the_oracle(ball, task, negatives, exclude):
    """Order, negatives, loss, every step. A negative drawn twice steps twice: equal to second order."""
    points, pairs, words = task
    rate = 1e-5
    expected = points.copy()
    terms = poincare_terms if ball else euclidean_terms
    loss = oracle_epoch(expected, pairs, negatives, words, exclude, rate, terms, ball)
    # float32: half an ulp for each of up to 150 updates of a row.
    for dtype, tolerance in ((np.float64, 1e-8), (np.float32, 5e-6)):
        got, got_loss = kernel_epoch(points, pairs, negatives, words, exclude, rate, ball, dtype)
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
        assert got_loss == pytest.approx(loss, rel=1e-5, abs=1e-6)


def test_step_is_the_riemannian_gradient_of_the_loss():
    """Finite differences of the loss itself: three nodes, one pair, its one possible negative."""
    rng = np.random.default_rng(3)
    points = rng.uniform(-0.4, 0.4, (3, 4))

    def loss_at(rows):
        near, far = poincare_terms(rows[0], rows[1])[0], poincare_terms(rows[0], rows[2])[0]
        return near + np.log(np.exp(-near) + np.exp(-far))

    gradient = np.zeros_like(points)
    for place in np.ndindex(*points.shape):
        step = np.zeros_like(points)
        step[place] = 1e-6
        gradient[place] = (loss_at(points + step) - loss_at(points - step)) / 2e-6
    gradient *= (1 - (points**2).sum(axis=1, keepdims=True)) ** 2 / 4
    words = np.arange(1, 5, dtype=np.uint64)
    moved, loss = kernel_epoch(points, [(0, 1)], 1, words, True, 1e-3, True, np.float64)
    assert loss == pytest.approx(loss_at(points), rel=1e-12)
    np.testing.assert_allclose((points - moved) / 1e-3, gradient, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("ball", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coincident_points_stay_finite(ball, dtype):
    points = np.zeros((4, 3))
    points[3] = 0.5
    words = np.arange(1, 5, dtype=np.uint64)
    moved, loss = kernel_epoch(points, [(0, 1), (1, 2)], 5, words, True, 0.5, ball, dtype)
    assert np.isfinite(moved).all()
    assert np.isfinite(loss)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rate", [1.0, 1e3, 1e9])
def test_large_steps_end_inside_the_margin(dtype, rate):
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 0.5, (20, 3))
    pairs = [(i, (i * 7 + 1) % 20) for i in range(20) if i != (i * 7 + 1) % 20]
    words = np.arange(1, 5, dtype=np.uint64)
    for _ in range(5):
        points, loss = kernel_epoch(points, pairs, 6, words, True, rate, True, dtype)
        assert np.isfinite(loss)
        assert np.linalg.norm(points, axis=1).max() <= MARGIN + 1e-7


def test_complete_graph_moves_nothing():
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 2))
    pairs = [(u, v) for u in range(4) for v in range(4) if u != v]
    words = np.arange(1, 5, dtype=np.uint64)
    moved, loss = kernel_epoch(points, pairs, 10, words, True, 0.1, True, np.float64)
    assert loss == 0
    np.testing.assert_array_equal(moved, points)


def test_long_lists_of_excluded_nodes():
    """A hub with more related nodes than are counted one by one."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-0.3, 0.3, (120, 3))
    pairs = [(5, v) for v in [*range(6, 90), 0, 119]] + [(7, 5), (119, 0)]
    words = np.arange(1, 5, dtype=np.uint64)
    expected = points.copy()
    oracle_epoch(expected, pairs, 7, words, True, 1e-5, poincare_terms, True)
    got, _ = kernel_epoch(points, pairs, 7, words, True, 1e-5, True, np.float64)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-8)


SMALL_RUN = """
import hashlib
import numpy as np
from poincare_memory.hierarchy.rsgd import fit_euclidean_embeddings, fit_poincare_embeddings
edges = [(i, j) for i in range(60) for j in range(i + 1, 60) if (i * j) % 7 == 3]
for fit in (fit_poincare_embeddings, fit_euclidean_embeddings):
    for dim in (2, 10):
        points, report = fit(edges, dim=dim, epochs=15, lr=0.3)
        print(hashlib.sha256(np.stack(list(points.values())).astype("<f4").tobytes()).hexdigest()[:16])
"""


def test_same_bits_on_every_simd_level_and_platform():
    """The digests are of one machine: a processor, compiler or level that differs breaks the promise."""
    for level in ("baseline", "avx2", "avx512"):
        env = {**os.environ, "POINCARE_MEMORY_SIMD": level}
        found = subprocess.run(
            [sys.executable, "-c", SMALL_RUN], env=env, capture_output=True, text=True, check=True
        )
        assert found.stdout.split() == GOLDEN, level


GOLDEN = ["349cb741066fa1c5", "7241a5a471b6349a", "6208521f08bcb19e", "1511ea3a22c61cca"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"source": np.array([5], np.int32)}, "two different nodes"),
        ({"source": np.array([1], np.int32)}, "two different nodes"),
        ({"target": np.array([-1], np.int32)}, "two different nodes"),
        ({"target": np.array([1, 2], np.int32)}, "equally long"),
        ({"start": np.zeros(3, np.int64)}, "nodes \\+ 1"),
        (
            {"start": np.array([0, 2, 1, 3], np.int64), "shifted": np.zeros(3, np.int32)},
            "list of excluded nodes",
        ),
        ({"random": np.zeros(3, np.uint64)}, "four words"),
    ],
)
def test_a_run_refuses_what_would_leave_the_arrays(change, says):
    good = {
        "nodes": 3,
        "source": np.array([0], np.int32),
        "target": np.array([1], np.int32),
        "start": None,
        "shifted": None,
        "negatives": 2,
        "random": np.ones(4, np.uint64),
    }
    _kernels.TrainingRun(**good)
    with pytest.raises(ValueError, match=says):
        _kernels.TrainingRun(**{**good, **change})


def test_rows_of_another_shape_are_refused():
    pair = np.array([0], np.int32), np.array([1], np.int32)
    run = _kernels.TrainingRun(3, *pair, None, None, 2, np.ones(4, np.uint64))
    for rows in (np.zeros((2, 8), np.float32), np.zeros((3, 7), np.float32), np.zeros((3, 0), np.float32)):
        with pytest.raises(ValueError, match="points must have"):
            _kernels.euclidean_epoch(run, rows, 0.1)
    with pytest.raises(ValueError, match="boundary_gap"):
        _kernels.poincare_epoch(run, np.zeros((3, 8), np.float32), np.zeros(2, np.float32), 0.1)


def test_other_threads_run_during_an_epoch():
    pairs = 20_000
    source, target = np.zeros(pairs, np.int32), np.ones(pairs, np.int32)
    run = _kernels.TrainingRun(100, source, target, None, None, 200, np.ones(4, np.uint64))
    rows = np.random.default_rng(0).random((100, 8)).astype(np.float32)
    ticks = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            ticks.append(time.perf_counter())

    def ticked_inside_an_epoch():
        started = time.perf_counter()
        _kernels.euclidean_epoch(run, rows, 0.1)
        ended = time.perf_counter()
        third = (ended - started) / 3
        return any(started + third < tick < ended - third for tick in ticks)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        # A loaded machine may not schedule the counter during one epoch; a held GIL never lets it.
        assert any(ticked_inside_an_epoch() for _ in range(20))
    finally:
        done.set()
        counter.join()
