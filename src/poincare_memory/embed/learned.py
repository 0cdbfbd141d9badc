"""Texts into a space that was learnt without them: through the texts of the nodes that were placed in it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from .._core import _kernels
from ..arguments import integer
from ..geometry.polar import directions
from .embedding import check_embedder, embed_texts, text_list
from .hashing import HashingEmbedder
from .protocol import Embedder, FloatArray

__all__ = ["LearnedEmbedder"]

N = TypeVar("N", bound=Hashable)

# Of the softmax over cosines: what is 0.02 less alike counts e times less. A mean over several branches lies in none of
# them: of mammals (WordNet) that half of their gloss asks for, 0.1 finds 47 % among ten, 0.03 82 %, 0.02 86 %.
_TEMPERATURE: Final = 0.02


class LearnedEmbedder:
    """Embed texts in the space of learnt points.

    A text that names a node (but for case and spaces) gets that node's direction; where several nodes share it,
    the mean. Any other text gets the mean direction of the nodes with the most similar texts, weighted by a
    softmax of the cosines that ``base`` gives. A text that resembles none, and the name of a node at the origin,
    get the zero vector: no direction.

    Parameters
    ----------
    points : mapping of node to array of shape (dim,)
        Points of a ball (of whatever curvature), or a :class:`~poincare_memory.hierarchy.PreciseLayout`. Copied.
    texts : mapping of node to str, optional
        What each node is called; ``str(node)`` where a node is missing.
    base : Embedder, optional
        Tells which texts are alike; `HashingEmbedder()` by default. Sentence embeddings do better.
    neighbours : int, default 8
        How many nodes place a text that names none.

    Attributes
    ----------
    dim : int
        That of the points.

    Raises
    ------
    ValueError
        If there are no points, or they are not finite vectors of one length.

    Examples
    --------
    >>> embedder = LearnedEmbedder({"dog": [0.5, 0.0], "cat": [0.0, 0.25], "animal": [0.0, 0.0]})
    >>> embedder.embed(["dog", "animal", "a cat"]).round(6).tolist()
    [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """

    def __init__(
        self,
        points: Mapping[N, npt.ArrayLike],
        texts: Mapping[N, str] | None = None,
        base: Embedder | None = None,
        *,
        neighbours: int = 8,
    ) -> None:
        self.base: Embedder = HashingEmbedder() if base is None else check_embedder(base)
        self.neighbours = integer("neighbours", neighbours, least=1)
        self._directions, self._directed = directions(stacked_points(points))
        self._texts = text_list(node_texts(points, texts))
        self.dim = self._directions.shape[1]
        self._rows: dict[str, list[int]] = {}
        for row, text in enumerate(self._texts):
            self._rows.setdefault(_plain(text), []).append(row)
        self._of_texts: npt.NDArray[np.float32] | None = None  # unit embeddings by `base`, at first use

    def __repr__(self) -> str:
        return f"LearnedEmbedder({len(self._texts)} points, dim={self.dim}, base={self.base!r})"

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, or zero, of ``texts``, shape (n, dim); a new float64 array.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        float64 array of shape (len(texts), dim)

        Raises
        ------
        TypeError
            If ``texts`` is one string.
        """
        listed = text_list(texts)
        out = np.zeros((len(listed), self.dim))
        unknown = []
        for i, text in enumerate(listed):
            rows = self._rows.get(_plain(text))
            if rows is None:
                unknown.append(i)
            else:
                out[i] = self._directions[rows].sum(axis=0)
        if unknown:
            out[unknown] = self._of_unknown([listed[i] for i in unknown])
        return directions(out)[0]

    def _of_unknown(self, texts: list[str]) -> npt.NDArray[np.float64]:
        if self._of_texts is None:
            known = embed_texts(self.base, self._texts)
            self._of_texts = directions(known)[0].astype(np.float32)
        queries = directions(embed_texts(self.base, texts))[0].astype(np.float32)
        out = np.empty((len(texts), self.dim))
        cosines = np.empty(len(self._of_texts), np.float32)
        for i, query in enumerate(
            queries
        ):  # one at a time: a matrix product's rounding depends on its company
            _kernels.row_dots(query, self._of_texts, None, cosines)
            out[i] = self._mean(cosines)
        return out

    def _mean(self, cosines: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        cosines = np.where(self._directed, cosines, np.float32(-1))
        count = min(self.neighbours, len(cosines))
        best = np.argpartition(-cosines, count - 1)[:count]
        # Ties at the edge are broken by the order of the points, not by that of a partition.
        edge = cosines[best].min()
        best = np.concatenate([np.flatnonzero(cosines > edge), np.flatnonzero(cosines == edge)])[:count]
        best = best[cosines[best] > 0]
        if len(best) == 0:
            return np.zeros(self.dim)
        alike = cosines[best].astype(np.float64)
        weights = np.exp((alike - alike.max()) / _TEMPERATURE)
        return np.asarray(weights @ self._directions[best])


def stacked_points(points: Mapping[Any, npt.ArrayLike]) -> npt.NDArray[np.float64]:
    """The values as rows; ValueError unless they are finite vectors of one length."""
    if not isinstance(points, Mapping):
        raise TypeError(f"points: expected a mapping of node to point, got {type(points).__name__}")
    if not points:
        raise ValueError("points: expected at least one, got none")
    rows: list[npt.NDArray[np.float64]] = []
    for node, point in points.items():
        row = np.asarray(point, np.float64)
        if row.ndim != 1 or row.size == 0 or (rows and row.shape != rows[0].shape):
            expected = rows[0].shape if rows else "(dim,)"
            raise ValueError(f"points: expected shape {expected}, got {row.shape} for node {node!r:.80}")
        if not math.isfinite(float(row.sum())) and not np.isfinite(row).all():
            raise ValueError(f"points: expected finite coordinates, got others for node {node!r:.80}")
        rows.append(row)
    return np.stack(rows)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def node_texts(nodes: Iterable[N], texts: Mapping[N, str] | None) -> list[str]:
    """The text of every node: its own, or its name."""
    known = {} if texts is None else texts
    return [known.get(node, str(node)) for node in nodes]
