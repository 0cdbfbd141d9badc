"""Polar coordinates: a unit direction and a hyperbolic radius, which hold any depth (ball points hold 36)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .numerics import LARGEST_NORM, along, floating, lengths_and_margins
from .pairing import inside_terms, points_of

__all__ = ["ball_to_polar", "directions", "polar_to_ball", "radii_of"]


def directions(vectors: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Unit vectors along ``vectors``, and which of them have a direction at all.

    Parameters
    ----------
    vectors : array of shape (..., d)
        Of any magnitude that the format holds (1e-320 to 1e308).

    Returns
    -------
    unit : float64 array of shape (..., d)
        Zero where the vector is zero.
    known : bool array of shape (...)
        False where the vector is zero.

    Examples
    --------
    >>> unit, known = directions([[3e300, 4e300], [0.0, 0.0]])
    >>> unit.round(12).tolist(), known.tolist()
    ([[0.6, 0.8], [0.0, 0.0]], [True, False])
    """
    points = floating(points_of(vectors, "vectors"))
    unit = along(points, np.array(1.0), np.dtype(np.float64))
    return unit, np.asarray(lengths_and_margins(points, 1.0)[0] != 0)


def radii_of(points: ArrayLike, curvature: float) -> NDArray[np.float64]:
    """Hyperbolic distance from the origin, ``(2/√c)·artanh(√c·|x|)``, in float64.

    Raises
    ------
    ValueError
        If a point is not strictly inside the ball.

    Examples
    --------
    >>> round(float(radii_of([np.tanh(0.5), 0.0], 1.0)), 12)
    1.0
    """
    lengths, margins = inside_terms(points_of(points, "points"), curvature, "points")
    return np.asarray(2.0 * np.arcsinh(lengths / np.sqrt(margins)) / np.sqrt(curvature))[()]


def polar_to_ball(direction: ArrayLike, radius: ArrayLike, curvature: float) -> NDArray[np.float64]:
    """Ball points at hyperbolic ``radius`` along ``direction``, the norm always strictly below ``1/√c``.

    Parameters
    ----------
    direction : array of shape (..., d)
        Need not be of unit length; the zero vector gives the origin.
    radius : float or array of shape (...)
        In hyperbolic units. From ``36/√c`` on, the largest norm that float64 holds below ``1/√c`` is given;
        no warning is raised, since the radius is known to the caller.

    Examples
    --------
    >>> polar_to_ball([1.0, 0.0], 1.0, 1.0).round(6).tolist()
    [0.462117, 0.0]
    >>> bool(np.linalg.norm(polar_to_ball([0.6, 0.8], 5000.0, 1.0)) < 1)
    True
    """
    sqrt_c = float(np.sqrt(curvature))
    limit = LARGEST_NORM[np.float64]
    length = np.clip(np.tanh(np.asarray(radius, np.float64) * (sqrt_c / 2)), -limit, limit) / sqrt_c
    return along(floating(points_of(direction, "direction")), np.asarray(length), np.dtype(np.float64))


def ball_to_polar(points: ArrayLike, curvature: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit directions and hyperbolic radii of ball points; inverse of :func:`polar_to_ball`.

    The origin has no direction: its row is zero.

    Raises
    ------
    ValueError
        If a point is not strictly inside the ball.

    Examples
    --------
    >>> direction, radius = ball_to_polar(polar_to_ball([0.6, 0.8], 3.0, 1.0), 1.0)
    >>> direction.round(12).tolist(), round(float(radius), 12)
    ([0.6, 0.8], 3.0)
    """
    return directions(points)[0], radii_of(points, curvature)
