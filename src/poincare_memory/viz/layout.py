"""Where a memory is drawn on the unit disk: depths exact, angles from the meaning or from the hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..geometry.numerics import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..geometry.poincare import PoincareBall

_NO_LENGTH = 1e-9  # of a unit vector
# Multiplications of a singular value decomposition that still takes well under a second. Below it the axes point
# as LAPACK says; above, where its answer takes too long, the largest component of an axis is positive.
_LARGEST_DECOMPOSITION = 200_000_000
# cos and sin each err by half an ulp: this radius keeps the drawn point inside the disk whatever its angle.
_RIM = 1.0 - 4.0 * float(np.finfo(np.float64).eps)


def disk_coordinates(points: FloatArray, ball: PoincareBall) -> FloatArray:
    """Project points of the ball to the unit disk.

    The angle comes from the two leading principal axes of the points seen from the origin (their logarithms,
    not centred), the distance from the disk's centre is the point's own: ``2 artanh |xy|`` is its hyperbolic
    distance from the origin, whatever the curvature. Points of a two-dimensional ball are drawn where they
    are, scaled to the unit disk.

    Parameters
    ----------
    points : array_like, shape (n, dim)
        Points of ``ball``.
    ball : PoincareBall
        The ball they live in.

    Returns
    -------
    ndarray, shape (n, 2)
        Float64 coordinates with norm below 1.

    Raises
    ------
    ValueError
        If ``points`` is not a finite (n, dim) array.

    Examples
    --------
    >>> from poincare_memory import PoincareBall
    >>> disk_coordinates([[0.3, 0.4]], PoincareBall()).round(3).tolist()
    [[0.3, 0.4]]
    """
    placed = np.asarray(points, dtype=np.float64)
    if placed.ndim != 2:
        raise ValueError(f"points must be an array of shape (n, dim), got shape {placed.shape}")
    if not np.isfinite(placed).all():
        raise ValueError("points must be finite, got NaN or infinity among them")
    radii = np.linalg.norm(placed, axis=1)
    depths = np.asarray(ball.distance_to_origin(placed), dtype=np.float64).reshape(len(placed))
    directions = placed / np.where(radii > 0.0, radii, 1.0)[:, None]
    return directional_coordinates(directions, depths, ball.sqrt_c)


def directional_coordinates(directions: FloatArray, depths: FloatArray, sqrt_c: float) -> FloatArray:
    """Disk coordinates (n, 2) of unit directions (n, dim) at hyperbolic depths (n,); see `disk_coordinates`."""
    if directions.shape[1] == 2:
        return directions * _disk_radii(sqrt_c * depths)[:, None]
    planar = _planar_directions(directions, depths)
    lengths = np.linalg.norm(planar, axis=1)
    # Orthogonal to both axes, up to rounding: no angle of its own, so it is drawn at angle 0, at its true depth.
    flat = lengths <= _NO_LENGTH
    planar[flat, 0] = 1.0
    lengths[flat] = 1.0
    drawn: FloatArray = planar * (_disk_radii(depths) / lengths)[:, None]
    return drawn


def _planar_directions(directions: FloatArray, depths: FloatArray) -> FloatArray:
    count, dim = directions.shape
    if count == 0 or dim == 0:
        return np.zeros((count, 2))
    if dim == 1:
        return np.column_stack([directions[:, 0], np.zeros(count)])
    axes = _principal_axes(directions * depths[:, None])
    planar = directions @ axes.T
    return planar if planar.shape[1] == 2 else np.column_stack([planar[:, 0], np.zeros(count)])


def _principal_axes(tangents: FloatArray) -> FloatArray:
    """The leading right singular vectors, at most two, as rows."""
    count, dim = tangents.shape
    if count * dim * min(count, dim) <= _LARGEST_DECOMPOSITION:
        return np.linalg.svd(tangents, full_matrices=False)[2][:2]
    # The same axes from the smaller moment matrix, many times faster.
    if dim <= count:
        axes = np.linalg.eigh(tangents.T @ tangents)[1][:, :-3:-1].T
    else:
        axes = (tangents.T @ np.linalg.eigh(tangents @ tangents.T)[1][:, :-3:-1]).T
    leading = axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]
    lengths = np.linalg.norm(axes, axis=1)
    upright: FloatArray = axes / np.where(lengths > 0.0, np.copysign(lengths, leading), 1.0)[:, None]
    return upright


def radial_coordinates(
    postorder: NDArray[np.intp], parents: NDArray[np.intp], depths: FloatArray
) -> FloatArray:
    """Radial drawing of a forest: leaves evenly spaced in their order, each parent in the middle of its leaves.

    One tree fills the right half of the disk, several share the whole circle.

    Parameters
    ----------
    postorder : ndarray of int, shape (n,)
        Places in depth-first order, every branch before its parent.
    parents : ndarray of int, shape (n,)
        Place of each parent, -1 for a root.
    depths : ndarray of float, shape (n,)
        Hyperbolic radii.
    """
    if len(postorder) == 0:
        return np.zeros((0, 2))
    first, stop = _leaf_ranges(postorder, parents)
    start, span = (-np.pi / 2.0, np.pi) if np.count_nonzero(parents < 0) == 1 else (0.0, 2.0 * np.pi)
    angles = start + span * (first + stop) / (2.0 * int(stop.max()))
    return np.column_stack([np.cos(angles), np.sin(angles)]) * _disk_radii(depths)[:, None]


def _leaf_ranges(
    postorder: NDArray[np.intp], parents: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The half-open range of leaves below each place, leaves counted in depth-first order."""
    is_leaf = np.ones(len(postorder), dtype=bool)
    is_leaf[parents[parents >= 0]] = False
    counts = is_leaf.astype(np.intp).tolist()
    above = parents.tolist()
    for place in postorder.tolist():
        parent = above[place]
        if parent >= 0:
            counts[parent] += counts[place]
    stop = np.empty(len(postorder), dtype=np.intp)
    stop[postorder] = np.cumsum(is_leaf[postorder])
    return stop - np.asarray(counts, dtype=np.intp), stop


def _disk_radii(depths: FloatArray) -> FloatArray:
    return np.minimum(np.tanh(np.asarray(depths, dtype=np.float64) / 2.0), _RIM)
