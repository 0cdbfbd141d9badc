"""Different integers of an array, ascending."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["beginnings", "distinct"]

Integer = TypeVar("Integer", bound=np.integer)


def distinct(values: NDArray[Integer]) -> NDArray[Integer]:
    """Each value once, ascending. `np.unique` of NumPy 2.3 and newer has a hash table: ten times as long, or more.

    Parameters
    ----------
    values : array of integers
        Of any shape.

    Returns
    -------
    array of integers, 1-D
    """
    ordered = np.sort(values, axis=None)
    return ordered[beginnings(ordered)]


def beginnings(ordered: NDArray[Integer]) -> NDArray[np.intp]:
    """Places in a sorted 1-D array where a new value begins."""
    begins = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return np.flatnonzero(begins)
