"""Sentence-Transformers models as embedders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import integer
from .embedding import as_embeddings, text_list
from .protocol import FloatArray

__all__ = ["SentenceTransformerEmbedder"]


class SentenceTransformerEmbedder:
    """A Sentence-Transformers model (``pip install "poincare-memory[embed]"``).

    Parameters
    ----------
    model_name : str
        Name or path of the model.
    **kwargs
        Passed to ``sentence_transformers.SentenceTransformer`` (``device``, ``truncate_dim``, ...).

    Raises
    ------
    ImportError
        If sentence-transformers is not installed.
    ValueError
        If the model does not know the length of its embeddings.

    Examples
    --------
    >>> embedder = SentenceTransformerEmbedder(device="cpu")  # doctest: +SKIP
    >>> embedder.dim  # doctest: +SKIP
    384
    """

    def __init__(self, model_name: str = "sentence-transformers/all-MiniLM-L6-v2", **kwargs: object) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ImportError(
                'SentenceTransformerEmbedder needs the "embed" extra: pip install "poincare-memory[embed]"'
            ) from error
        self.model: Any = SentenceTransformer(model_name, **kwargs)
        self.model_name = model_name
        self._dim = _dimension(self.model, model_name)

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self.model_name!r}, dim={self._dim})"

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return self._dim

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Normalised embeddings of ``texts``, shape (n, dim), in the precision of the model."""
        listed = text_list(texts)
        if not listed:
            return np.empty((0, self._dim))
        returned = self.model.encode(listed, normalize_embeddings=True)
        return as_embeddings(returned, len(listed), self._dim, "SentenceTransformer.encode")


def _dimension(model: Any, model_name: str) -> int:
    # sentence-transformers 5.4 renamed the method and warns about the old name.
    ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    dim = ask()
    if dim is None:
        raise ValueError(
            f"the model {model_name!r} does not say how long its embeddings are: pass truncate_dim=, or wrap "
            "its encode method as CallableEmbedder(model.encode, dim)"
        )
    return integer(f"embedding dimension of {model_name!r}", dim, least=1)
