"""Embedders of what has been embedded already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..embed.embedding import embed_texts
from ..embed.protocol import Embedder, FloatArray

__all__ = ["Known", "OneQuery"]


class Known:
    """Embeds each text once, however often an edit is tried."""

    def __init__(self, embedder: Embedder) -> None:
        self.inner, self.dim = embedder, int(embedder.dim)
        self._vectors: dict[str, NDArray[Any]] = {}

    def embed(self, texts: Sequence[str]) -> FloatArray:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, embed_texts(self.inner, missing), strict=True))
        return np.stack([self._vectors[text] for text in texts]) if texts else np.empty((0, self.dim))


class OneQuery:
    """The embedding of one query."""

    def __init__(self, dim: int, embedding: FloatArray | None) -> None:
        self.dim, self._embedding = dim, embedding

    def embed(self, texts: Sequence[str]) -> FloatArray:
        assert self._embedding is not None
        return np.stack([self._embedding for _ in texts])
