"""Native maps over broadcast leading axes: which rows meet, what type comes out, and what is said about it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .copying import of_type
from .numerics import LARGEST_NORM, FloatArray, rows_of
from .pairing import common_type, lead_of, refuse_outside

__all__ = ["mapped", "storage_of", "warn_of_saturation"]


def warn_of_saturation(dtype: np.dtype[Any], stacklevel: int) -> None:
    """Say that a point was asked for that lies deeper than its floating type holds."""
    warnings.warn(
        f"{dtype.name} holds no point this close to the boundary: the largest norm below 1/sqrt(c) was "
        "taken. Keep direction and radius (poincare_memory.geometry.polar) to go deeper",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )


def storage_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type the kernels read and write for points of ``dtype``: float16 travels as float32.

    Examples
    --------
    >>> storage_of(np.dtype(np.float16))
    dtype('float32')
    """
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def mapped(
    kernel: Callable[..., Any],
    x: FloatArray,
    y: FloatArray,
    curvature: float,
    *,
    t: NDArray[np.float64] | None = None,
    names: tuple[str, str] = ("x", "y"),
) -> FloatArray:
    """Apply a kernel that turns pairs of rows into points; ``t`` is one more number a pair.

    Raises
    ------
    ValueError
        If the last axes differ in length, or a point lies outside the ball.

    Warns
    -----
    RuntimeWarning
        If a result lies deeper than its type holds.
    """
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"{names[0]}, {names[1]}: expected the same number of coordinates, "
            f"got shapes {x.shape} and {y.shape}"
        )
    lead = lead_of(x, y, names)
    if t is not None:
        lead = np.broadcast_shapes(lead, t.shape)
    dtype = common_type(x, y)
    out: FloatArray = np.empty((*lead, x.shape[-1]), storage_of(dtype))
    if out.size == 0:
        return of_type(out, dtype)
    sides = [of_type(_rows_against(points, lead), out.dtype) for points in (x, y)]
    extra = [] if t is None else [_numbers_against(t, lead)]
    outside, saturated = kernel(*sides, *extra, curvature, LARGEST_NORM[dtype.type], rows_of(out), 0)
    count = out.size // out.shape[-1]
    if outside >= count:
        _refuse(y, outside - count, lead, curvature, names[1])
    if outside >= 0:
        _refuse(x, outside, lead, curvature, names[0])
    if saturated:
        warn_of_saturation(dtype, stacklevel=3)
    return of_type(out, dtype)


def _rows_against(points: FloatArray, lead: tuple[int, ...]) -> FloatArray:
    if points.size == points.shape[-1] or points.shape[:-1] == lead:
        return rows_of(points)
    return rows_of(np.broadcast_to(points, (*lead, points.shape[-1])))


def _numbers_against(t: NDArray[np.float64], lead: tuple[int, ...]) -> NDArray[np.float64]:
    numbers = t if t.size == 1 else np.broadcast_to(t, lead)
    return np.ascontiguousarray(numbers).reshape(-1)


def _refuse(points: FloatArray, row: int, lead: tuple[int, ...], curvature: float, name: str) -> None:
    """``row`` counts the pairs; where the points were broadcast, find the point of that pair."""
    if points.size == points.shape[-1]:
        refuse_outside(points, 0, curvature, name)
    numbers = np.arange(points.size // points.shape[-1]).reshape(points.shape[:-1])
    refuse_outside(points, int(np.broadcast_to(numbers, lead).reshape(-1)[row]), curvature, name)
