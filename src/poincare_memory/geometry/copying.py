"""Copies of large arrays that Ctrl-C can end: NumPy lets no signal in before a copy is whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["copied", "of_type"]

_AT_ONCE = 1 << 20  # numbers: a few milliseconds


def copied(values: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """A C-contiguous copy, of another type where one is given.

    Examples
    --------
    >>> copied(np.array([[1, 2], [3, 4]]).T, float).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    dtype = values.dtype if dtype is None else dtype
    if values.size <= _AT_ONCE:
        return values.astype(dtype, order="C")
    whole = np.empty(values.shape, dtype)
    longest = int(np.argmax(values.shape))
    source, target = np.moveaxis(values, longest, 0), np.moveaxis(whole, longest, 0)
    step = max(1, _AT_ONCE * len(source) // values.size)
    for start in range(0, len(source), step):
        target[start : start + step] = source[start : start + step]
    return whole


def of_type(values: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """The values themselves where they have the type, a copy otherwise."""
    return values if values.dtype == np.dtype(dtype) else copied(values, dtype)
