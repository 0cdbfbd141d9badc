"""Training epochs against a float64 NumPy oracle with the same draws, and against finite differences."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from native.training_oracle import (
    FILTERED,
    IN_CACHE,
    LIMIT,
    TERMS,
    kernel_epoch,
    oracle_epoch,
    oracle_samples,
    taken_for_related,
    with_defaults,
)
from poincare_memory._core import _kernels


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


OPTIONS = st.fixed_dictionaries(
    {
        "negatives": st.integers(1, 12),
        "exclude": st.booleans(),
        "weighted": st.booleans(),
        "temperature": st.sampled_from([1.0, 2.0, 3.0, 8.0, 0.5, 2.5, 40.0]),
        "hard": st.sampled_from([0, 1, 3]),
    }
)


@pytest.mark.parametrize("manifold", TERMS)
@given(tasks(), OPTIONS)
@settings(max_examples=60, deadline=None)
def test_epoch_equals_the_oracle(manifold, task, options):
    """Order, negatives, loss, every step. A negative drawn twice steps twice, the second time from where the first led:
    equal to the square of a step over the distance.
    """
    points, pairs, words = task
    nodes = len(points)
    options["intruders"] = {u: [(u + 1) % nodes, (u + nodes - 1) % nodes] for u in range(0, nodes, 2)}
    expected = points.copy()
    loss = oracle_epoch(expected, pairs, words, manifold, **options)
    second_order = 0.0
    full = with_defaults(options, nodes)
    if repeated := sum(len(d) - len(set(d)) for _, _, d in oracle_samples(pairs, nodes, words, full)):
        closest = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(nodes, 1)].min()
        assume(closest > 0.01)
        second_order = repeated * full["rate"] ** 2 / closest
    # float32: half an ulp for each of up to 180 updates of a row.
    for dtype, tolerance in ((np.float64, 1e-8), (np.float32, 6e-6)):
        got, got_loss = kernel_epoch(points, pairs, words, manifold, dtype, **options)
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance + second_order)
        assert got_loss == pytest.approx(loss, rel=3e-5, abs=3e-6)


@pytest.mark.parametrize("exclude", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("past_a_line", [0, 1])
def test_negatives_of_a_large_table_come_out_of_a_pool(exclude, weighted, past_a_line):
    """Few nodes of very many dimensions are a table that does not fit the cache. Rows that have room hold filters,
    of all nodes but the last ones, whose lists are too long.
    """
    nodes, dim = 60, IN_CACHE // 8 // 60 // 4 * 4 + 4 + past_a_line
    rng = np.random.default_rng(7)
    points = rng.normal(size=(nodes, dim))
    points *= rng.uniform(0.05, 0.8, (nodes, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    pairs = [(u, v) for u in range(10) for v in range(u % 3, 10 + 4 * u, 2) if u != v]
    words = rng.integers(1, 2**64, 4, dtype=np.uint64)
    options = {"negatives": 7, "exclude": exclude, "weighted": weighted, "rate": 1e-6}
    expected = points.copy()
    filtered = exclude and past_a_line == 1
    loss = oracle_epoch(expected, pairs, words, pooled=True, filtered=filtered, **options)
    got, got_loss = kernel_epoch(points, pairs, words, **options)
    assert got_loss == pytest.approx(loss, rel=1e-9)
    step = np.linalg.norm(expected - points, axis=1)
    assert (np.linalg.norm(got - expected, axis=1) <= 1e-4 * step).all()


@given(st.sets(st.integers(0, 10_000), max_size=FILTERED), st.integers(0, 2**32 - 1))
def test_a_filter_holds_its_nodes_and_few_others(related, salt):
    """Of the oracle, which the kernel equals. None is overlooked; of the others at most two in five are held, too."""
    held = taken_for_related(related, 10_001, salt)
    assert held >= related
    assert len(held) <= len(related) + 10_000 * 0.4


@pytest.mark.parametrize("manifold", TERMS)
@pytest.mark.parametrize("beta", [1.0, 2.5, 4.0])
def test_step_is_the_riemannian_gradient_of_the_loss(manifold, beta):
    """Finite differences of the loss itself: three nodes, one pair, its one possible negative."""
    rng = np.random.default_rng(3)
    points = rng.uniform(-0.4, 0.4, (3, 4))

    def loss_at(rows):
        near, far = (TERMS[manifold](rows[0], rows[k])[0] for k in (1, 2))
        return (beta * near + np.log(np.exp(-beta * near) + np.exp(-beta * far))) / beta

    gradient = np.zeros_like(points)
    for place in np.ndindex(*points.shape):
        step = np.zeros_like(points)
        step[place] = 1e-6
        gradient[place] = (loss_at(points + step) - loss_at(points - step)) / 2e-6
    if manifold == "poincare":
        gradient *= (1 - (points**2).sum(axis=1, keepdims=True)) ** 2 / 4
    if manifold == "lorentz":  # the inverse of the metric in spatial coordinates is 1 + x xᵀ
        gradient += points * (points * gradient).sum(axis=1, keepdims=True)
    words = np.arange(1, 5, dtype=np.uint64)
    moved, loss = kernel_epoch(points, [(0, 1)], words, manifold, rate=1e-3, temperature=beta)
    assert loss == pytest.approx(beta * loss_at(points), rel=1e-11)
    np.testing.assert_allclose((points - moved) / 1e-3, gradient, rtol=1e-7, atol=1e-9)


def test_both_models_of_hyperbolic_space_take_the_same_steps():
    rng = np.random.default_rng(5)
    ball = rng.uniform(-0.35, 0.35, (9, 5))
    pairs = [(i, (i * 4 + 1) % 9) for i in range(9) if i != (i * 4 + 1) % 9]
    words = np.arange(1, 5, dtype=np.uint64)

    def to_hyperboloid(rows):
        return 2 * rows / (1 - (rows**2).sum(axis=1, keepdims=True))

    options = {"rate": 1e-6, "negatives": 4, "temperature": 2.0}
    one, loss = kernel_epoch(ball, pairs, words, "poincare", **options)
    other, other_loss = kernel_epoch(to_hyperboloid(ball), pairs, words, "lorentz", **options)
    assert loss == pytest.approx(other_loss, rel=1e-9)
    moved = np.abs(one - ball).max()
    np.testing.assert_allclose(to_hyperboloid(one), other, rtol=0, atol=1e-4 * moved)


@pytest.mark.parametrize("manifold", TERMS)
def test_several_threads_learn_the_same_task(manifold):
    """Without locks no two runs are alike, but they minimise the same loss."""
    rng = np.random.default_rng(2)
    pairs = [(i, j) for i in range(200) for j in range(i % 10, 200, 40) if i != j] * 4
    start = rng.uniform(-0.01, 0.01, (200, 5))
    final = {}
    for threads in (1, 2):
        points = start
        for epoch in range(30):
            words = np.arange(epoch + 1, epoch + 5, dtype=np.uint64)
            points, loss = kernel_epoch(
                points, pairs, words, manifold, np.float32, negatives=5, rate=0.05, threads=threads
            )
            final.setdefault(threads, []).append(loss / len(pairs))
    assert final[2][-1] == pytest.approx(final[1][-1], rel=0.1)
    assert final[2][-1] < 0.9 * final[2][0]


@pytest.mark.parametrize("manifold", TERMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coincident_points_stay_finite(manifold, dtype):
    points = np.zeros((4, 3))
    points[3] = 0.5
    words = np.arange(1, 5, dtype=np.uint64)
    for beta in (1.0, 3.5):
        moved, loss = kernel_epoch(
            points, [(0, 1), (1, 2)], words, manifold, dtype, negatives=5, rate=0.5, temperature=beta
        )
        assert np.isfinite(moved).all()
        assert np.isfinite(loss)


@pytest.mark.parametrize("manifold", ["poincare", "lorentz"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rate", [1.0, 1e3, 1e9])
@pytest.mark.parametrize("beta", [1.0, 8.0, 1000.0])
def test_large_steps_end_inside_the_margin(manifold, dtype, rate, beta):
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 0.5, (20, 3))
    pairs = [(i, (i * 7 + 1) % 20) for i in range(20) if i != (i * 7 + 1) % 20]
    words = np.arange(1, 5, dtype=np.uint64)
    for _ in range(5):
        points, loss = kernel_epoch(
            points, pairs, words, manifold, dtype, negatives=6, rate=rate, temperature=beta
        )
        assert np.isfinite(loss)
        assert np.linalg.norm(points, axis=1).max() <= LIMIT[manifold] * (1 + 1e-7)


def test_complete_graph_moves_nothing():
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 2))
    pairs = [(u, v) for u in range(4) for v in range(4) if u != v]
    words = np.arange(1, 5, dtype=np.uint64)
    for weighted in (False, True):
        moved, loss = kernel_epoch(points, pairs, words, negatives=10, rate=0.1, weighted=weighted)
        assert loss == 0
        np.testing.assert_array_equal(moved, points)


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


GOLDEN = ["21054a2f16b19c51", "dc4973baa92619a5", "693817535d6940b5", "29d928b98a3465b8"]


def test_other_threads_run_during_an_epoch():
    pairs = 20_000
    source, target = np.zeros(pairs, np.int32), np.ones(pairs, np.int32)
    run = _kernels.TrainingRun(100, source, target, None, None, None, None)
    words = np.ones(4, np.uint64)
    rows = np.random.default_rng(0).random((100, 8)).astype(np.float32)
    ticks = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            ticks.append(time.perf_counter())

    def ticked_inside_an_epoch():
        started = time.perf_counter()
        _kernels.train_epoch(run, rows, 8, "euclidean", words, 200, 0.1, 1.0, False, 1, None, None, 0)
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


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers to interrupt itself")
@pytest.mark.parametrize("manifold", ["poincare", "lorentz"])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_epoch_leaves_nothing_past_the_dimension(manifold, threads):
    """Its rows are half-way, and valid: what a geometry keeps in their free lane is gone."""
    nodes, pairs, dim = 1000, 400_000, 5
    draw = np.random.default_rng(0)
    source = draw.integers(0, nodes, pairs).astype(np.int32)
    run = _kernels.TrainingRun(nodes, source, (source + 1) % nodes, None, None, None, None)
    rows = np.zeros((nodes, 8), np.float32)
    rows[:, :dim] = start = draw.uniform(-1e-3, 1e-3, (nodes, dim))

    def epoch(negatives):
        words = np.ones(4, np.uint64)
        return _kernels.train_epoch(
            run, rows, dim, manifold, words, negatives, 0.1, 1.0, False, threads, None, None, 0
        )

    def interrupt(_signal, _frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            epoch(400)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not rows[:, dim:].any()
    assert not np.array_equal(rows[:, :dim], start.astype(np.float32))
    assert np.isfinite(rows).all()
    halfway = rows.copy()
    if threads == 1:  # an epoch from there is that of fresh rows with the same coordinates
        first = epoch(1)
        after = rows.copy()
        rows[:] = 0
        rows[:, :dim] = halfway[:, :dim]
        assert epoch(1) == first
        assert np.array_equal(rows, after)
