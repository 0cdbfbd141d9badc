"""What every door asks of a number that is passed in: checks whose errors name the argument.

Policies have their own (`temporal.parameters`): there infinity is a number, and an int stays one.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

__all__ = ["finite_number", "integer", "number_within", "positive_number"]


def integer(name: str, value: Any, least: int | None = None) -> int:
    """``value`` as a plain int; NumPy integers are welcome, bool and float are not.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is below ``least``.
    """
    try:
        # NumPy's bool is named too: before NumPy 2.3 it passes for an index, with a warning.
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__} {value!r:.80}") from None
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def finite_number(name: str, value: Any) -> float:
    """``value`` as a plain float.

    Raises
    ------
    TypeError
        If it is no number; text that reads as one is none.
    ValueError
        If it is NaN, infinite, or beyond what a float holds.
    """
    number = _real(name, value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number:g}")
    return number


def positive_number(name: str, value: Any) -> float:
    """``value`` as a plain float, finite and above 0; errors as those of `finite_number`."""
    number = _real(name, value)
    if number == math.inf:
        raise ValueError(f"{name} must be finite, got inf")
    if not number > 0:
        raise ValueError(f"{name} must be positive, got {number:g}")
    return number


def number_within(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """``value`` as a plain float, finite and in [low, high]; errors as those of `finite_number`."""
    number = _real(name, value)
    if not (low <= number <= high and number < math.inf):
        limits = f"finite and at least {low:g}" if high == math.inf else f"in [{low:g}, {high:g}]"
        raise ValueError(f"{name} must be {limits}, got {number:g}")
    return number


def _real(name: str, value: Any) -> float:
    try:
        if isinstance(value, (bool, str, bytes, bytearray)):
            raise TypeError
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite, got a number beyond 1e308") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__} {value!r:.80}") from None
    return number
