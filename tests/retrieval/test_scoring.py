"""The score: monotone in each term, floored weights, broadcasting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory.retrieval import combine
from poincare_memory.retrieval.scoring import MIN_WEIGHT

distance = st.floats(0, 80)
weight = st.floats(0, 1)
coefficient = st.floats(-3, 3)


@given(distance, distance, weight, coefficient, coefficient)
def test_nearer_never_scores_less(a: float, b: float, w: float, time_coef: float, depth_bias: float) -> None:
    near, far = combine(sorted([a, b]), [w, w], [1.0, 1.0], time_coef, depth_bias)
    assert near >= far


@given(weight, weight, st.floats(0, 3))
def test_fresher_never_scores_less(a: float, b: float, time_coef: float) -> None:
    stale, fresh = combine([1.0, 1.0], sorted([a, b]), time_coef=time_coef)
    assert fresh >= stale
    stale, fresh = combine([1.0, 1.0], sorted([a, b]), time_coef=-time_coef)
    assert fresh <= stale


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0, [1.0, 1.0]])
def test_a_term_whose_coefficient_is_zero_is_left_out(value: float | list[float]) -> None:
    assert combine([2.0], time_weights=value, time_coef=0).tolist() == [-2.0]
    assert combine([2.0], depths=value, depth_bias=0).tolist() == [-2.0]


@given(distance, distance, st.floats(0, 3))
def test_depth_counts_by_its_bias(a: float, b: float, bias: float) -> None:
    shallow, deep = combine([1.0, 1.0], depths=sorted([a, b]), depth_bias=bias)
    assert deep >= shallow
    shallow, deep = combine([1.0, 1.0], depths=sorted([a, b]), depth_bias=-bias)
    assert deep <= shallow


@given(distance, weight, distance, coefficient, coefficient)
def test_the_formula(d: float, w: float, depth: float, time_coef: float, depth_bias: float) -> None:
    expected = -d + depth_bias * depth + time_coef * math.log(max(w, MIN_WEIGHT))
    assert combine(d, w, depth, time_coef, depth_bias) == pytest.approx(expected, abs=1e-12)


def test_terms_that_are_absent_count_nothing() -> None:
    assert combine([1, 2]).tolist() == [-1.0, -2.0]
    assert combine([1, 2], depth_bias=5.0, time_coef=5.0).tolist() == [-1.0, -2.0]
    assert combine([[1.0], [2.0]], [1.0, 1.0, 1.0]).shape == (2, 3)
    assert combine(np.zeros(0), np.zeros(0)).shape == (0,)


def test_weights_are_floored_and_nan_stays() -> None:
    assert combine([0.0, 0.0, 0.0], [0.0, -1.0, 1e-9]).tolist() == [math.log(MIN_WEIGHT)] * 3
    assert np.isnan(combine([0.0], [np.nan])).all()
    assert np.isnan(combine([np.nan], [1.0])).all()
