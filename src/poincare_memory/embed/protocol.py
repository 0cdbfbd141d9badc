"""What an embedder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = ["Embedder", "FloatArray"]

FloatArray = npt.NDArray[np.floating[Any]]


@runtime_checkable
class Embedder(Protocol):
    """Anything that turns texts into Euclidean vectors of one length. Only their directions count.

    If a memory is used from several threads, its embedder is called from several threads.

    Examples
    --------
    >>> class Lengths:
    ...     dim = 2
    ...
    ...     def embed(self, texts):
    ...         return np.array([[len(text), 1.0] for text in texts])
    >>> isinstance(Lengths(), Embedder)
    True
    """

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        ...

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embeddings of ``texts``, shape (len(texts), dim), all finite.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        array of shape (len(texts), dim)
            float32 is kept as it is, all else becomes float64.
        """
        ...
