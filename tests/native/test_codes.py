"""Directions in eight bits: what a code lost is known, and no scan that relies on it loses a candidate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.scan_columns import HOUR, NOW, Scan, encoded, unit_rows
from poincare_memory._core import _kernels

Matrix = npt.NDArray[np.float64]


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """Unit rows as eight bits like them least: one large number among small ones, ties between two codes, …"""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, dim = draw(st.integers(8, 300)), draw(st.sampled_from([1, 2, 31, 32, 33, 64, 100, 384, 700]))
    rows: Matrix = rng.normal(size=(n, dim))
    shape = draw(st.sampled_from(["normal", "spike", "even", "halves", "subnormal", "sparse"]))
    if shape == "spike":
        rows *= 1e-3
        rows[np.arange(n), rng.integers(0, dim, n)] = 1
    elif shape == "even":
        np.sign(rows, out=rows)
    elif shape == "halves":  # every number lies in the middle between two codes
        rows[:] = rng.integers(-127, 127, (n, dim)) + 0.5
        rows[:, 0] = 127
    elif shape == "subnormal":
        rows *= 10.0 ** rng.integers(-320, 0, (n, dim))
    elif shape == "sparse":
        rows *= rng.random((n, dim)) < 0.05
    units: Matrix = unit_rows(rows)
    return units


@given(matrices())
@settings(max_examples=150, deadline=None)
def test_what_a_code_lost_is_at_most_its_error(matrix: Matrix) -> None:
    codes, scale, error = encoded(matrix)
    dim = matrix.shape[1]
    assert not codes[:, dim:].any()
    assert (np.abs(codes.astype(int)) <= 127).all()
    stands_for = scale.astype(np.longdouble)[:, None] * codes[:, :dim].astype(np.longdouble)
    lost = np.sqrt(((matrix.astype(np.longdouble) - stands_for) ** 2).sum(1))
    assert (lost <= error).all()
    # And it is no more than half a step in every number.
    assert (error <= 1.00001 * scale * np.sqrt(dim) / 2 + 1e-7).all()


@given(st.integers(1, 127), st.integers(0, 2**32))
def test_codes_of_whole_multiples_lose_nothing(largest: int, seed: int) -> None:
    """Counts of hashed words, whatever the largest of them: all that is lost is the rounding of the scale."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(-largest, largest + 1, (5, 40)) * (rng.random((5, 40)) < 0.7)
    counts[:, :2] = largest, 1
    assert (encoded(unit_rows(counts.astype(np.float64)))[2] < 1e-6).all()


@given(matrices(), st.integers(1, 9), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_candidate_is_lost_to_codes(matrix: Matrix, k: int, near: bool) -> None:
    """Ties to the bit, neighbours closer than a code can tell, and queries that the codes like as little."""
    rng = np.random.default_rng(len(matrix))
    n = len(matrix)
    if near:
        matrix = unit_rows(matrix[:1] + 1e-4 * matrix)
    matrix[rng.integers(0, n, n // 4)] = matrix[0]
    query = matrix[rng.integers(0, n)].copy()
    scan = Scan(matrix, rng.integers(0, 5, n) * 0.5, query if query.any() else None)
    scan.metric = _kernels.SCAN_HYPERBOLIC if k % 2 else _kernels.SCAN_SHELL
    if k % 3 == 0:
        scan.factors = ((_kernels.DECAY_HALF_LIFE, 1e6, 0.0),)
        scan.t = NOW - rng.integers(0, 100, n) * HOUR
    everything = scan.top(10**6)  # k ≥ n: every candidate is scored in float64, no code is looked at
    assert scan.top(k) == everything[:k]
    assert scan.without_codes().top(k) == everything[:k]


def test_only_the_rows_asked_for_are_encoded() -> None:
    matrix = unit_rows(np.random.default_rng(1).normal(size=(6, 40)))
    every = encoded(matrix)
    some = encoded(matrix, np.array([4, 1], np.int32))
    for i, untouched in enumerate((77, 7, 7)):
        assert np.array_equal(every[i][[1, 4]], some[i][[1, 4]])
        assert (some[i][[0, 2, 3, 5]] == untouched).all()


def test_threads_share_the_encoding_and_change_nothing() -> None:
    matrix = unit_rows(np.random.default_rng(2).normal(size=(40_000, 100)))
    one, two = encoded(matrix, threads=1), encoded(matrix, threads=2)
    assert all(np.array_equal(one[i], two[i]) for i in range(3))


def test_a_dimension_that_no_integer_sum_could_hold() -> None:
    """Of a thousand times the usual length: the query's codes get coarser, and no sum of products overflows."""
    dim = 400_000
    direction = np.full((8, dim), 1 / np.sqrt(dim))
    direction[1::2] *= -1
    scan = Scan(direction, np.ones(8), direction[0].copy())
    assert [position for position, *_ in scan.top(1)] == [0]
    scan.query = direction[1].copy()
    assert [position for position, *_ in scan.top(1)] == [1]


@pytest.mark.parametrize(("width", "rows"), [(31, 4), (64, 4), (32, 3)])
def test_room_that_does_not_fit_is_refused(width: int, rows: int) -> None:
    codes = np.empty((rows, width), np.int8)
    with pytest.raises(ValueError, match="codes: expected"):
        _kernels.encode_rows(np.eye(4), None, codes, np.empty(4, np.float32), np.empty(4, np.float32))
