"""Entailment cones (Ganea, Bécigneul & Hofmann, Hyperbolic Entailment Cones, 2018)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import _kernels
from ..arguments import positive_number
from ..geometry.numerics import FloatArray, rows_of
from ..geometry.pairing import common_type, paired, points_of, refuse_outside
from ..geometry.poincare import PoincareBall

__all__ = ["DEFAULT_K", "cone_angle", "cone_energy", "half_aperture", "in_cone"]

DEFAULT_K: float = _kernels.DEFAULT_CONE_K


def half_aperture(x: ArrayLike, ball: PoincareBall, K: float = DEFAULT_K) -> FloatArray:
    """Half aperture of the cone at x, ``arcsin(K(1 − c|x|²)/(√c|x|))``, in radians (eq. 21 of the paper).

    It is π in the central region ``√c|x| < K``, where the cone is the whole ball.

    Parameters
    ----------
    x : array of shape (..., d)
    ball : PoincareBall
    K : float, default 0.1
        Positive.

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError
        If ``K`` is not positive, or a point is not strictly inside the ball.

    Examples
    --------
    >>> round(float(half_aperture([0.5, 0.0], PoincareBall())), 6)
    0.150568
    """
    points = points_of(x)
    out = np.empty(points.shape[:-1])
    outside = _kernels.half_apertures(rows_of(points), ball.c, positive_number("K", K), out.reshape(-1), 0)
    if outside >= 0:
        refuse_outside(points, outside, ball.c, "x")
    return np.asarray(out.astype(points.dtype, copy=False))[()]


def cone_angle(x: ArrayLike, y: ArrayLike, ball: PoincareBall) -> FloatArray:
    """Angle at x between its own ray and the geodesic to y, in radians; 0 for y = x.

    Parameters
    ----------
    x, y : arrays of shape (..., d)
        Points strictly inside the ball; leading axes broadcast.
    ball : PoincareBall

    Returns
    -------
    array of shape (...)
        From 0 to π.

    Raises
    ------
    ValueError
        If a point is not strictly inside the ball, or the shapes do not fit.

    Examples
    --------
    >>> cone_angle([0.5, 0.0], [[0.8, 0.0], [0.0, 0.0]], PoincareBall()).round(6).tolist()
    [0.0, 3.141593]
    """
    a, b = points_of(x), points_of(y, "y")
    return np.asarray(paired(_kernels.cone_angles, a, b, ball.c).astype(common_type(a, b), copy=False))[()]


def cone_energy(x: ArrayLike, y: ArrayLike, ball: PoincareBall, K: float = DEFAULT_K) -> FloatArray:
    """How far y lies outside the cone of x, in radians: ``max(0, cone_angle − half_aperture)``.

    0 inside the cone, at its apex included; leading axes broadcast.

    Parameters
    ----------
    x : array of shape (..., d)
        Apexes, strictly inside the ball.
    y : array of shape (..., d)
        Points to test, strictly inside the ball.
    ball : PoincareBall
    K : float, default 0.1
        Constant of the aperture, above 0: the smaller, the narrower the cones.

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError
        If ``K`` is not positive, or a point is not strictly inside the ball.

    Examples
    --------
    >>> cone_energy([0.5, 0.0], [[0.8, 0.0], [0.0, 0.5]], PoincareBall()).round(4).tolist()
    [0.0, 2.4506]
    """
    a, b = points_of(x), points_of(y, "y")
    return np.asarray(_energy(a, b, ball, K).astype(common_type(a, b), copy=False))[()]


def in_cone(
    x: ArrayLike, y: ArrayLike, ball: PoincareBall, K: float = DEFAULT_K, tol: float = 1e-9
) -> NDArray[np.bool_]:
    """Whether y lies in the cone of x, to a tolerance of ``tol`` radians. False for NaN.

    Parameters
    ----------
    x, y : arrays of shape (..., d)
        Apexes, and points to test, strictly inside the ball; leading axes broadcast.
    ball : PoincareBall
    K : float, default 0.1
        Constant of the aperture, above 0.
    tol : float, default 1e-9
        Largest :func:`cone_energy` that counts as inside, in radians.

    Returns
    -------
    bool array of shape (...)

    Raises
    ------
    ValueError
        If ``K`` is not positive, or a point is not strictly inside the ball.

    Examples
    --------
    >>> in_cone([0.5, 0.0], [[0.8, 0.0], [0.0, 0.5]], PoincareBall()).tolist()
    [True, False]
    """
    return np.asarray(_energy(points_of(x), points_of(y, "y"), ball, K) <= tol)[()]


def _energy(x: FloatArray, y: FloatArray, ball: PoincareBall, K: float) -> NDArray[np.float64]:
    K = positive_number("K", K)

    def kernel(x: FloatArray, y: FloatArray, c: float, out: NDArray[np.float64], threads: int) -> int:
        return _kernels.cone_energies(x, y, c, K, out, threads)

    return paired(kernel, x, y, ball.c)
