"""The Poincaré ball of curvature −c: distances, exponential and logarithmic maps, Möbius operations."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import _kernels
from ..threads import resolve_threads
from .copying import of_type
from .gyrovectors import Gyrovectors
from .maps import storage_of, warn_of_saturation
from .numerics import LARGEST_NORM, FloatArray, lengths_and_margins, reals, rows_of
from .pairing import common_type, paired, points_of, refuse_outside, spacetime_of

__all__ = ["PoincareBall"]


@dataclass(frozen=True)
class PoincareBall(Gyrovectors):
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

    def is_inside(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whether ``√c·|x| < 1``; False for NaN.

        Parameters
        ----------
        x : array of shape (..., d)
            Points anywhere.

        Returns
        -------
        bool array of shape (...)

        Examples
        --------
        >>> PoincareBall().is_inside([[0.9, 0.0], [1.0, 0.0]]).tolist()
        [True, False]
        """
        return np.asarray(lengths_and_margins(points_of(x), self.c)[1] > 0)[()]

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

        Returns
        -------
        array of shape (...)

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

        Parameters
        ----------
        x, y : arrays of shape (..., d)
            Points strictly inside the ball; leading axes broadcast.

        Returns
        -------
        array of shape (...)

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

        Examples
        --------
        >>> round(float(PoincareBall().distance_arcosh([0.0, 0.0], [0.5, 0.0])), 6)
        1.098612
        """
        return self.distance(x, y)

    def distance_to_origin(self, x: ArrayLike) -> FloatArray:
        """d_c(0, x) = (2 / sqrt(c)) artanh(sqrt(c) ||x||) — the depth coordinate.

        Parameters
        ----------
        x : array of shape (..., d)
            Points strictly inside the ball.

        Returns
        -------
        array of shape (...)
            In hyperbolic units.

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

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

        Parameters
        ----------
        x : array of shape (n, d)
        y : array of shape (m, d)
            Points strictly inside the ball.
        n_threads : int, optional
            As for :meth:`distance`.

        Returns
        -------
        array of shape (n, m)
            In hyperbolic units.

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
            rows_a, rows_b = (of_type(rows_of(p), storage) for p in (a, b))
            outside = _kernels.ball_pairwise(rows_a, rows_b, self.c, out, threads)
            if outside >= len(a):
                refuse_outside(b, outside - len(a), self.c, "y")
            if outside >= 0:
                refuse_outside(a, outside, self.c, "x")
        return of_type(out, dtype)

    def point_at(self, direction: ArrayLike, hyperbolic_radius: ArrayLike) -> FloatArray:
        """Point at hyperbolic distance hyperbolic_radius from the origin along direction.

        Only the direction of ``direction`` counts, not its length; the zero vector gives the origin. The
        radius broadcasts against the leading axes; a negative one points the other way.

        Parameters
        ----------
        direction : array of shape (..., d)
            Of any length.
        hyperbolic_radius : float or array
            In hyperbolic units.

        Returns
        -------
        array of shape (..., d)

        Examples
        --------
        >>> ball = PoincareBall()
        >>> ball.distance_to_origin(ball.point_at([3e-200, 4e-200], [1.0, 20.0])).round(6).tolist()
        [1.0, 20.0]
        """
        return self._at_radius(points_of(direction, "direction"), hyperbolic_radius)

    def set_depth(self, x: ArrayLike, hyperbolic_radius: ArrayLike) -> FloatArray:
        """Move x radially so that its distance from the origin equals hyperbolic_radius.

        Parameters
        ----------
        x : array of shape (..., d)
            Points inside the ball.
        hyperbolic_radius : float or array
            In hyperbolic units.

        Returns
        -------
        array of shape (..., d)

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

        Parameters
        ----------
        x : array of shape (..., d)
            Points strictly inside the ball.

        Returns
        -------
        array of shape (..., d + 1)

        Raises
        ------
        ValueError
            If a point is not strictly inside the ball, or the shapes do not fit.

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
        return of_type(out.reshape(*points.shape[:-1], out.shape[1]), points.dtype)

    def from_lorentz(self, X: ArrayLike) -> FloatArray:
        """Map points of the hyperboloid to the ball: ``Xᵢ / (1 + √c·X₀)``, inverse of :meth:`to_lorentz`.

        Parameters
        ----------
        X : array of shape (..., d + 1)
            Points of the hyperboloid, the time coordinate first.

        Returns
        -------
        array of shape (..., d)

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
        return of_type(out.reshape(*points.shape[:-1], out.shape[1]), points.dtype)

    def random_points(
        self, n: int, dim: int, max_hyperbolic_radius: float = 2.0, seed: int | None = None
    ) -> FloatArray:
        """Uniform-in-direction points with hyperbolic radius uniform in [0, max_hyperbolic_radius].

        Parameters
        ----------
        n, dim : int
            How many points, of how many numbers.
        max_hyperbolic_radius : float, default 2.0
            In hyperbolic units.
        seed : int, optional
            The same points for the same seed.

        Returns
        -------
        float64 array of shape (n, dim)

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

    def _at_radius(self, points: FloatArray, hyperbolic_radius: ArrayLike) -> FloatArray:
        radius = reals(hyperbolic_radius, "hyperbolic_radius")
        return self._at_norm(points, np.tanh(self.sqrt_c / 2 * radius), stacklevel=4)
