"""How far from the origin a layout may reach before its distances are wrong, and the warnings that say so."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from ..arguments import positive_number
from ..geometry.numerics import BALL_EPS, LARGEST_NORM
from ..geometry.poincare import PoincareBall

__all__ = ["max_safe_depth", "warn_beyond_precise_radius", "warn_beyond_safe_radius"]

_WARNING_SHARE = 0.95  # of the safe radius, from which sarkar_layout warns
# Double-double keeps distances there as float64 does at its safe radius: to 4e-11.
_PRECISE_SAFE_RADIUS = 48.0
_PRECISE_EPS = 2.0**-104


def max_safe_depth(ball: PoincareBall, tau: float, dtype: npt.DTypeLike = np.float64) -> float:
    """Largest total hyperbolic radius, in steps of ``tau``, before the ball's margin clips points.

    The safe radius is that of the norm ``(1 − ε)/√c``, where ``project`` stops and with it the training
    and every float copy that is projected: ``2·artanh(1 − ε)/√c``, 12.2 for float64 at curvature 1.

    Parameters
    ----------
    ball : PoincareBall
        Its curvature counts.
    tau : float
        Length of a step, in hyperbolic units; above 0 and finite.
    dtype : dtype, default float64
        float64, float32 or float16: the margin ``ε`` is 1e-5, 4e-3 or 1e-2.

    Returns
    -------
    float
        A number of steps, not rounded.

    Raises
    ------
    ValueError
        If ``tau`` is not above 0 and finite, or ``dtype`` is none of the three.

    Examples
    --------
    >>> from poincare_memory.geometry import PoincareBall
    >>> round(max_safe_depth(PoincareBall(), 1.0), 1), round(max_safe_depth(PoincareBall(4.0), 0.5), 1)
    (12.2, 12.2)
    """
    step = positive_number("tau", tau)
    margins = {np.dtype(kind): margin for kind, margin in BALL_EPS.items()}
    kind = np.dtype(dtype)
    if kind not in margins:
        known = ", ".join(sorted(str(name) for name in margins))
        raise ValueError(f"dtype: expected one of {known}, got {kind}")
    return float(2.0 * np.arctanh(1.0 - margins[kind]) / ball.sqrt_c / step)


def warn_beyond_precise_radius(ball: PoincareBall, deepest: float) -> None:
    """Of a layout in double-double."""
    safe = _PRECISE_SAFE_RADIUS / ball.sqrt_c
    if deepest <= _WARNING_SHARE * safe:
        return
    warnings.warn(
        f"the tree reaches hyperbolic radius {deepest:.4g}, beyond {_WARNING_SHARE:.0%} of {safe:.3g}, up to where "
        f"double-double keeps distances to 4e-11: it keeps them to about {_error_at(ball.sqrt_c * deepest)}. Reduce "
        "tau, the edge lengths or the depth, or use a smaller curvature",
        RuntimeWarning,
        stacklevel=3,
    )


def _error_at(reach: float) -> str:
    return f"{_PRECISE_EPS * np.exp(reach):.0e}" if reach < 72 else "nothing"


def warn_beyond_safe_radius(ball: PoincareBall, radius: npt.NDArray[np.float64]) -> None:
    """Of a layout in float64; radii in hyperbolic units."""
    safe = max_safe_depth(ball, 1.0)
    deepest = float(radius.max())
    if deepest <= _WARNING_SHARE * safe:
        return
    limit = 2.0 * float(np.arctanh(LARGEST_NORM[np.float64])) / ball.sqrt_c
    beyond = int(np.count_nonzero(radius > limit))
    if beyond:
        effect = (
            f"{beyond} of {len(radius)} places lie beyond {limit:.1f}, where float64 has no point, and got "
            "the largest norm below the boundary: their distances are wrong"
        )
    else:
        effect = (
            "project() and float32 copies clip such points, and float64 keeps their distances to about "
            f"{np.finfo(np.float64).eps * np.exp(ball.sqrt_c * deepest):.0e} only"
        )
    warnings.warn(
        f"the tree reaches hyperbolic radius {deepest:.4g}, beyond {_WARNING_SHARE:.0%} of the float64-safe "
        f"radius ({safe:.3g}): {effect}. Reduce tau, the edge lengths or the depth, or use a smaller "
        "curvature",
        RuntimeWarning,
        stacklevel=3,
    )
