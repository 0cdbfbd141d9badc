"""Gyrovectors of the Poincaré ball: Möbius operations, exponential and logarithmic maps, geodesics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import _kernels
from .copying import copied
from .maps import mapped, warn_of_saturation
from .numerics import BALL_EPS, LARGEST_NORM, FloatArray, along, lengths_and_margins, reals
from .pairing import common_type, inside_terms, paired, points_of

__all__ = ["Ball", "Gyrovectors"]


class Ball:
    """The open ball of radius ``1/√c``, and what is at a norm or a depth in it."""

    curvature: float

    @property
    def c(self) -> float:
        """The curvature magnitude c.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall(4.0).c
        4.0
        """
        return self.curvature

    @property
    def sqrt_c(self) -> float:
        """``√c``.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall(4.0).sqrt_c
        2.0
        """
        return math.sqrt(self.curvature)

    @property
    def radius(self) -> float:
        """Euclidean radius of the ball, ``1/√c``.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall(4.0).radius
        0.5
        """
        return 1.0 / self.sqrt_c

    def project(self, x: ArrayLike) -> FloatArray:
        """Move points with norm ``>= 1/√c`` to norm ``(1 - margin)/√c``; leave points inside alone.

        The margin is 1e-5 (4e-3 in float32, 1e-2 in float16).

        Parameters
        ----------
        x : array of shape (..., d)
            Points anywhere.

        Returns
        -------
        array of shape (..., d)

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall().project([[3.0, 4.0], [0.3, 0.4]]).tolist()
        [[0.599994, 0.799992], [0.3, 0.4]]
        """
        points = points_of(x)
        outside = lengths_and_margins(points, self.c)[1] <= 0
        if not outside.any():
            return copied(points)
        rim = np.array((1.0 - BALL_EPS[points.dtype.type]) / self.sqrt_c)
        projected = copied(points)
        projected[outside] = along(points[outside], rim, points.dtype)
        return projected

    def _depths(self, points: FloatArray, name: str = "x") -> NDArray[np.float64]:
        origin = np.zeros(points.shape[-1], points.dtype)
        return paired(_kernels.ball_distances, points, origin, self.c, names=(name, "the origin"))

    def _at_norm(self, points: FloatArray, norm: NDArray[np.float64], stacklevel: int) -> NDArray[Any]:
        """Points along ``points``, at norms given in units of the ball's radius."""
        limit = LARGEST_NORM[points.dtype.type]
        if (np.abs(norm) > limit).any():
            warn_of_saturation(points.dtype, stacklevel)
            norm = np.clip(norm, -limit, limit)
        return along(points, np.asarray(norm / self.sqrt_c), points.dtype)


