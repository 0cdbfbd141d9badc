"""Lorentz (hyperboloid) model helpers.

The hyperboloid of curvature -c is ``{X in R^{d+1} : <X, X>_L = -1/c, X_0 > 0}`` with the Lorentzian inner
product ``<X, Y>_L = -X_0 Y_0 + sum_i X_i Y_i`` (Nickel & Kiela 2018). Negating the time coordinate of every
stored vector turns it into an ordinary dot product, so that an *exact* maximum-inner-product search over such
vectors finds the hyperbolic nearest neighbours of a query. A graph index compares stored vectors with each
other as well, which that product does not serve: give it the Lorentzian metric itself
(:class:`poincare_memory.MIPSIndex` does).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .._core import _kernels
from .copying import copied
from .numerics import FloatArray, floating
from .pairing import common_type, paired, spacetime_of

__all__ = ["lorentz_distance", "lorentz_inner", "mips_scores", "to_mips_vectors"]


def lorentz_inner(X: ArrayLike, Y: ArrayLike) -> FloatArray:
    """Lorentzian inner product ``-X_0 Y_0 + sum_i X_i Y_i`` over the last axis.

    Parameters
    ----------
    X, Y : arrays of shape (..., d + 1)
        Time coordinate first; leading axes broadcast.

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError
        If the vectors have different numbers of coordinates, or none.

    Examples
    --------
    >>> float(lorentz_inner([2.0, 3.0], [4.0, 5.0]))
    7.0
    """
    a, b = spacetime_of(X, "X"), spacetime_of(Y, "Y")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"X, Y: expected the same number of coordinates, got shapes {a.shape} and {b.shape}")
    wide_a, wide_b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    space = np.sum(wide_a[..., 1:] * wide_b[..., 1:], axis=-1)
    return np.asarray((space - wide_a[..., 0] * wide_b[..., 0]).astype(common_type(a, b), copy=False))[()]


def lorentz_distance(X: ArrayLike, Y: ArrayLike, curvature: float = 1.0) -> FloatArray:
    """Geodesic distance on the hyperboloid of curvature ``-curvature``.

    It equals ``(1/√c)·arcosh(−c<X, Y>_L)`` and is evaluated without that product's cancellation, which loses
    every digit of near points from radius 8 on: radius and direction are read from the space coordinates
    ``X[..., 1:]`` (the time coordinate follows from them), and the distance comes from the hyperbolic law of
    cosines. Equal vectors are at distance exactly 0.

    Parameters
    ----------
    X, Y : arrays of shape (..., d + 1)
        Time coordinate first.
    curvature : float, default 1.0
        Positive and finite.

    Returns
    -------
    array of shape (...)
        In hyperbolic units; leading axes broadcast.

    Raises
    ------
    ValueError
        If ``curvature`` is not positive and finite, or the shapes do not fit.

    Examples
    --------
    >>> from poincare_memory import PoincareBall
    >>> ball = PoincareBall()
    >>> x, y = ball.to_lorentz([0.6, 0.5]), ball.to_lorentz([0.6, 0.5 + 1e-9])
    >>> f"{float(lorentz_distance(x, y)):.3g}"
    '5.13e-09'
    """
    if not 0 < curvature < math.inf:
        raise ValueError(f"curvature: expected a positive finite number, got {curvature!r}")
    a, b = spacetime_of(X, "X"), spacetime_of(Y, "Y")
    found = paired(_kernels.lorentz_distances, a, b, float(curvature), names=("X", "Y"))
    return np.asarray(found.astype(common_type(a, b), copy=False))[()]


def to_mips_vectors(X: ArrayLike) -> FloatArray:
    """Negate the time coordinate so that ``dot(to_mips_vectors(X), Y) == <X, Y>_L``.

    Store the result in an exact dot-product index and query with the raw hyperboloid coordinates of the query
    point; the largest dot products are the hyperbolic nearest neighbours.

    Parameters
    ----------
    X : array of shape (..., d + 1)
        Hyperboloid coordinates, time first.

    Returns
    -------
    array of shape (..., d + 1)
        A copy.

    Examples
    --------
    >>> to_mips_vectors([1.25, 0.75, 0.0]).tolist()
    [-1.25, 0.75, 0.0]
    """
    points = spacetime_of(X, "X")
    negated = copied(points)
    negated[..., 0] = -points[..., 0]
    return negated


def mips_scores(stored_mips: ArrayLike, query: ArrayLike) -> FloatArray:
    """Dot-product scores (larger = closer) between MIPS-prepared stored vectors and a query.

    Parameters
    ----------
    stored_mips : array of shape (n, d + 1)
        From :func:`to_mips_vectors`.
    query : array of shape (d + 1,) or (d + 1, m)
        Raw hyperboloid coordinates.

    Returns
    -------
    array of shape (n,) or (n, m)
        ``<stored, query>_L``, at most ``-1/c`` for points of the hyperboloid.

    Examples
    --------
    >>> mips_scores([[-1.0, 0.0], [-1.25, 0.75]], [1.0, 0.0]).tolist()
    [-1.0, -1.25]
    """
    return np.asarray(floating(stored_mips, "stored_mips") @ floating(query, "query"))[()]
