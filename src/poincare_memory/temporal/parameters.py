"""Checks of the numbers a policy is made with."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

__all__ = ["checked_number", "positive", "within"]


def checked_number(name: str, value: object) -> float:
    """``value`` as a plain Python number: NumPy scalars are unwrapped, so that it prints and saves as one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__} {value!r:.80}")
    number = value if isinstance(value, (int, float)) else float(value)
    try:
        if math.isnan(number):
            raise ValueError(f"{name}: expected a number, got nan")
    except OverflowError:
        raise ValueError(
            f"{name}: expected a number that a float holds, got an integer beyond 1e308"
        ) from None
    return number


def positive(name: str, value: object) -> float:
    """A number above 0; infinity is allowed."""
    number = checked_number(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be positive, got {number!r}")
    return number


def within(name: str, value: object, low: float, high: float) -> float:
    """A finite number in [low, high]."""
    number = checked_number(name, value)
    if math.isinf(number) or not low <= number <= high:
        limits = f"at least {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
        raise ValueError(f"{name} must be finite and {limits}, got {number!r}")
    return number
