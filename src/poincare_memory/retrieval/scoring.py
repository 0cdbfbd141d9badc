"""How distance, time and depth become one score."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._core import _kernels
from ..geometry.numerics import FloatArray

__all__ = ["MIN_WEIGHT", "combine"]

MIN_WEIGHT: float = _kernels.MIN_WEIGHT


def combine(
    distances: ArrayLike,
    time_weights: ArrayLike | None = None,
    depths: ArrayLike | None = None,
    time_coef: float = 1.0,
    depth_bias: float = 0.0,
) -> FloatArray:
    """``−distance + depth_bias·depth + time_coef·ln(weight)``, larger is better; arguments broadcast.

    Parameters
    ----------
    distances : array
        In hyperbolic units.
    time_weights : array, optional
        Weights of a decay policy; those below 1e-6 count as 1e-6. Absent: no time term.
    depths : array, optional
        Hyperbolic radii. Absent: no depth term.
    time_coef, depth_bias : float
        Any sign; at 0 the term is left out, whatever its values.

    Returns
    -------
    float64 array
        Scores, of the shape that the arguments broadcast to.

    Examples
    --------
    >>> combine([1.0, 2.0], time_weights=[0.5, 1.0], depths=[1.0, 2.0], depth_bias=0.5).round(4).tolist()
    [-1.1931, -1.0]
    """
    score = -np.asarray(distances, dtype=np.float64)
    if depths is not None and depth_bias:
        score = score + depth_bias * np.asarray(depths, dtype=np.float64)
    if time_weights is not None and time_coef:
        weights = np.maximum(np.asarray(time_weights, dtype=np.float64), MIN_WEIGHT)
        score = score + time_coef * np.log(weights)
    return np.asarray(score)[()]