class Gyrovectors(Ball):
    """What points of the ball do among each other, as vectors do in a flat space (Ungar 2008; Ganea et al. 2018)."""

    def conformal_factor(self, x: ArrayLike) -> FloatArray:
        """lambda_x = 2 / (1 - c ||x||^2), the metric's conformal factor; the last axis is kept with length 1.

        Parameters
        ----------
        x : array of shape (..., d)
            Points strictly inside the ball.

        Returns
        -------
        array of shape (..., 1)

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall().conformal_factor([0.5, 0.0]).round(6).tolist()
        [2.666667]
        """
        points = points_of(x)
        margins = inside_terms(points, self.c)[1]
        return np.asarray((2.0 / margins)[..., np.newaxis].astype(points.dtype, copy=False))

    def mobius_add(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Möbius addition ``x ⊕_c y`` (Ungar 2008): left translation, an isometry in y.

        Parameters
        ----------
        x, y : arrays of shape (..., d)
            Points strictly inside the ball; leading axes broadcast.

        Returns
        -------
        array of shape (..., d)

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall().mobius_add([0.3, 0.4], [-0.3, -0.4]).tolist()
        [0.0, 0.0]
        """
        return mapped(_kernels.mobius_add, points_of(x), points_of(y, "y"), self.c)

    def mobius_scalar_mul(self, r: ArrayLike, x: ArrayLike) -> FloatArray:
        """Möbius scalar multiplication r ⊗_c x (scales hyperbolic distance from 0 by r).

        Parameters
        ----------
        r : float or array
            Broadcasts against the leading axes of ``x``, or, with a last axis of length 1, against ``x`` itself.
        x : array of shape (..., d)

        Returns
        -------
        array of shape (..., d)

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall().mobius_scalar_mul(2.0, [0.5, 0.0]).tolist()
        [0.8, 0.0]
        """
        points = points_of(x)
        factor = reals(r, "r")
        if factor.ndim and factor.shape[-1] == 1 and factor.shape != points.shape[:-1]:
            factor = factor[..., 0]
        half_depth = self.sqrt_c / 2 * np.asarray(self._depths(points))
        return self._at_norm(points, np.tanh(factor * half_depth), stacklevel=3)

    def expmap0(self, v: ArrayLike) -> FloatArray:
        """Exponential map at the origin: tanh(sqrt(c) ||v||) v / (sqrt(c) ||v||), at depth ``2·|v|``.

        Parameters
        ----------
        v : array of shape (..., d)
            Tangent vectors at the origin.

        Returns
        -------
        array of shape (..., d)

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall().expmap0([1.0, 0.0]).round(6).tolist()
        [0.761594, 0.0]
        """
        vectors = points_of(v, "v")
        speed = lengths_and_margins(vectors, 1.0)[0]
        return self._at_norm(vectors, np.tanh(self.sqrt_c * speed), stacklevel=3)

    def logmap0(self, y: ArrayLike) -> FloatArray:
        """Logarithmic map at the origin, inverse of :meth:`expmap0`.

        Parameters
        ----------
        y : array of shape (..., d)
            Points strictly inside the ball.

        Returns
        -------
        array of shape (..., d)

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> ball = PoincareBall()
        >>> ball.logmap0(ball.expmap0([1.0, 0.0])).round(6).tolist()
        [1.0, 0.0]
        """
        points = points_of(y, "y")
        return along(points, np.asarray(self._depths(points, "y") / 2), points.dtype)

    def expmap(self, x: ArrayLike, v: ArrayLike) -> FloatArray:
        """Exponential map at x: x ⊕_c (tanh(sqrt(c) λ_x ||v|| / 2) v / (sqrt(c) ||v||)) (Ganea et al. 2018).

        Parameters
        ----------
        x : array of shape (..., d)
            Points strictly inside the ball.
        v : array of shape (..., d)
            Tangent vectors at x.

        Returns
        -------
        array of shape (..., d)

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall().expmap([0.5, 0.0], [0.0, 0.0]).tolist()
        [0.5, 0.0]
        """
        return mapped(_kernels.exp_map, points_of(x), points_of(v, "v"), self.c, names=("x", "v"))

    def logmap(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Logarithmic map at x, inverse of :meth:`expmap`: along ``(−x) ⊕ y``, of length ``d(x, y)/λ_x``.

        Parameters
        ----------
        x, y : arrays of shape (..., d)
            Points strictly inside the ball; leading axes broadcast.

        Returns
        -------
        array of shape (..., d)
            Tangent vectors at x.

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> ball = PoincareBall()
        >>> ball.expmap([0.5, 0.0], ball.logmap([0.5, 0.0], [0.0, 0.5])).round(9).tolist()
        [0.0, 0.5]
        """
        return mapped(_kernels.log_map, points_of(x), points_of(y, "y"), self.c)

    def geodesic(self, x: ArrayLike, y: ArrayLike, t: ArrayLike) -> FloatArray:
        """The point at fraction ``t`` of the geodesic from x (t = 0) to y (t = 1); other t extend it.

        ``t`` broadcasts against the leading axes of x and y.

        Parameters
        ----------
        x, y : arrays of shape (..., d)
            Points strictly inside the ball; leading axes broadcast.
        t : float or array
            Fractions of the way.

        Returns
        -------
        array of shape (..., d)

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall().geodesic([-0.5, 0.0], [0.5, 0.0], [0.0, 0.5, 1.0]).tolist()
        [[-0.5, 0.0], [0.0, 0.0], [0.5, 0.0]]
        """
        fraction = reals(t, "t")
        return mapped(_kernels.geodesic, points_of(x), points_of(y, "y"), self.c, t=fraction)

    def egrad2rgrad(self, x: ArrayLike, grad: ArrayLike) -> FloatArray:
        """Rescale a Euclidean gradient to the Riemannian gradient: ((1 - c||x||^2)^2 / 4) grad.

        Parameters
        ----------
        x : array of shape (..., d)
            Points strictly inside the ball.
        grad : array of shape (..., d)
            Euclidean gradient at x.

        Returns
        -------
        array of shape (..., d)

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall().egrad2rgrad([0.0, 0.0], [4.0, 8.0]).tolist()
        [1.0, 2.0]
        """
        a, b = points_of(x), points_of(grad, "grad")
        shrink = inside_terms(a, self.c)[1][..., np.newaxis] ** 2 / 4
        return np.asarray((shrink * b).astype(common_type(a, b), copy=False))

    def retraction(self, x: ArrayLike, v: ArrayLike) -> FloatArray:
        """First-order retraction proj(x + v) used by Riemannian SGD (Nickel & Kiela 2017).

        Parameters
        ----------
        x : array of shape (..., d)
            Points strictly inside the ball.
        v : array of shape (..., d)
            Tangent vectors at x.

        Returns
        -------
        array of shape (..., d)

        Examples
        --------
        >>> from poincare_memory import PoincareBall
        >>> PoincareBall().retraction([0.5, 0.0], [0.25, 0.0]).tolist()
        [0.75, 0.0]
        """
        return self.project(points_of(x) + points_of(v, "v"))
