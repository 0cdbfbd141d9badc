"""Where memories go: directions and radii of rows, from their embeddings and their place in the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels

LEARNT: Final = 1  # values of `Columns.learnt`: placed by training or a layout,
BELOW_LEARNT: Final = 2  # and below such a memory

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns
    from .state import Store


Rule = tuple[float, float, float, float, bool, float]


def rule_of(store: Store) -> Rule:
    """What says where memories go, as the kernels take it."""
    return (
        store.base_depth,
        store.depth_step,
        store.inherit,
        store.ball.sqrt_c,
        store.cone_constrained,
        store.cone_k,
    )


def place(store: Store, rows: Rows, embeddings: NDArray[Any] | None = None, threads: int = 0) -> None:
    """Set level, radius and direction of rows, a parent before its children; under the write lock.

    `embeddings` are kept as theirs; None: they have them already.

    A root lies in the direction of its embedding at ``base_depth``. The raw point of a child lies in the
    direction of its own embedding at its parent's depth + ``depth_step``; the child takes the direction of
    the point at fraction ``1 - inherit`` of the geodesic from its parent to there, at that same depth. With
    ``cone_constrained`` it turns towards its parent until it is inside the parent's entailment cone (Ganea,
    Bécigneul & Hofmann, ICML 2018). A learnt memory stays where it is; what is below it counts depth from there.
    """
    columns = store.columns
    if columns.room.shared:
        columns.own_vectors()
    had = embeddings is None
    if embeddings is None:
        embeddings = columns.embeddings(rows)
        if columns.folds and columns.undo is None:
            columns.hold_embeddings(rows, embeddings)  # Ctrl-C may come before the last line
    folds = columns.folds and embeddings.dtype == np.float32
    kept = np.empty(len(rows), np.uint8) if folds else None
    _kernels.place_rows(
        embeddings,
        columns.direction,
        columns.radius,
        columns.level,
        columns.parent,
        columns.directed,
        rows,
        *rule_of(store),
        threads,
        columns.learnt,
        columns.own if folds else None,
        columns.above if folds else None,
        kept,
    )
    if kept is not None:
        columns.hold_apart(rows, embeddings, kept)
    elif not had or columns.folds:
        columns.set_embeddings(rows, embeddings)


def set_learned_depths(store: Store, rows: Rows, depths: NDArray[np.float64]) -> None:
    """Radii and marks of rows of which some were learnt (`depths` is NaN for the others), and nothing else.

    Levels and parents are known; a row whose parent is not among `rows` counts from where that is.
    """
    columns = store.columns
    columns.radius[rows] = store.base_depth + columns.level[rows] * store.depth_step
    given = ~np.isnan(depths)
    columns.learnt[rows] = np.where(given, LEARNT, 0)
    columns.radius[rows[given]] = depths[given]
    parents = columns.parent[rows]
    if not given.any() and not columns.learnt[parents[parents >= 0]].any():
        return
    order = np.argsort(columns.level[rows], kind="stable")
    order = order[(~given & (parents >= 0))[order]]
    levels = columns.level[rows[order]]
    for level in np.split(order, np.flatnonzero(np.diff(levels)) + 1):
        below = level[columns.learnt[parents[level]] != 0]
        columns.learnt[rows[below]] = BELOW_LEARNT
        columns.radius[rows[below]] = columns.radius[parents[below]] + store.depth_step


def keep_directions(columns: Columns, rows: Rows, embeddings: NDArray[Any]) -> Rows:
    """Give learnt rows whose texts embed to zero their directions as `embeddings`; which those are.

    A memory without embedding has no direction in any file, whatever its point.
    """
    blank = ~embeddings.any(axis=1) & (columns.directed[rows] == 1)
    embeddings[blank] = columns.direction[rows[blank]]
    found: Rows = rows[blank]
    return found


def points(columns: Columns, rows: Rows, sqrt_c: float, threads: int = 0) -> NDArray[np.float64]:
    """Ball points of rows, (len(rows), dim), norms below 1/√c; the origin for rows without direction."""
    out = np.empty((len(rows), columns.dim))
    _kernels.points_of_rows(columns.direction, columns.radius, rows, sqrt_c, out, threads)
    return out
