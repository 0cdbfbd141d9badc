"""Places that training or a layout gave: into a store, and a store out of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..embed.learned import node_texts, stacked_points
from ..geometry.poincare import PoincareBall
from ..geometry.polar import directions, radii_of
from ..hierarchy.precise import PreciseLayout
from ..hierarchy.tree import children_map
from .placement import LEARNT, keep_directions, place
from .undo import EXTRA, PLACE

if TYPE_CHECKING:
    from .state import Store

N = TypeVar("N", bound=Hashable)


def place_learned(store: Store, points: Mapping[str, ArrayLike | None] | PreciseLayout[str]) -> None:
    """Move memories to learnt places, or back; see `Memory.place_learned`."""
    store.look()
    if not points:
        return
    given = (
        points if isinstance(points, PreciseLayout) else {k: v for k, v in points.items() if v is not None}
    )
    direction, radius = _polar(given, store) if given else (np.empty((0, store.columns.dim)), np.empty(0))
    with store.columns.moving():
        columns = store.columns
        rows = np.array([columns.row_of[id] for id in given], np.int32)
        back = np.array([columns.row_of[id] for id in points if id not in given], np.int32)
        told = np.concatenate([rows, back])
        moving = columns.rows_below(told)
        columns.before(moving, *PLACE)
        columns.own_vectors()
        embeddings = columns.embeddings(moving)
        if columns.undo is not None:
            columns.undo.mark(told, EXTRA)
        columns.learnt[rows], columns.learnt[back] = LEARNT, 0
        columns.radius[rows] = radius
        columns.direction[rows] = direction
        columns.directed[rows] = radius > 0
        placed = np.flatnonzero(np.isin(moving, rows))
        kept = embeddings[placed]
        columns.before(keep_directions(columns, moving[placed], kept), "embedding")
        embeddings[placed] = kept
        place(store, moving, embeddings)
        columns.moved(moving)


def _polar(
    points: Mapping[str, ArrayLike] | PreciseLayout[str], store: Store
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if isinstance(points, PreciseLayout):
        if points.curvature != store.ball.c:
            raise ValueError(
                f"points: their ball has curvature {points.curvature!r}, this memory's {store.ball.c!r}"
            )
        direction, radius = points.direction, points.radius
    else:
        rows = stacked_points(points)
        direction, radius = directions(rows)[0], radii_of(rows, store.ball.c)
    if direction.shape[1] != store.columns.dim:
        raise ValueError(
            f"points: expected {store.columns.dim} dimensions, those of the embedder, got {direction.shape[1]}: "
            "make the memory with LearnedEmbedder(points), or with Memory.from_hierarchy"
        )
    return direction, radius


def items_of(
    points: Mapping[N, Any], edges: Iterable[tuple[N, N]], texts: Mapping[N, str] | None
) -> list[dict[str, Any]]:
    """Arguments of `add` for every node, parents first; an id is the node's ``str``."""
    children, roots = children_map(edges)
    parent_of = {child: parent for parent, below in children.items() for child in below}
    nodes = [*roots, *(node for node in points if node not in children and node not in parent_of)]
    for node in nodes:
        nodes.extend(children.get(node, ()))
    missing = [node for node in nodes if node not in points]
    if missing:
        raise KeyError(f"points: node {missing[0]!r:.80} of edges has no point")
    first: dict[str, N] = {}
    for node in nodes:
        if first.setdefault(str(node), node) is not node:
            raise ValueError(f"points: nodes {first[str(node)]!r:.80} and {node!r:.80} would share an id")
    return [
        {"id": str(node), "text": text, "parent": str(parent_of[node]) if node in parent_of else None}
        for node, text in zip(nodes, node_texts(nodes, texts), strict=True)
    ]


def suitable(points: Mapping[N, Any], curvature: float | None) -> dict[str, Any]:
    """Settings of a memory of these points: their curvature, where they tell, and a depth amid them."""
    if isinstance(points, PreciseLayout):
        curvature, radius = points.curvature, points.radius
    else:
        curvature = PoincareBall(1.0 if curvature is None else curvature).c
        radius = radii_of(stacked_points(points), curvature)
    middle = float(np.median(radius))
    return {"curvature": curvature} | ({"base_depth": middle} if middle > 0 else {})


def by_id(points: Mapping[Any, Any]) -> Mapping[str, Any]:
    """The same places under the ids of their nodes."""
    ids = map(str, points)
    if isinstance(points, PreciseLayout):
        return PreciseLayout(list(ids), points.direction, points.correction, points.radius, points.curvature)
    return dict(zip(ids, points.values(), strict=True))
