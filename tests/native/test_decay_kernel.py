"""Time weights of the native kernel against arbitrary-precision arithmetic."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory._core import _kernels

HOUR = 3_600_000_000
MISSING = _kernels.MISSING_INSTANT
LOWEST, HIGHEST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the range of datetime

positive = st.floats(min_value=1e-3, max_value=1e7)
factor_rows = st.one_of(
    st.tuples(st.just(float(_kernels.DECAY_HALF_LIFE)), positive, st.just(0.0)),
    st.tuples(st.just(float(_kernels.DECAY_EBBINGHAUS)), positive, st.floats(0, 10)),
    st.tuples(st.just(float(_kernels.DECAY_VALIDITY)), st.floats(0, 1), st.just(0.0)),
)
near = st.integers(-2000 * HOUR, 2000 * HOUR)
instants = st.one_of(near, st.integers(LOWEST, HIGHEST))
bounds = st.one_of(st.just(MISSING), instants)
memories = st.tuples(instants, st.integers(0, 10**6), bounds, bounds)


def oracle(factors: list[tuple[float, float, float]], now: int, memory: tuple[int, int, int, int]) -> mp.mpf:
    t, accesses, valid_from, valid_until = memory
    age = mp.mpf(max(0, now - t)) / HOUR
    weight = mp.mpf(1)
    for kind, a, b in factors:
        if kind == _kernels.DECAY_HALF_LIFE:
            weight *= mp.power(mp.mpf("0.5"), age / a)
        elif kind == _kernels.DECAY_EBBINGHAUS:
            weight *= mp.exp(-age / (mp.mpf(a) * (1 + mp.mpf(b) * accesses)))
        elif not (valid_from == MISSING or valid_from <= now) or not (
            valid_until == MISSING or now <= valid_until
        ):
            weight *= a
    return max(weight, mp.mpf(_kernels.MIN_WEIGHT))


def run(
    function: str,
    factors: list[tuple[float, float, float]],
    now: int,
    columns: list[npt.NDArray[np.int64]],
    rows: npt.NDArray[np.int64] | None = None,
    threads: int = 1,
) -> npt.NDArray[np.float64]:
    out = np.full(len(columns[0]) if rows is None else len(rows), np.nan)
    table = np.array(factors, dtype=np.float64).reshape(-1, 3)
    getattr(_kernels, function)(table, now, *columns, rows, out, threads)
    return out


@given(st.lists(factor_rows, max_size=4), instants, st.lists(memories, min_size=1, max_size=8))
def test_weights_and_their_logarithms_match_the_oracle(
    factors: list[tuple[float, float, float]], now: int, rows: list[tuple[int, int, int, int]]
) -> None:
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    expected = [oracle(factors, now, row) for row in rows]
    weights = run("decay_weights", factors, now, columns)
    logs = run("decay_log_weights", factors, now, columns)
    np.testing.assert_allclose(weights, np.array(expected, dtype=float), rtol=1e-13)
    np.testing.assert_allclose(logs, [float(mp.log(w)) for w in expected], rtol=1e-13, atol=1e-15)
    assert np.all((weights >= _kernels.MIN_WEIGHT) & (weights <= 1))
    assert np.all((logs >= math.log(_kernels.MIN_WEIGHT)) & (logs <= 0))


def test_flooring_once_equals_flooring_every_factor() -> None:
    half_life, outside = (
        (float(_kernels.DECAY_HALF_LIFE), 1.0, 0.0),
        (float(_kernels.DECAY_VALIDITY), 0.5, 0.0),
    )
    ages = np.arange(0, 60, dtype=np.int64) * HOUR
    closed = np.full_like(ages, -100 * HOUR)
    columns = [-ages, np.zeros_like(ages), np.full_like(ages, MISSING), closed]
    floored_early = np.maximum(np.maximum(0.5 ** (ages / HOUR), 1e-6) * 0.5, 1e-6)
    np.testing.assert_allclose(
        run("decay_weights", [half_life, outside], 0, columns), floored_early, rtol=1e-15
    )


@pytest.mark.parametrize("function", ["decay_weights", "decay_log_weights"])
def test_chosen_rows_and_threads_change_nothing(function: str) -> None:
    rng = np.random.default_rng(0)
    n = 150_000
    columns = [
        rng.integers(-5000 * HOUR, 100 * HOUR, n),
        rng.integers(0, 9, n),
        np.where(rng.random(n) < 0.5, MISSING, rng.integers(-100 * HOUR, 100 * HOUR, n)),
        np.where(rng.random(n) < 0.5, MISSING, rng.integers(-100 * HOUR, 100 * HOUR, n)),
    ]
    factors = [(1.0, 30.0, 0.5), (2.0, 0.01, 0.0), (0.0, 400.0, 0.0)]
    everything = run(function, factors, 0, columns)
    assert np.array_equal(everything, run(function, factors, 0, columns, threads=2))
    rows = rng.permutation(n)[:1000]
    assert np.array_equal(everything[rows], run(function, factors, 0, columns, rows))


def test_columns_that_are_absent_count_as_unset() -> None:
    t = np.array([-HOUR, -2 * HOUR])
    out = np.empty(2)
    factors = np.array([[_kernels.DECAY_EBBINGHAUS, 1.0, 5.0], [_kernels.DECAY_VALIDITY, 0.1, 0.0]])
    _kernels.decay_weights(factors, 0, t, None, None, None, None, out)
    np.testing.assert_allclose(out, np.exp([-1.0, -2.0]), rtol=1e-15)


def test_extreme_parameters_stay_finite() -> None:
    t = np.array([0, -1, 1, LOWEST])
    for kind in (_kernels.DECAY_HALF_LIFE, _kernels.DECAY_EBBINGHAUS):
        for hours, expected in ((5e-324, [1, 1e-6, 1, 1e-6]), (math.inf, [1, 1, 1, 1])):
            columns = [t, np.zeros_like(t), np.full_like(t, MISSING), np.full_like(t, MISSING)]
            assert np.array_equal(run("decay_weights", [(kind, hours, 0.0)], 0, columns), expected)
            logs = run("decay_log_weights", [(kind, hours, 0.0)], 0, columns)
            np.testing.assert_allclose(logs, np.log(expected), rtol=1e-15)


def test_no_rows_and_no_factors() -> None:
    empty = np.empty(0, dtype=np.int64)
    out = np.empty(0)
    _kernels.decay_weights(np.empty((0, 3)), 0, empty, empty, empty, empty, None, out)
    columns = [np.zeros(3, dtype=np.int64)] * 4
    assert np.array_equal(run("decay_weights", [], 10**15, columns), np.ones(3))
    assert np.array_equal(run("decay_log_weights", [], 10**15, columns), np.zeros(3))


def test_mismatched_shapes_are_refused() -> None:
    t, short, out = np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), np.empty(3)
    no_factor = np.empty((0, 3))
    with pytest.raises(ValueError, match="valid_from: expected 3"):
        _kernels.decay_weights(no_factor, 0, t, None, short, None, None, out)
    with pytest.raises(ValueError, match="out: expected 2"):
        _kernels.decay_weights(no_factor, 0, t, None, None, None, short, out)
    with pytest.raises(ValueError, match="unknown kind"):
        _kernels.decay_weights(np.array([[7.0, 1.0, 1.0]]), 0, t, None, None, None, None, out)
