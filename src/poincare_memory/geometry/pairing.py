"""Broadcasting of pairs of points for the row kernels, and the check that they lie inside the ball."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import _kernels
from .copying import of_type
from .numerics import FloatArray, floating, lengths_and_margins, rows_of

__all__ = ["common_type", "inside_terms", "paired", "points_of", "spacetime_of"]

PairKernel = Callable[..., "int | None"]

# Numbers gathered at a time where the leading axes broadcast in a way the kernels do not know.
_GATHERED = 1 << 20


def points_of(x: ArrayLike, name: str = "x") -> FloatArray:
    """``x`` as a floating array whose last axis holds coordinates.

    Raises
    ------
    ValueError
        If ``x`` is a single number.

    Examples
    --------
    >>> points_of([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    points = floating(x, name)
    if points.ndim == 0:
        raise ValueError(f"{name}: expected coordinates along the last axis, got the single number {points}")
    return points


def spacetime_of(X: ArrayLike, name: str = "X") -> FloatArray:
    """``X`` as a floating array of Lorentz vectors, time coordinate first.

    Raises
    ------
    ValueError
        If there is no time coordinate.

    Examples
    --------
    >>> spacetime_of([1, 0, 0]).shape
    (3,)
    """
    vectors = points_of(X, name)
    if vectors.shape[-1] == 0:
        raise ValueError(f"{name}: expected a time coordinate first, got vectors without coordinates")
    return vectors


def common_type(*arrays: FloatArray) -> np.dtype[Any]:
    """The floating type of a result: the widest of the points'.

    Examples
    --------
    >>> common_type(np.zeros(1, np.float16), np.zeros(1, np.float32))
    dtype('float32')
    """
    first = arrays[0].dtype
    if all(array.dtype == first for array in arrays):
        return first
    return np.result_type(*(array.dtype for array in arrays))


def lead_of(x: FloatArray, y: FloatArray, names: tuple[str, str] = ("x", "y")) -> tuple[int, ...]:
    """The leading axes of a result: those of ``x`` and ``y``, broadcast.

    Raises
    ------
    ValueError
        If they do not broadcast.

    Examples
    --------
    >>> lead_of(np.zeros((4, 1, 2)), np.zeros((3, 2)))
    (4, 3)
    """
    shape, other = x.shape[:-1], y.shape[:-1]
    if shape == other or not other:
        return shape
    try:
        return np.broadcast_shapes(shape, other)
    except ValueError:
        raise ValueError(
            f"{names[0]}, {names[1]}: expected leading axes that broadcast, got shapes {x.shape} and {y.shape}"
        ) from None


def refuse_outside(points: FloatArray, row: int, curvature: float, name: str) -> None:
    """Raise the ValueError for a point that is not strictly inside the ball."""
    place = np.unravel_index(row, points.shape[:-1]) if points.ndim > 1 else ()
    length = float(lengths_and_margins(points[place], curvature)[0])
    where = f"{name}[{', '.join(str(int(i)) for i in place)}]" if place else name
    raise ValueError(
        f"{where}: expected a point strictly inside the ball, sqrt(c)·|x| < 1, got sqrt(c)·|x| = "
        f"{length:.17g}; move it inside with PoincareBall.project"
    )


def inside_terms(
    points: FloatArray, curvature: float, name: str = "x"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``√c·|x|`` and ``1 − c·|x|²`` of points that must lie inside the ball.

    Raises
    ------
    ValueError
        If a point has ``√c·|x| >= 1``. NaN passes.

    Examples
    --------
    >>> inside_terms(np.array([0.6, 0.0]), 1.0)
    (array(0.6), array(0.64))
    """
    lengths, margins = np.empty(points.shape[:-1]), np.empty(points.shape[:-1])
    outside = _kernels.ball_row_terms(rows_of(points), curvature, lengths.reshape(-1), margins.reshape(-1), 0)
    if outside >= 0:
        refuse_outside(points, outside, curvature, name)
    return lengths, margins


def paired(
    kernel: PairKernel,
    x: FloatArray,
    y: FloatArray,
    curvature: float,
    *,
    names: tuple[str, str] = ("x", "y"),
    threads: int = 0,
) -> NDArray[np.float64]:
    """Apply a row-by-row kernel over the broadcast leading axes of ``x`` and ``y``.

    One point against many, and equally shaped arrays, are read where they lie; any other broadcast is
    gathered piece by piece, never expanded as a whole.

    Raises
    ------
    ValueError
        If the last axes differ in length, or a point lies outside the ball.
    """
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"{names[0]}, {names[1]}: expected the same number of coordinates, "
            f"got shapes {x.shape} and {y.shape}"
        )
    lead = lead_of(x, y, names)
    out = np.empty(lead)
    if out.size == 0:
        return out
    flat = out.reshape(-1)
    rows_x, rows_y = rows_of(x), rows_of(y)
    if rows_x.dtype != rows_y.dtype:
        rows_x, rows_y = of_type(rows_x, np.float64), of_type(rows_y, np.float64)
    outside: int | None
    if (len(rows_x) == 1 or x.shape[:-1] == lead) and (len(rows_y) == 1 or y.shape[:-1] == lead):
        outside = kernel(rows_x, rows_y, curvature, flat, threads)
        if outside is not None and outside >= out.size:
            refuse_outside(y, outside - out.size, curvature, names[1])
        if outside is not None and outside >= 0:
            refuse_outside(x, outside, curvature, names[0])
        return out
    from_x, from_y = _row_numbers(x, lead), _row_numbers(y, lead)
    step = max(1, _GATHERED // max(1, x.shape[-1]))
    for start in range(0, out.size, step):
        part = slice(start, start + step)
        outside = kernel(rows_x[from_x[part]], rows_y[from_y[part]], curvature, flat[part], threads)
        if outside is not None and outside >= 0:
            inside_terms(x, curvature, names[0])
            inside_terms(y, curvature, names[1])
    return out


def _row_numbers(points: FloatArray, lead: tuple[int, ...]) -> NDArray[np.intp]:
    shape = points.shape[:-1]
    numbers = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.intp).reshape(shape)
    return np.broadcast_to(numbers, lead).reshape(-1)
