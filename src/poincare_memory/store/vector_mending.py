"""What can be made of the vectors in a damaged file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..geometry.poincare import PoincareBall
from .archive import Floats
from .record_mending import Note

__all__ = ["Vectors", "settle_vectors"]


@dataclass
class Vectors:
    """Points and embeddings, zero where they are to be made anew, and the numbers of those."""

    points: Floats
    embeddings: Floats
    to_place: list[int]
    to_embed: list[int]


def settle_vectors(
    rows: Sequence[dict[str, Any]],
    names: Sequence[str],
    dim: int,
    curvature: float,
    note: Note,
    embedding_remedy: str,
) -> Vectors:
    """Find the vectors that cannot be."""
    points, embeddings = (
        np.array([_numbers(row[name], dim) for row in rows]).reshape(-1, dim)
        for name in ("point", "embedding")
    )
    with np.errstate(over="ignore", invalid="ignore"):
        placed = np.sqrt(np.einsum("ij,ij->i", points, points)) < PoincareBall(curvature).radius
    to_embed = np.flatnonzero(~np.isfinite(embeddings).all(axis=1)).tolist()
    to_place = np.flatnonzero(~placed).tolist()
    for i in to_embed:
        note(names[i], "its embedding is damaged", embedding_remedy)
    for i in to_place:
        note(names[i], "its point is damaged or outside the ball", "placed anew")
    embeddings[to_embed] = 0.0
    points[to_place] = 0.0
    return Vectors(points, embeddings, to_place, to_embed)


def _numbers(data: Any, dim: int) -> Any:
    """The numbers, or NaN where they are none of this length."""
    if isinstance(data, bytes) and len(data) == 8 * dim:
        return np.frombuffer(data, "<f8")
    return np.full(dim, np.nan)
