"""The fused scan: its answer is that of float64 for every candidate, however it prunes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.scan_columns import HOUR, NOW, Scan, encoded, unit_rows
from poincare_memory._core import _kernels

METRICS = (_kernels.SCAN_SHELL, _kernels.SCAN_HYPERBOLIC, _kernels.SCAN_NO_QUERY)
POLICIES = (
    (),
    ((_kernels.DECAY_HALF_LIFE, 720.0, 0.0),),
    ((_kernels.DECAY_EBBINGHAUS, 168.0, 0.5), (_kernels.DECAY_VALIDITY, 1e-6, 0.0)),
)
COEFFICIENTS = st.sampled_from([0.0, 1.0, -1.0, 0.3, -7.5, 40.0])


@st.composite
def scans(draw: st.DrawFn) -> Scan:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, dim = draw(st.integers(1, 400)), draw(st.sampled_from([1, 2, 3, 17, 32, 48, 100, 384]))
    spread = draw(st.sampled_from([1.0, 1e-3, 1e-6, 1e-7, 1e-9, 0.0]))
    centre = rng.normal(size=dim)
    direction = unit_rows(centre + spread * rng.normal(size=(n, dim)))
    if draw(st.booleans()):  # duplicates and rows without direction
        direction[rng.integers(0, n, n // 2)] = direction[0]
        direction[rng.integers(0, n, n // 8)] = 0
    deepest = draw(st.sampled_from([1.0, 6.0, 19.0, 21.0, 300.0, 2500.0]))
    radius = rng.integers(0, 12, n) * (deepest / 12) if draw(st.booleans()) else rng.uniform(0, deepest, n)
    query = (
        None if draw(st.integers(0, 7)) == 0 else unit_rows((centre + spread * rng.normal(size=dim))[None])[0]
    )
    scan = Scan(
        direction,
        radius,
        query,
        metric=draw(st.sampled_from(METRICS)),
        query_radius=draw(st.sampled_from([0.0, 0.5, 1.0, 12.0, deepest])),
        curvature=draw(st.sampled_from([0.25, 1.0, 9.0])),
        depth_bias=draw(COEFFICIENTS),
        time_coef=draw(COEFFICIENTS),
        factors=draw(st.sampled_from(POLICIES)),
    )
    scan.t = NOW - rng.integers(-10, 5000, n) * HOUR
    scan.accesses = rng.integers(0, 20, n)
    if draw(st.booleans()):
        scan.rows = rng.permutation(n).astype(np.int32)[: max(1, n // 2)]
    count = len(scan.candidates())
    if draw(st.booleans()):
        scan.mask = (rng.random(count) < draw(st.sampled_from([0.02, 0.5, 1.0]))).astype(np.uint8)
    if draw(st.integers(0, 3)) == 0:
        scan.log_weights = rng.uniform(-13.8, 0.0, count)
    if draw(st.integers(0, 2)) == 0:
        scan.bonus = rng.uniform(-1, 1, count) * (rng.random(count) < 0.2)
    return scan


@given(scans(), st.integers(1, 40))
@settings(max_examples=400, deadline=None)
def test_pruning_never_changes_the_answer(scan: Scan, k: int) -> None:
    everything = scan.top(10**6)  # k ≥ n: every candidate is scored in float64
    assert scan.top(k) == everything[:k]
    assert scan.top(k, threads=2) == everything[:k]


@given(scans())
@settings(max_examples=200, deadline=None)
def test_scores_are_those_of_float64(scan: Scan) -> None:
    scores, distances = scan.oracle()
    hits, logs = scan.top(10**6), scan.candidate_log_weights()
    passing = np.flatnonzero(scores > -np.inf)
    assert sorted(position for position, *_ in hits) == passing.tolist()
    for position, score, distance, weight in hits:
        assert distance == pytest.approx(distances[position], rel=1e-9, abs=1e-9)
        assert score == pytest.approx(scores[position], rel=1e-9, abs=1e-9)
        assert weight == pytest.approx(np.exp(logs[position]), rel=1e-12)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))


@pytest.mark.parametrize("metric", METRICS[:2])
@pytest.mark.parametrize("size", [1e-8, 1e-7, 1e-6])
def test_neighbours_that_float32_cannot_tell_apart(metric: int, size: float) -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=384)
    direction = unit_rows(base + size * rng.normal(size=(3000, 384)) * np.linalg.norm(base) / 20)
    scan = Scan(direction, np.full(3000, 1.5), unit_rows(base[None])[0], metric=metric, query_radius=1.5)
    gaps = np.linalg.norm(direction - scan.query, axis=1)
    assert [position for position, *_ in scan.top(10)] == np.argsort(gaps, kind="stable")[:10].tolist()


def test_ties_keep_the_order_of_the_candidates() -> None:
    direction = np.tile(unit_rows(np.ones((1, 64))), (5000, 1))
    scan = Scan(direction, np.ones(5000), direction[0].copy())
    assert [position for position, *_ in scan.top(7)] == list(range(7))
    scan.rows = np.arange(4999, -1, -1, dtype=np.int32)
    assert [position for position, *_ in scan.top(7)] == list(range(7))


def test_level_five_thousand_is_as_exact_as_level_one() -> None:
    rng = np.random.default_rng(5)
    direction = unit_rows(rng.normal(size=(5001, 16)))
    scan = Scan(direction, 1 + 0.5 * np.arange(5001), direction[7].copy(), metric=_kernels.SCAN_HYPERBOLIC)
    scan.query_radius = float(scan.radius[4000])
    assert scan.top(12) == scan.top(5001)[:12]
    scores, _ = scan.oracle()
    assert [p for p, *_ in scan.top(12)] == np.argsort(-scores, kind="stable")[:12].tolist()
    assert scan.top(1)[0][2] == pytest.approx(scan.query_radius - scan.radius[7], rel=1e-12)


def test_scores_that_rise_with_position_are_found() -> None:
    """The order in which a store grows: the newest, best memory comes last."""
    rng = np.random.default_rng(6)
    n = 5_000
    scan = Scan(unit_rows(rng.normal(size=(n, 8))), np.ones(n), unit_rows(rng.normal(size=(1, 8)))[0])
    scan.factors = ((_kernels.DECAY_HALF_LIFE, 24.0, 0.0),)
    scan.t = NOW - np.arange(n)[::-1] * (HOUR // 10)
    scores, _ = scan.oracle()
    assert [p for p, *_ in scan.top(10)] == np.argsort(-scores, kind="stable")[:10].tolist()


def test_nothing_to_find() -> None:
    scan = Scan(np.zeros((0, 4)), np.zeros(0), np.array([1.0, 0, 0, 0]))
    assert scan.top(5) == []
    scan = Scan(np.eye(4), np.ones(4), np.array([1.0, 0, 0, 0]), mask=np.zeros(4, np.uint8))
    assert scan.top(5) == []
    assert scan.top(0) == scan.top(-1) == []


def test_absurd_coefficients_neither_crash_nor_return_nan() -> None:
    rng = np.random.default_rng(8)
    scan = Scan(unit_rows(rng.normal(size=(100, 4))), rng.uniform(0, 5, 100), np.eye(4)[0])
    scan.depth_bias, scan.time_coef = 1e308, 1e308
    scan.factors = ((_kernels.DECAY_HALF_LIFE, 1.0, 0.0),)
    scan.t = NOW - np.arange(100) * HOUR * 100
    assert len(scan.top(100)) == 100
    assert not any(np.isnan(score) for _, score, *_ in scan.top(100))


@pytest.mark.parametrize(
    "change",
    [
        {"query": np.ones(3)},
        {"mask": np.ones(2, np.uint8)},
        {"log_weights": np.zeros(1)},
        {"metric": 7},
        {"curvature": 0.0},
        {"curvature": float("nan")},
    ],
)
def test_arguments_that_do_not_fit(change: dict[str, object]) -> None:
    scan = Scan(np.eye(4), np.ones(4), np.eye(4)[0])
    for name, value in change.items():
        setattr(scan, name, value)
    with pytest.raises(ValueError, match=next(iter(change)).split("_")[0]):
        scan.top(1)


def test_threads_share_a_large_scan_and_change_nothing() -> None:
    """Large enough that the threads are really started, in both passes and for cones."""
    rng = np.random.default_rng(9)
    n = 80_000
    direction = unit_rows(rng.normal(size=(n, 110)))
    direction[::50] = direction[5]
    scan = Scan(direction, rng.integers(1, 9, n) * 0.5, unit_rows(rng.normal(size=(1, 110)))[0])
    for scan.metric in METRICS[:2]:
        for k in (10, n // 3):
            assert scan.top(k, threads=1) == scan.top(k, threads=2) == scan.top(k, threads=3)
    columns = scan.columns()
    arguments = [direction, *encoded(direction), columns["radius"], columns["directed"]]
    found = [
        _kernels.cone_members(*arguments, count=n, rows=None, apex=5, K=0.9, curvature=1.0, threads=threads)
        for threads in (1, 2)
    ]
    assert len(found[0][0]) > 100
    assert all(np.array_equal(one, two) for one, two in zip(*found, strict=True))
