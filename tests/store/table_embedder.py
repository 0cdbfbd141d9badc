"""Embedders whose vectors a test chooses."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class TableEmbedder:
    """Looks every text up in a table of vectors."""

    def __init__(self, table: Mapping[str, Any], dtype: Any = np.float64) -> None:
        self.table = {text: np.asarray(vector, dtype) for text, vector in table.items()}
        self.dim = len(next(iter(self.table.values())))

    def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        return np.stack([self.table[text] for text in texts])


class CheapEmbedder:
    """A vector of eight small numbers, the same for the same text, in well under a microsecond a text."""

    dim = 8

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        sums = np.array([zlib.crc32(text.encode()) for text in texts], np.uint64)
        return ((sums[:, None] * np.arange(1, 16, 2, dtype=np.uint64)) % np.uint64(1009)).astype(
            float
        ) - 504.4
