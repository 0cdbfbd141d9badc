"""From Euclidean embeddings to points of the ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..geometry.numerics import FloatArray, along
from ..geometry.pairing import points_of
from ..geometry.poincare import PoincareBall

__all__ = ["BallProjector"]


@dataclass(frozen=True)
class BallProjector:
    """Place L2-normalised Euclidean vectors in the ball at a chosen hyperbolic depth.

    Parameters
    ----------
    ball : PoincareBall
        Where the points are.

    Examples
    --------
    >>> ball = PoincareBall()
    >>> point = BallProjector(ball).at_depth([3.0, 4.0], 2.0)
    >>> round(float(ball.distance_to_origin(point)), 6)
    2.0
    """

    ball: PoincareBall

    def direction(self, X: ArrayLike) -> FloatArray:
        """Unit vectors along ``X``; the zero vector stays zero.

        Parameters
        ----------
        X : array of shape (..., d)
            Any finite vectors.

        Returns
        -------
        array of shape (..., d)

        Examples
        --------
        >>> BallProjector(PoincareBall()).direction([[3e200, 4e200], [0.0, 0.0]]).round(9).tolist()
        [[0.6, 0.8], [0.0, 0.0]]
        """
        vectors = points_of(X, "X")
        return along(vectors, np.array(1.0), vectors.dtype)

    def at_depth(self, X: ArrayLike, depth: ArrayLike) -> FloatArray:
        """Points along ``X`` at hyperbolic radius ``depth``, which broadcasts against the leading axes.

        Parameters
        ----------
        X : array of shape (..., d)
        depth : array
            Hyperbolic radii; a negative one points the other way.

        Returns
        -------
        array of shape (..., d)

        Examples
        --------
        >>> BallProjector(PoincareBall()).at_depth([3.0, 4.0], 1.0).round(6).tolist()
        [0.27727, 0.369694]
        """
        return self.ball.point_at(X, depth)

    def expmap0(self, X: ArrayLike, scale: float = 1.0) -> FloatArray:
        """Exponential map of ``scale·X`` at the origin: the length of the vector becomes depth.

        Parameters
        ----------
        X : array of shape (..., d)
        scale : float, default 1.0

        Returns
        -------
        array of shape (..., d)

        Examples
        --------
        >>> BallProjector(PoincareBall()).expmap0([3.0, 4.0], scale=0.1).round(6).tolist()
        [0.27727, 0.369694]
        """
        vectors = points_of(X, "X")
        return self.ball.expmap0(vectors * vectors.dtype.type(scale))
