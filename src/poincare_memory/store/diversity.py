"""Results that differ from one another: maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998)."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAST_POOL: Final = 50
LARGEST_SINH: Final = 300.0
POOL: Final = 5  # best memories looked at, in multiples of k


def pool_size(k: int) -> int:
    """How many of the best a diverse choice of k is made from."""
    return max(POOL * k, LEAST_POOL)


def diverse(
    directions: NDArray[np.float64],
    scores: NDArray[np.float64],
    k: int,
    diversity: float,
    depth: float = 1.0,
    curvature: float = 1.0,
) -> list[int]:
    """Positions of k of the pool in the order they are chosen; the best score comes first.

    Each next one has the largest ``(1 - diversity) * exp(score - best score) - diversity * exp(-d)``, where d is its
    distance on the shell of radius `depth` to the nearest of those before it; ties go to the better score. Score and
    d are in the same unit, so from 0.5 on (triangle inequality) a copy of something chosen comes after everything
    else of the pool that scores by distance alone.

    Parameters
    ----------
    directions : (n, dim) ndarray
        Unit vectors; zeros stand for no direction and are like nothing.
    scores : (n,) ndarray
        Descending.

    Examples
    --------
    >>> import numpy as np
    >>> same_twice = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> diverse(same_twice, np.array([0.0, -0.1, -0.2]), 2, diversity=0.5)
    [0, 2]
    """
    count = min(k, len(scores))
    if count == 0:
        return []
    relevance = (1 - diversity) * np.exp(scores - scores[0])
    similarity = np.zeros(len(scores))
    root_c = math.sqrt(curvature)
    across = root_c * depth  # between opposite directions d is twice the depth, however large that is
    chosen = [0]
    while len(chosen) < count:
        gaps = np.linalg.norm(directions - directions[chosen[-1]], axis=1) / 2
        if across < LARGEST_SINH:
            distances = 2 * np.arcsinh(math.sinh(across) * gaps)
        else:
            with np.errstate(divide="ignore"):
                distances = 2 * np.maximum(0.0, across + np.log(gaps))
        similarity = np.maximum(similarity, np.exp(-distances / root_c))
        marginal = relevance - diversity * similarity
        marginal[chosen] = -np.inf
        chosen.append(int(np.argmax(marginal)))
    return chosen
