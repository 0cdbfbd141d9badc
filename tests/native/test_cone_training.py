"""The energy of entailment cones, its gradients, and epochs that descend it."""

from __future__ import annotations

import numpy as np
import pytest

from poincare_memory._core import _kernels

K = 0.1
LEAST = _kernels.smallest_apex_norm(K)


def energies(x, y, k):
    """The geometry's own kernel, an independent formula."""
    out = np.empty(len(x))
    assert _kernels.cone_energies(x, y, 1.0, k, out, 1) == -1
    return out


def points(rng, count, dim, low=LEAST * 1.05, high=0.95):
    rows = rng.normal(size=(count, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * rng.uniform(low, high, (count, 1))


def excess(u, v, k=K):
    at_u, at_v = np.empty_like(u), np.empty_like(v)
    return _kernels.cone_excess(u, v, k, at_u, at_v), at_u, at_v


def test_at_the_smallest_norm_a_cone_is_a_half_space():
    for k in (0.01, 0.1, 1.0, 5.0):
        n = _kernels.smallest_apex_norm(k)
        assert k * (1 - n * n) / n == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 5, 17])
def test_excess_is_the_energy_where_that_is_positive(dim):
    rng = np.random.default_rng(dim)
    x, y = points(rng, 300, dim), points(rng, 300, dim)
    found = np.array([excess(u, v)[0] for u, v in zip(x, y, strict=True)])
    # The arc cosine of the paper loses half of the digits next to the axis.
    np.testing.assert_allclose(np.maximum(found, 0), energies(x, y, K), atol=1e-5)


@pytest.mark.parametrize("k", [0.05, 0.1, 0.3])
def test_gradients_are_those_of_finite_differences(k):
    rng = np.random.default_rng(4)
    least = _kernels.smallest_apex_norm(k) * 1.05
    for u, v in zip(points(rng, 60, 4, least), points(rng, 60, 4, least), strict=True):
        _, at_u, at_v = excess(u, v, k)
        for place in range(4):
            step = np.zeros(4)
            step[place] = 1e-6
            by_u = (excess(u + step, v, k)[0] - excess(u - step, v, k)[0]) / 2e-6
            by_v = (excess(u, v + step, k)[0] - excess(u, v - step, k)[0]) / 2e-6
            assert at_u[place] == pytest.approx(by_u, rel=1e-4, abs=1e-5)
            assert at_v[place] == pytest.approx(by_v, rel=1e-4, abs=1e-5)


def run_of(pairs, nodes):
    lists = [sorted({u, *(v for a, v in pairs if a == u)}) for u in range(nodes)]
    start = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    shifted = np.array([node - i for one in lists for i, node in enumerate(one)], np.int32)
    source, target = np.array(pairs, np.int32).T.copy()
    return _kernels.TrainingRun(nodes, source, target, start, shifted, None, None)


def runs(pairs, nodes):
    return run_of(pairs, nodes), run_of([(v, u) for u, v in pairs], nodes)


TREE = [(a, d) for d in range(1, 15) for a in range(d) if a in {(d - 1) // 2, ((d - 1) // 2 - 1) // 2, 0}]


@pytest.mark.parametrize("rate", [1e-3, 0.1, 10.0, 1e3])
def test_epochs_stay_where_cones_are(rate):
    rows = np.zeros((15, 3))
    loss = 0.0
    for epoch in range(30):
        loss = _kernels.cone_epoch(
            *runs(TREE, 15), rows, np.full(4, epoch + 1, np.uint64), 2, 2, rate, K, 0.05
        )
        norms = np.linalg.norm(rows, axis=1)
        assert norms.min() >= LEAST
        assert norms.max() <= 1 - _kernels.BALL_EPS_FLOAT64 + 1e-15
    assert np.isfinite(loss)


def test_a_small_step_lowers_the_loss_of_a_pair():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = points(rng, 2, 3, high=0.8)
        before = excess(rows[0], rows[1])[0]
        loss = _kernels.cone_epoch(*runs([(0, 1)], 2), rows, np.ones(4, np.uint64), 2, 2, 1e-4, K, 0.05)
        assert loss == pytest.approx(max(before, 0), abs=1e-12)
        if before > 1e-3:
            assert excess(rows[0], rows[1])[0] < before


def test_a_negative_inside_a_cone_costs_the_margin_and_moves_nothing():
    """The loss max(0, γ − max(0, Ξ − ψ)) has no slope there; next to the cone it has."""
    margin = 0.05
    apex = np.array([0.3, 0.0])
    for angle, moves in [(0.0, False), (0.1, False), (0.32, True), (0.9, False)]:
        other = apex + 0.1 * np.array([np.cos(angle), np.sin(angle)])
        rows = np.stack([apex, [-0.9, 0.0], other])
        found = excess(rows[0], rows[2])[0]
        assert (0 < found < margin) == moves
        before = rows.copy()
        pair = runs([(0, 1)], 3)  # 1 is no negative of 0, so that 2 is the only one
        loss = _kernels.cone_epoch(*pair, rows, np.ones(4, np.uint64), 1, 0, 0.0, K, margin)
        assert loss == pytest.approx(
            max(excess(before[0], before[1])[0], 0) + min(max(margin - max(found, 0), 0), margin)
        )
        _kernels.cone_epoch(*pair, rows, np.ones(4, np.uint64), 1, 0, 1e-9, K, margin)
        assert np.array_equal(rows[2], before[2]) != moves


def test_what_would_leave_the_arrays_is_refused():
    pair, turned = runs([(0, 1)], 2)
    words = np.ones(4, np.uint64)
    bare = _kernels.TrainingRun(2, np.array([0], np.int32), np.array([1], np.int32), None, None, None, None)
    for arguments, says in [
        ((pair, turned, np.zeros((3, 2)), words), "a row a node"),
        ((pair, turned, np.zeros((2, 0)), words), "a row a node"),
        ((pair, run_of([(0, 1)], 3), np.zeros((2, 2)), words), "a row a node"),
        ((pair, bare, np.zeros((2, 2)), words), "related nodes"),
        ((pair, turned, np.zeros((2, 2)), words[:3]), "four words"),
    ]:
        with pytest.raises(ValueError, match=says):
            _kernels.cone_epoch(*arguments, 1, 1, 0.1, K, 0.1)
    with pytest.raises(ValueError, match="equally long"):
        _kernels.cone_excess(np.ones(2), np.ones(3), K, np.ones(2), np.ones(2))
