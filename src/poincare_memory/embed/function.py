"""An embedder out of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import integer
from .embedding import as_embeddings, text_list
from .protocol import FloatArray

__all__ = ["CallableEmbedder"]


@dataclass
class CallableEmbedder:
    """Make an embedder of any ``fn(texts) -> array``.

    Parameters
    ----------
    fn : callable
        Takes a list of n texts; returns n vectors of ``dim`` numbers: an array, nested lists, a generator of
        rows or a tensor. float32 is kept, all else becomes float64.
    dim : int
        Length of a vector, at least 1.

    Examples
    --------
    >>> embedder = CallableEmbedder(lambda texts: [[len(text), 1.0] for text in texts], dim=2)
    >>> embedder.embed(["four"])
    array([[4., 1.]])
    """

    fn: Callable[[Sequence[str]], Any]
    dim: int

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise TypeError(f"fn: expected a function of texts, got {type(self.fn).__name__} {self.fn!r:.80}")
        self.dim = integer("dim", self.dim, least=1)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embeddings of ``texts``, shape (n, dim); a new array.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        array of shape (len(texts), dim)

        Raises
        ------
        TypeError
            If ``texts`` is one string.
        ValueError
            If the function does not return n rows of ``dim`` finite numbers.
        """
        listed = text_list(texts)
        if not listed:
            return np.empty((0, self.dim))
        return as_embeddings(self.fn(listed), len(listed), self.dim, "embedding function")
