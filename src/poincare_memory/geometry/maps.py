"""Formulas of the ball's maps, in float64, without cancellation up to the depth that the coordinates hold.

Every function takes points of shape (..., d) with their margin ``1 − c·|x|²`` of shape (..., 1), and returns
a point of the *unit* ball (multiplied by √c), which :func:`keep_inside` brings back.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .numerics import LARGEST_NORM, along, lengths_and_margins

__all__ = ["exp_map", "geodesic_point", "keep_inside", "log_direction", "mobius_sum"]

Values = NDArray[np.float64]


def warn_of_saturation(dtype: np.dtype[Any], stacklevel: int) -> None:
    """Say that a point was asked for that lies deeper than its floating type holds."""
    warnings.warn(
        f"{dtype.name} holds no point this close to the boundary: the largest norm below 1/sqrt(c) was "
        "taken. Keep direction and radius (poincare_memory.geometry.polar) to go deeper",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )


def keep_inside(unit_point: Values, sqrt_c: float, dtype: np.dtype[Any], stacklevel: int = 3) -> NDArray[Any]:
    """Scale from the unit ball to the ball; points that ``dtype`` cannot hold get its largest norm below 1.

    Warns
    -----
    RuntimeWarning
        If there are such points.
    """
    limit = LARGEST_NORM[dtype.type]
    lengths, _ = lengths_and_margins(unit_point, 1.0)
    beyond = lengths > limit
    if beyond.any():
        warn_of_saturation(dtype, stacklevel)
        unit_point = np.where(
            beyond[..., np.newaxis],
            along(unit_point, np.asarray(np.minimum(lengths, limit)), np.dtype(np.float64)),
            unit_point,
        )
    return (unit_point / sqrt_c).astype(dtype, copy=False)


def sum_of_squares(x: Values) -> Values:
    """``|x|²`` over the last axis, which is kept.

    Examples
    --------
    >>> sum_of_squares(np.array([3.0, 4.0]))
    array([25.])
    """
    return np.asarray(np.einsum("...i,...i->...", x, x)[..., np.newaxis])


def mobius_sum(x: Values, margin_x: Values, y: Values, margin_y: Values, curvature: float) -> Values:
    """``x ⊕ y = (c|s|²·x + g·s) / (c|s|² + g·h)`` with s = x + y, g and h the margins (Ungar 2008).

    The textbook form has 1 + 2c⟨x, y⟩ + c|y|², which cancels where y is near −x; that is c|s|² + g.
    """
    s = x + y
    square = curvature * sum_of_squares(s)
    return np.asarray((square * x + margin_x * s) / (square + margin_x * margin_y) * np.sqrt(curvature))


def log_direction(x: Values, margin_x: Values, y: Values, curvature: float) -> Values:
    """A vector along ``(−x) ⊕ y``, the direction at x of the geodesic to y: ``g·(y−x) − c|y−x|²·x``."""
    gap = y - x
    return np.asarray(margin_x * gap - curvature * sum_of_squares(gap) * x)


def exp_map(x: Values, length_x: Values, margin_x: Values, v: Values, curvature: float) -> Values:
    """The point at the end of the geodesic from x with initial velocity v (Ganea et al. 2018, eq. 3).

    On the hyperboloid, exp is cosh ν·X + sinh ν·V with ν = 2√c|v|/g. Brought back to the unit ball, with
    w± = x ± v/|v|, E = e^(−2ν) and p = |w₊|² + E·|w₋|², nothing is left that cancels or overflows::

        (p·x + g·[(1−E)·w₊ + 2E·x]) / (2g·e^(−ν) + p)
    """
    sqrt_c = np.sqrt(curvature)
    speed = lengths_and_margins(v, 1.0)[0][..., np.newaxis]
    heading = along(v, np.array(1.0), np.dtype(np.float64))
    with np.errstate(over="ignore"):
        travel = 2.0 * sqrt_c * speed / margin_x
    shrink, shrink_squared, advance = np.exp(-travel), np.exp(-2.0 * travel), -np.expm1(-2.0 * travel)
    x = x * sqrt_c
    ahead, behind = x + heading, x - heading
    # |w₊| cannot be below 1 − |x|; said so, it cannot vanish by rounding
    nearest = (margin_x / (1.0 + length_x)) ** 2 * (speed > 0)
    weight = np.maximum(sum_of_squares(ahead), nearest) + shrink_squared * sum_of_squares(behind)
    numerator = weight * x + margin_x * (advance * ahead + 2.0 * shrink_squared * x)
    return np.asarray(numerator / (2.0 * margin_x * shrink + weight))


def geodesic_point(
    x: Values, margin_x: Values, y: Values, margin_y: Values, distance: Values, t: Values, curvature: float
) -> Values:
    """The point at fraction t of the geodesic from x to y; ``distance`` is √c·d(x, y).

    On the hyperboloid it is ``Z = (sinh((1−t)D)·X + sinh(tD)·Y)/sinh D``. Both coefficients are divided by
    their largest exponential, so that no t overflows, and the time coordinate is taken from the space part,
    so that Z stays on the hyperboloid. The end points are returned as they are.
    """
    a, b = np.abs(1.0 - t), np.abs(t)
    excess = np.maximum(np.maximum(a, b), 1.0)

    def coefficient(fraction: Values) -> Values:
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.expm1(-2.0 * fraction * distance) / np.expm1(-2.0 * distance)
        ratio = np.where(distance == 0, fraction, ratio)
        return np.asarray(np.exp((fraction - excess) * distance) * ratio)

    sqrt_c = np.sqrt(curvature)
    weight_x = np.sign(1.0 - t) * coefficient(a) * margin_y
    weight_y = np.sign(t) * coefficient(b) * margin_x
    space = 2.0 * sqrt_c * (weight_x * x + weight_y * y)
    unit = np.exp((1.0 - excess) * distance) * margin_x * margin_y
    z = space / (unit + np.sqrt(unit**2 + sum_of_squares(space)))
    return np.asarray(np.where(t == 0, sqrt_c * x, np.where(t == 1, sqrt_c * y, z)))
