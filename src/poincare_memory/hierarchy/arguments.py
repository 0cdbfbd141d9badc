"""Checks of the numbers that the layout and the spreading take."""

from __future__ import annotations

import math
import operator

import numpy as np

__all__ = ["finite_number", "integer_at_least", "positive_number", "seed_word"]


def finite_number(name: str, value: object) -> float:
    """``value`` as a float, NaN and infinities refused."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name}: expected a number, got {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name}: expected a finite number, got {value!r}")
    return number


def positive_number(name: str, value: object) -> float:
    """``value`` as a finite float above 0."""
    number = finite_number(name, value)
    if number <= 0:
        raise ValueError(f"{name}: expected a number above 0, got {value!r}")
    return number


def integer_at_least(name: str, value: object, least: int) -> int:
    """``value`` as an int, anything but an integer from ``least`` on refused."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected an integer of at least {least}, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name}: expected an integer of at least {least}, got {value!r}")
    return number


def seed_word(seed: int | None) -> int:
    """64 bits made from ``seed``, the same for the same seed; None draws them from the system."""
    checked = None if seed is None else integer_at_least("seed", seed, 0)
    return int(np.random.SeedSequence(checked).generate_state(1, np.uint64)[0])
