"""Where memories go: directions and radii of rows, from their embeddings and their place in the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns
    from .state import Store


def place(store: Store, rows: Rows, threads: int = 0) -> None:
    """Set level, radius and direction of rows, a parent before its children; under the write lock.

    A root lies in the direction of its embedding at ``base_depth``. The raw point of a child lies in the
    direction of its own embedding at its parent's depth + ``depth_step``; the child takes the direction of
    the point at fraction ``1 - inherit`` of the geodesic from its parent to there, at that same depth. With
    ``cone_constrained`` it turns towards its parent until it is inside the parent's entailment cone (Ganea,
    Bécigneul & Hofmann, ICML 2018).
    """
    columns = store.columns
    _kernels.place_rows(
        columns.embedding,
        columns.direction,
        columns.scan_direction,
        columns.radius,
        columns.level,
        columns.parent,
        columns.directed,
        rows,
        store.base_depth,
        store.depth_step,
        store.inherit,
        store.ball.sqrt_c,
        store.cone_constrained,
        store.cone_k,
        threads,
    )


def points(columns: Columns, rows: Rows, sqrt_c: float, threads: int = 0) -> NDArray[np.float64]:
    """Ball points of rows, (len(rows), dim), norms below 1/√c; the origin for rows without direction."""
    out = np.empty((len(rows), columns.dim))
    _kernels.points_of_rows(columns.direction, columns.radius, rows, sqrt_c, out, threads)
    return out
