"""Directions spread over a sphere: the children of a node, around it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .._core import _kernels
from ..arguments import integer
from ..threads import resolve_threads

__all__ = ["spread_directions"]

ITERATIONS = 200  # most steps of a relaxation, by default


def spread_directions(
    k: int,
    dim: int,
    avoid: npt.ArrayLike | None = None,
    seed: int = 0,
    iterations: int = ITERATIONS,
    *,
    n_threads: int | None = None,
) -> npt.NDArray[np.float64]:
    """``k`` unit vectors in R^dim spread apart (and away from ``avoid`` if given).

    ``avoid`` takes one slot among the directions, as a parent does among the children of a node. With ``m``
    slots in all (``k``, or ``k + 1`` with ``avoid``):

    - In two dimensions the angles are exact: the slots fill the circle evenly, from ``avoid`` or the first
      axis on, counter-clockwise.
    - ``m ≤ 2·dim``: a regular simplex (``m ≤ dim + 1``: all angles equal, two directions opposite), or
      several of them in orthogonal subspaces. No arrangement has a larger least angle (Davenport & Hajós
      1951, Rankin 1955). Time ``m·dim``.
    - Beyond, a seeded repulsion on the sphere, a Thomson-style relaxation whose exponent rises towards the
      Tammes problem (the largest least angle). A direction feels its 12 to 32 nearest neighbours, sought
      exactly among up to 4,096 directions, and beyond in nearby cells and among neighbours of neighbours, so
      that memory is linear and time near ``m^1.5``. Sets of more than 600 to 1,700 directions (in many
      dimensions or few) take fewer than ``iterations`` steps, though 60 at least.

    Parameters
    ----------
    k : int
        How many; 0 gives an empty array.
    dim : int
        At least 2.
    avoid : array of shape (dim,), optional
        A direction, of any length but 0.
    seed : int or None, default 0
        The same seed gives the same bits, whatever the processor and the number of threads; None draws one
        from the system. In two dimensions, nothing is random.
    iterations : int, default 200
        Most relaxation steps; 0 leaves the random start where a relaxation would be needed.
    n_threads : int, optional
        Default: all processors that this process may use.

    Returns
    -------
    float64 array of shape (k, dim)

    Raises
    ------
    ValueError
        If ``k``, ``iterations`` or ``seed`` is negative, ``dim`` below 2, or ``avoid`` not a finite vector of length
        ``dim`` with a direction.

    Examples
    --------
    >>> spread_directions(2, 2).round(6).tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    >>> children = spread_directions(3, 3, avoid=[0.0, 0.0, 1.0])
    >>> (children @ children.T).round(6).tolist()  # a regular tetrahedron with the parent
    [[1.0, -0.333333, -0.333333], [-0.333333, 1.0, -0.333333], [-0.333333, -0.333333, 1.0]]
    >>> children[:, 2].round(6).tolist()
    [-0.333333, -0.333333, -0.333333]
    """
    count = integer("k", k, least=0)
    columns = integer("dim", dim, least=2)
    steps = integer("iterations", iterations, least=0)
    word = seed_word(seed)
    threads = resolve_threads(n_threads)
    target = None if avoid is None else _direction(avoid, columns)
    if count == 0:
        return np.empty((0, columns))
    slots = np.empty((count + (target is not None), columns))
    _kernels.spread_sphere(slots, word, steps, threads)
    if target is None:
        return slots
    if columns == 2:
        x, y = target
        slots = slots @ np.array([[x, y], [-y, x]])
    else:
        _kernels.align_first(slots, target)
    return slots[1:].copy()


def seed_word(seed: int | None) -> int:
    """64 bits made from ``seed``, the same for the same seed; None draws them from the system."""
    checked = None if seed is None else integer("seed", seed, least=0)
    return int(np.random.SeedSequence(checked).generate_state(1, np.uint64)[0])


def _direction(avoid: npt.ArrayLike, dim: int) -> npt.NDArray[np.float64]:
    vector = np.array(avoid, dtype=np.float64)
    if vector.shape != (dim,):
        raise ValueError(f"avoid: expected shape ({dim},), got {vector.shape}")
    largest = float(np.abs(vector).max())
    if not (largest > 0.0 and math.isfinite(largest)):
        raise ValueError(f"avoid: expected a finite vector with a direction, got {vector.tolist()}")
    vector = vector / largest
    return np.asarray(vector / np.linalg.norm(vector))
