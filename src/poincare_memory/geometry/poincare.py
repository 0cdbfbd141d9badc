"""The Poincaré ball of curvature −c: distances, exponential and logarithmic maps, Möbius operations."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import _kernels
from ..threads import resolve_threads
from .maps import mapped, storage_of, warn_of_saturation
from .numerics import BALL_EPS, LARGEST_NORM, FloatArray, along, lengths_and_margins, reals, rows_of
from .pairing import common_type, inside_terms, paired, points_of, refuse_outside, spacetime_of

__all__ = ["PoincareBall"]


@dataclass(frozen=True)
class PoincareBall:
    """Poincaré ball of curvature ``-curvature``: the open ball of radius ``1/√c``.

    Points are arrays whose last axis holds coordinates; every method broadcasts over the leading axes.
    float16, float32 and float64 points give results of their own type (the arithmetic is float64), integers
    and lists count as float64. An argument such as ``t`` or a radius never changes the type.

    NaN coordinates give NaN. A point that is not strictly inside the ball is an error, except where a method
    is there to bring it in (:meth:`project`, :meth:`set_depth`, :meth:`point_at`, :meth:`retraction`). A
    result deeper than its type holds (hyperbolic radius ``36/√c`` in float64, ``15.9/√c`` in float32,
    ``6.9/√c`` in float16) gets the largest norm below ``1/√c``, with a RuntimeWarning.

    Parameters
    ----------
    curvature : float, default 1.0
        Positive number c; distances and radii are in hyperbolic units.

    Raises
    ------
    ValueError
        If ``curvature`` is not positive and finite.
    TypeError
        If it is not a real number.

    Examples
    --------
    >>> ball = PoincareBall()
    >>> x = ball.point_at([1.0, 0.0], 8.0)
    >>> round(float(ball.distance(x, -x)), 6)
    16.0

    References
    ----------
    Nickel & Kiela (2017), Poincaré Embeddings for Learning Hierarchical Representations. Ganea, Bécigneul &
    Hofmann (2018), Hyperbolic Neural Networks. Ungar (2008), A Gyrovector Space Approach to Hyperbolic
    Geometry.
    """

    curvature: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.curvature, numbers.Real):
            raise TypeError(f"curvature: expected a real number, got {self.curvature!r}")
        try:
            curvature = float(self.curvature)
        except OverflowError:
            raise ValueError("curvature: expected a positive finite number, got one beyond 1e308") from None
        if not 0 < curvature < math.inf:
            raise ValueError(f"curvature: expected a positive finite number, got {curvature!r}")
        object.__setattr__(self, "curvature", curvature)

    @property
    def c(self) -> float:
        """The curvature magnitude c.

        Examples
        --------
        >>> PoincareBall(4.0).c
        4.0
        """
        return self.curvature

    @property
    def sqrt_c(self) -> float:
        """``√c``.

        Examples
        --------
        >>> PoincareBall(4.0).sqrt_c
        2.0
        """
        return math.sqrt(self.curvature)

    @property
    def radius(self) -> float:
        """Euclidean radius of the ball, ``1/√c``.

        Examples
        --------
        >>> PoincareBall(4.0).radius
        0.5
        """
        return 1.0 / self.sqrt_c

    def project(self, x: ArrayLike) -> FloatArray:
        """Move points with norm ``>= 1/√c`` to norm ``(1 - margin)/√c``; leave points inside alone.

        The margin is 1e-5 (4e-3 in float32, 1e-2 in float16).

        Examples
        --------
        >>> PoincareBall().project([[3.0, 4.0], [0.3, 0.4]]).tolist()
        [[0.599994, 0.799992], [0.3, 0.4]]
        """
        points = points_of(x)
        outside = lengths_and_margins(points, self.c)[1] <= 0
        if not outside.any():
            return points.copy()
        rim = np.array((1.0 - BALL_EPS[points.dtype.type]) / self.sqrt_c)
        return np.where(outside[..., np.newaxis], along(points, rim, points.dtype), points)

    def is_inside(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whether ``√c·|x| < 1``; False for NaN.

        Examples
        --------
        >>> PoincareBall().is_inside([[0.9, 0.0], [1.0, 0.0]]).tolist()
        [True, False]
        """
        return np.asarray(lengths_and_margins(points_of(x), self.c)[1] > 0)[()]

    def conformal_factor(self, x: ArrayLike) -> FloatArray:
        """lambda_x = 2 / (1 - c ||x||^2), the metric's conformal factor; the last axis is kept with length 1.

        Examples
        --------
        >>> PoincareBall().conformal_factor([0.5, 0.0]).round(6).tolist()
        [2.666667]
        """
        points = points_of(x)
        margins = inside_terms(points, self.c)[1]
        return np.asarray((2.0 / margins)[..., np.newaxis].astype(points.dtype, copy=False))

    def mobius_add(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Möbius addition ``x ⊕_c y`` (Ungar 2008): left translation, an isometry in y.

        Examples
        --------
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

        Examples
        --------
        >>> PoincareBall().mobius_scalar_mul(2.0, [0.5, 0.0]).tolist()
        [0.8, 0.0]
        """
        points = points_of(x)
        factor = reals(r, "r")
        if factor.ndim and factor.shape[-1] == 1 and factor.shape != points.shape[:-1]:
            factor = factor[..., 0]
        half_depth = self.sqrt_c / 2 * np.asarray(self._depths(points))
        return self._at_norm(points, np.tanh(factor * half_depth), stacklevel=3)

    def distance(self, x: ArrayLike, y: ArrayLike, *, n_threads: int | None = None) -> FloatArray:
        """Geodesic distance in hyperbolic units, over the broadcast leading axes.

        ``(2/√c)·asinh(√c|x−y| / √((1−c|x|²)(1−c|y|²)))``: the value of the gyrovector form
        ``(2/√c)·artanh(√c|(−x) ⊕ y|)`` and of eq. 1 of Nickel & Kiela (2017), right for any two points that
        the floating type tells apart, and exactly 0 for equal ones.

        Parameters
        ----------
        x, y : arrays of shape (..., d)
        n_threads : int, optional
            At least 1; the default uses the processors this process may use. It does not change the result.

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

        Examples
        --------
        >>> PoincareBall().distance([[0.0, 0.0], [0.5, 0.0]], [0.5, 0.0]).round(6).tolist()
        [1.098612, 0.0]
        """
        a, b = points_of(x), points_of(y, "y")
        found = paired(_kernels.ball_distances, a, b, self.c, threads=resolve_threads(n_threads))
        return np.asarray(found.astype(common_type(a, b), copy=False))[()]

    def distance_arcosh(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Geodesic distance as the arcosh formula defines it (eq. 1 of Nickel & Kiela 2017, for curvature c).

        d_c(x, y) = (1 / sqrt(c)) arcosh(1 + 2c ||x - y||^2 / ((1 - c||x||^2)(1 - c||y||^2))). Evaluated like
        :meth:`distance`, since arcosh(1 + z) loses half of the digits of a small z.

        Examples
        --------
        >>> round(float(PoincareBall().distance_arcosh([0.0, 0.0], [0.5, 0.0])), 6)
        1.098612
        """
        return self.distance(x, y)

    def distance_to_origin(self, x: ArrayLike) -> FloatArray:
        """d_c(0, x) = (2 / sqrt(c)) artanh(sqrt(c) ||x||) — the depth coordinate.

        Examples
        --------
        >>> round(float(PoincareBall().distance_to_origin([0.5, 0.0])), 6)
        1.098612
        """
        points = points_of(x)
        return np.asarray(self._depths(points).astype(points.dtype, copy=False))[()]

    def pairwise_distance(self, x: ArrayLike, y: ArrayLike, *, n_threads: int | None = None) -> FloatArray:
        """All-pairs distances: x of shape (n, d), y of shape (m, d) → (n, m).

        The same numbers as :meth:`distance`, bit for bit, on any number of threads.

        Raises
        ------
        ValueError
            If ``x`` or ``y`` is not two-dimensional, the dimensions differ, or a point is outside the ball.

        Examples
        --------
        >>> PoincareBall().pairwise_distance([[0.0, 0.0]], [[0.5, 0.0], [0.0, 0.0]]).round(6).tolist()
        [[1.098612, 0.0]]
        """
        a, b = points_of(x), points_of(y, "y")
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
            raise ValueError(f"x, y: expected shapes (n, d) and (m, d), got {a.shape} and {b.shape}")
        threads = resolve_threads(n_threads)
        dtype = common_type(a, b)
        storage = storage_of(dtype)
        out: FloatArray = np.empty((len(a), len(b)), storage)
        if out.size:
            rows_a, rows_b = (rows_of(p).astype(storage, copy=False) for p in (a, b))
            outside = _kernels.ball_pairwise(rows_a, rows_b, self.c, out, threads)
            if outside >= len(a):
                refuse_outside(b, outside - len(a), self.c, "y")
            if outside >= 0:
                refuse_outside(a, outside, self.c, "x")
        return out.astype(dtype, copy=False)

    def expmap0(self, v: ArrayLike) -> FloatArray:
        """Exponential map at the origin: tanh(sqrt(c) ||v||) v / (sqrt(c) ||v||), at depth ``2·|v|``.

        Examples
        --------
        >>> PoincareBall().expmap0([1.0, 0.0]).round(6).tolist()
        [0.761594, 0.0]
        """
        vectors = points_of(v, "v")
        speed = lengths_and_margins(vectors, 1.0)[0]
        return self._at_norm(vectors, np.tanh(self.sqrt_c * speed), stacklevel=3)

    def logmap0(self, y: ArrayLike) -> FloatArray:
        """Logarithmic map at the origin, inverse of :meth:`expmap0`.

        Examples
        --------
        >>> ball = PoincareBall()
        >>> ball.logmap0(ball.expmap0([1.0, 0.0])).round(6).tolist()
        [1.0, 0.0]
        """
        points = points_of(y, "y")
        return along(points, np.asarray(self._depths(points, "y") / 2), points.dtype)

    def expmap(self, x: ArrayLike, v: ArrayLike) -> FloatArray:
        """Exponential map at x: x ⊕_c (tanh(sqrt(c) λ_x ||v|| / 2) v / (sqrt(c) ||v||)) (Ganea et al. 2018).

        Examples
        --------
        >>> PoincareBall().expmap([0.5, 0.0], [0.0, 0.0]).tolist()
        [0.5, 0.0]
        """
        return mapped(_kernels.exp_map, points_of(x), points_of(v, "v"), self.c, names=("x", "v"))

    def logmap(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Logarithmic map at x, inverse of :meth:`expmap`: along ``(−x) ⊕ y``, of length ``d(x, y)/λ_x``.

        Examples
        --------
        >>> ball = PoincareBall()
        >>> ball.expmap([0.5, 0.0], ball.logmap([0.5, 0.0], [0.0, 0.5])).round(9).tolist()
        [0.0, 0.5]
        """
        return mapped(_kernels.log_map, points_of(x), points_of(y, "y"), self.c)

    def geodesic(self, x: ArrayLike, y: ArrayLike, t: ArrayLike) -> FloatArray:
        """The point at fraction ``t`` of the geodesic from x (t = 0) to y (t = 1); other t extend it.

        ``t`` broadcasts against the leading axes of x and y.

        Examples
        --------
        >>> PoincareBall().geodesic([-0.5, 0.0], [0.5, 0.0], [0.0, 0.5, 1.0]).tolist()
        [[-0.5, 0.0], [0.0, 0.0], [0.5, 0.0]]
        """
        fraction = reals(t, "t")
        return mapped(_kernels.geodesic, points_of(x), points_of(y, "y"), self.c, t=fraction)

    def point_at(self, direction: ArrayLike, hyperbolic_radius: ArrayLike) -> FloatArray:
        """Point at hyperbolic distance hyperbolic_radius from the origin along direction.

        Only the direction of ``direction`` counts, not its length; the zero vector gives the origin. The
        radius broadcasts against the leading axes; a negative one points the other way.

        Examples
        --------
        >>> ball = PoincareBall()
        >>> ball.distance_to_origin(ball.point_at([3e-200, 4e-200], [1.0, 20.0])).round(6).tolist()
        [1.0, 20.0]
        """
        return self._at_radius(points_of(direction, "direction"), hyperbolic_radius)

    def set_depth(self, x: ArrayLike, hyperbolic_radius: ArrayLike) -> FloatArray:
        """Move x radially so that its distance from the origin equals hyperbolic_radius.

        Examples
        --------
        >>> ball = PoincareBall()
        >>> round(float(ball.distance_to_origin(ball.set_depth([0.3, 0.4], 2.0))), 6)
        2.0
        """
        return self._at_radius(points_of(x), hyperbolic_radius)

    def to_lorentz(self, x: ArrayLike) -> FloatArray:
        """Map ball points to the hyperboloid {X : <X,X>_L = -1/c, X_0 > 0} (Nickel & Kiela 2018, eq. 11).

        Returns an array with one extra leading coordinate (the time coordinate).

        Examples
        --------
        >>> PoincareBall().to_lorentz([0.6, 0.0]).round(6).tolist()
        [2.125, 1.875, 0.0]
        """
        points = points_of(x)
        rows = rows_of(points)
        out = np.empty((len(rows), points.shape[-1] + 1), rows.dtype)
        outside = _kernels.ball_to_lorentz(rows, self.c, out, 0)
        if outside >= 0:
            refuse_outside(points, outside, self.c, "x")
        return out.reshape(*points.shape[:-1], out.shape[1]).astype(points.dtype, copy=False)

    def from_lorentz(self, X: ArrayLike) -> FloatArray:
        """Map points of the hyperboloid to the ball: ``Xᵢ / (1 + √c·X₀)``, inverse of :meth:`to_lorentz`.

        Raises
        ------
        ValueError
            If a time coordinate ``X[..., 0]`` is not positive.

        Examples
        --------
        >>> PoincareBall().from_lorentz([2.125, 1.875, 0.0]).tolist()
        [0.6, 0.0]
        """
        points = spacetime_of(X, "X")
        rows = rows_of(points)
        out: FloatArray = np.empty((len(rows), points.shape[-1] - 1), rows.dtype)
        below, saturated = _kernels.ball_from_lorentz(rows, self.c, LARGEST_NORM[points.dtype.type], out, 0)
        if below >= 0:
            raise ValueError("X: expected points with X[..., 0] > 0, got one that is not")
        if saturated:
            warn_of_saturation(points.dtype, stacklevel=2)
        return out.reshape(*points.shape[:-1], out.shape[1]).astype(points.dtype, copy=False)

    def egrad2rgrad(self, x: ArrayLike, grad: ArrayLike) -> FloatArray:
        """Rescale a Euclidean gradient to the Riemannian gradient: ((1 - c||x||^2)^2 / 4) grad.

        Examples
        --------
        >>> PoincareBall().egrad2rgrad([0.0, 0.0], [4.0, 8.0]).tolist()
        [1.0, 2.0]
        """
        a, b = points_of(x), points_of(grad, "grad")
        shrink = inside_terms(a, self.c)[1][..., np.newaxis] ** 2 / 4
        return np.asarray((shrink * b).astype(common_type(a, b), copy=False))

    def retraction(self, x: ArrayLike, v: ArrayLike) -> FloatArray:
        """First-order retraction proj(x + v) used by Riemannian SGD (Nickel & Kiela 2017).

        Examples
        --------
        >>> PoincareBall().retraction([0.5, 0.0], [0.25, 0.0]).tolist()
        [0.75, 0.0]
        """
        return self.project(points_of(x) + points_of(v, "v"))

    def random_points(
        self, n: int, dim: int, max_hyperbolic_radius: float = 2.0, seed: int | None = None
    ) -> FloatArray:
        """Uniform-in-direction points with hyperbolic radius uniform in [0, max_hyperbolic_radius].

        Raises
        ------
        ValueError
            If ``max_hyperbolic_radius`` is not finite.

        Examples
        --------
        >>> PoincareBall().random_points(3, 2, seed=0).shape
        (3, 2)
        """
        if not math.isfinite(max_hyperbolic_radius):
            raise ValueError(
                f"max_hyperbolic_radius: expected a finite number, got {max_hyperbolic_radius!r}"
            )
        generator = np.random.default_rng(seed)
        direction = generator.normal(size=(n, dim))
        return self.point_at(direction, generator.uniform(0.0, max_hyperbolic_radius, size=n))

    def _depths(self, points: FloatArray, name: str = "x") -> NDArray[np.float64]:
        origin = np.zeros(points.shape[-1], points.dtype)
        return paired(_kernels.ball_distances, points, origin, self.c, names=(name, "the origin"))

    def _at_radius(self, points: FloatArray, hyperbolic_radius: ArrayLike) -> FloatArray:
        radius = reals(hyperbolic_radius, "hyperbolic_radius")
        return self._at_norm(points, np.tanh(self.sqrt_c / 2 * radius), stacklevel=4)

    def _at_norm(self, points: FloatArray, norm: NDArray[np.float64], stacklevel: int) -> NDArray[Any]:
        """Points along ``points``, at norms given in units of the ball's radius."""
        limit = LARGEST_NORM[points.dtype.type]
        if (np.abs(norm) > limit).any():
            warn_of_saturation(points.dtype, stacklevel)
            norm = np.clip(norm, -limit, limit)
        return along(points, np.asarray(norm / self.sqrt_c), points.dtype)
