"""Numbers at the door: what passes is a plain Python number, what does not is named."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory.arguments import finite_number, integer, number_within, positive_number

REAL_CHECKS: list[Callable[[str, Any], float]] = [
    finite_number,
    positive_number,
    lambda name, value: number_within(name, value, 0.0),
    lambda name, value: number_within(name, value, 0.0, 1e300),
]


@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70))
def test_integers_pass_from_the_least_on(value: int, least: int) -> None:
    if value >= least:
        assert integer("k", value, least) == value
    else:
        with pytest.raises(ValueError, match=f"^k must be at least {least}, got {value}$"):
            integer("k", value, least)
    assert integer("k", value) == value


def test_numpy_numbers_become_plain_ones() -> None:
    assert type(integer("k", np.uint8(3))) is int
    for check in REAL_CHECKS:
        assert type(check("x", np.float32(0.5))) is float
        assert check("x", Fraction(1, 2)) == check("x", Decimal("0.5")) == 0.5


@pytest.mark.parametrize("value", [True, np.True_, 2.0, np.float64(2), "3", None, [1], 1j])
def test_what_is_no_integer_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^k: expected an integer, got "):
        integer("k", value, 1)


@pytest.mark.parametrize("check", REAL_CHECKS)
def test_what_is_no_finite_number_is_named(check: Callable[[str, Any], float]) -> None:
    for value in (True, "1", b"1", None, [1.0], 1j, "x" * 1000):
        with pytest.raises(TypeError, match=r"^x: expected a number, got ") as caught:
            check("x", value)
        assert len(str(caught.value)) < 200
    for value in (math.nan, math.inf, -math.inf, 10**400):
        with pytest.raises(ValueError, match=r"^x must be "):
            check("x", value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_held_to_their_bounds(value: float) -> None:
    assert finite_number("x", value) == value
    for check, passes, says in (
        (positive_number, value > 0, "positive"),
        (lambda name, value: number_within(name, value, -1.0), value >= -1, "finite and at least -1"),
        (lambda name, value: number_within(name, value, -1.0, 2.0), -1 <= value <= 2, r"in \[-1, 2\]"),
    ):
        if passes:
            assert check("x", value) == value
        else:
            with pytest.raises(ValueError, match=f"^x must be {says}, got "):
                check("x", value)
