"""Guarded elementary functions and the margins of each floating type.

The limits themselves live in the native core (``numerics.hpp``); here they are read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import _kernels
from .copying import copied, of_type

__all__ = [
    "ATANH_CLAMP",
    "BALL_EPS",
    "TANH_CLAMP",
    "TINY",
    "FloatArray",
    "arcosh",
    "artanh",
    "atanh_clamp",
    "dtype_eps",
    "norm",
    "safe_div",
    "tanh",
]

FloatArray = NDArray[np.floating[Any]]

# Distance kept from the boundary by `PoincareBall.project`, in units of the ball's radius.
BALL_EPS: dict[type[np.floating[Any]], float] = {
    np.float64: _kernels.BALL_EPS_FLOAT64,
    np.float32: _kernels.BALL_EPS_FLOAT32,
    np.float16: _kernels.BALL_EPS_FLOAT16,
}
# Largest argument that `artanh` takes as it is.
ATANH_CLAMP: dict[type[np.floating[Any]], float] = {
    np.float64: _kernels.ATANH_CLAMP_FLOAT64,
    np.float32: _kernels.ATANH_CLAMP_FLOAT32,
    np.float16: _kernels.ATANH_CLAMP_FLOAT16,
}
TANH_CLAMP: float = _kernels.TANH_CLAMP
TINY: float = _kernels.TINY

# Largest norm that a point is given, in units of the ball's radius (hyperbolic radius 36.04, 15.94, 6.93).
LARGEST_NORM: dict[type[np.floating[Any]], float] = {
    np.float64: _kernels.LARGEST_NORM_FLOAT64,
    np.float32: _kernels.LARGEST_NORM_FLOAT32,
    np.float16: _kernels.LARGEST_NORM_FLOAT16,
}


def floating(x: ArrayLike, name: str = "x") -> FloatArray:
    """``x`` as a float16, float32 or float64 array in native byte order; integers become float64.

    Raises
    ------
    TypeError
        If ``x`` does not hold real numbers.

    Examples
    --------
    >>> floating([1, 2]).dtype, floating(np.float32(1)).dtype
    (dtype('float64'), dtype('float32'))
    """
    array = np.asarray(x)
    if array.dtype.type in LARGEST_NORM:
        return array if array.dtype.isnative else copied(array, array.dtype.newbyteorder("="))
    if array.dtype.kind in "iubf":
        return copied(array, np.float64)
    raise TypeError(f"{name}: expected real numbers, got an array of dtype {array.dtype}")


def reals(value: ArrayLike, name: str) -> NDArray[np.float64]:
    """Real numbers as a float64 array: radii, fractions and factors, whose type decides nothing.

    Examples
    --------
    >>> reals(2, "r")
    array(2.)
    """
    return of_type(floating(value, name), np.float64)


def dtype_eps(x: ArrayLike) -> float:
    """Margin of the ball for the floating type of ``x``: 1e-5, 4e-3 (float32) or 1e-2 (float16).

    Parameters
    ----------
    x : array
        Of real numbers; integers count as float64.

    Returns
    -------
    float
        In units of the ball's radius.

    Examples
    --------
    >>> dtype_eps(np.zeros(2, np.float32))
    0.004
    """
    return BALL_EPS[floating(x).dtype.type]


def atanh_clamp(x: ArrayLike) -> float:
    """Largest argument of :func:`artanh` for the floating type of ``x``.

    Parameters
    ----------
    x : array
        Of real numbers; integers count as float64.

    Returns
    -------
    float
        ``1 - 1e-15``, ``1 - 1e-7`` (float32) or ``1 - 1e-3`` (float16).

    Examples
    --------
    >>> atanh_clamp(np.zeros(2, np.float32))
    0.9999999
    """
    return ATANH_CLAMP[floating(x).dtype.type]


def artanh(x: ArrayLike) -> FloatArray:
    """Inverse hyperbolic tangent, the argument clamped to ``±atanh_clamp(x)``.

    Parameters
    ----------
    x : array
        Any shape.

    Returns
    -------
    array
        Same shape and floating type.

    Examples
    --------
    >>> artanh([0.5, 2.0]).round(4)
    array([ 0.5493, 17.6164])
    """
    values = floating(x)
    limit = values.dtype.type(atanh_clamp(values))
    return np.arctanh(np.clip(values, -limit, limit))


def tanh(x: ArrayLike) -> FloatArray:
    """Hyperbolic tangent, the argument clamped to ±15.

    Parameters
    ----------
    x : array
        Any shape.

    Returns
    -------
    array
        Same shape and floating type.

    Examples
    --------
    >>> tanh([1.0, 100.0]).round(4)
    array([0.7616, 1.    ])
    """
    return np.tanh(np.clip(floating(x), -TANH_CLAMP, TANH_CLAMP))


def arcosh(x: ArrayLike) -> FloatArray:
    """Inverse hyperbolic cosine; arguments below 1 count as 1.

    Parameters
    ----------
    x : array
        Any shape.

    Returns
    -------
    array
        Same shape and floating type.

    Examples
    --------
    >>> arcosh([0.5, 2.0]).round(4)
    array([0.   , 1.317])
    """
    values = floating(x)
    return np.arccosh(np.maximum(values, values.dtype.type(1)))


def norm(x: ArrayLike, keepdims: bool = True) -> FloatArray:
    """Euclidean norm over the last axis, without overflow or underflow of the squares.

    Parameters
    ----------
    x : array of shape (..., d)
    keepdims : bool, default True
        Keep the last axis, with length 1.

    Returns
    -------
    array of shape (..., 1) or (...)

    Examples
    --------
    >>> norm([3e200, 4e200])
    array([5.e+200])
    """
    values = floating(x)
    lengths = lengths_and_margins(values, 1.0)[0].astype(values.dtype, copy=False)
    return lengths[..., np.newaxis] if keepdims else lengths[()]


def safe_div(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """``a / b``; a divisor nearer to zero than 1e-15 counts as ±1e-15.

    Parameters
    ----------
    a, b : arrays
        Dividend and divisor; they broadcast.

    Returns
    -------
    array
        Finite for finite arguments, but for overflow of the quotient.

    Examples
    --------
    >>> safe_div([1.0, 2.0], [4.0, 0.0])
    array([2.5e-01, 2.0e+15])
    """
    divisor = floating(b)
    tiny = np.maximum(divisor.dtype.type(TINY), np.finfo(divisor.dtype).tiny)
    guarded = np.where(np.abs(divisor) < tiny, np.copysign(tiny, divisor), divisor)
    return np.asarray(floating(a) / guarded)[()]


def rows_of(points: FloatArray) -> FloatArray:
    """``points`` as the kernels take them: C-contiguous (n, d), float32 or float64 (float16 widened).

    Examples
    --------
    >>> rows_of(np.zeros((2, 3, 4), np.float16)).shape
    (6, 4)
    """
    if points.dtype == np.float16:
        points = copied(points, np.float32)
    rows = points if points.flags.c_contiguous else copied(points)
    return rows.reshape(math.prod(points.shape[:-1]), points.shape[-1])


def lengths_and_margins(
    points: FloatArray, curvature: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``√c·|x|`` and ``1 − c·|x|²`` over the last axis, in float64; the second to a few ulp at any norm.

    Examples
    --------
    >>> lengths_and_margins(np.array([0.6, 0.0]), 1.0)
    (array(0.6), array(0.64))
    """
    lengths, margins = np.empty(points.shape[:-1]), np.empty(points.shape[:-1])
    _kernels.ball_row_terms(rows_of(points), curvature, lengths.reshape(-1), margins.reshape(-1), 0)
    return lengths, margins


def along(points: FloatArray, length: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Vectors of the given lengths along ``points``; the zero vector where a point has no direction.

    ``length`` and the leading axes of ``points`` broadcast. Robust from 1e-320 to 1e308, and an infinite
    component counts as a direction by itself.

    Examples
    --------
    >>> along(np.array([3e200, 4e200]), np.array(10.0), np.dtype(float))
    array([6., 8.])
    """
    shape = points.shape[:-1]
    lead = shape if length.shape in ((), shape) else np.broadcast_shapes(shape, length.shape)
    narrow = dtype == np.float32 and points.dtype != np.float64
    target = np.dtype(np.float32 if narrow else np.float64)
    if shape != lead and math.prod(shape) != 1:
        points = np.broadcast_to(points, (*lead, points.shape[-1]))
    if length.size != 1 and length.shape != lead:
        length = np.broadcast_to(length, lead)
    out: FloatArray = np.empty((*lead, points.shape[-1]), target)
    _kernels.scale_rows(
        of_type(rows_of(points), target),
        np.ascontiguousarray(length, dtype=np.float64).reshape(-1),
        rows_of(out),
        0,
    )
    return of_type(out, dtype)
