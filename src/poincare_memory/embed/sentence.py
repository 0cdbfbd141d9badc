"""Sentence-Transformers models as embedders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import integer
from ..progress import Progress, checked_progress, metered
from .embedding import as_embeddings, text_list
from .protocol import FloatArray

__all__ = ["SentenceTransformerEmbedder"]

_BATCHES_AT_ONCE = 8


class SentenceTransformerEmbedder:
    """A Sentence-Transformers model (``pip install "poincare-memory[embed]"``).

    Parameters
    ----------
    model_name : str
        Name or path of the model.
    batch_size : int, default 32
        Texts that the model is given at once.
    progress : callable or bool, optional
        Of `embed`: True for a bar (``pip install "poincare-memory[progress]"``), or a function of how many texts are
        embedded and how many there are. Texts are then given to the model 8 batches at a time.
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
    >>> embedder.embed(["green tea"]).shape  # doctest: +SKIP
    (1, 384)
    """

    def __init__(
        self,
        model_name: str = "sentence-transformers/all-MiniLM-L6-v2",
        *,
        batch_size: int = 32,
        progress: Progress = None,
        **kwargs: object,
    ) -> None:
        self.batch_size = integer("batch_size", batch_size, least=1)
        self.progress = checked_progress(progress)
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
        """Normalised embeddings of ``texts``, shape (n, dim), in the precision of the model.

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
        """
        listed = text_list(texts)
        if not listed:
            return np.empty((0, self._dim))
        if not self.progress:
            return self._encoded(listed)
        step = _BATCHES_AT_ONCE * self.batch_size
        parts = []
        with metered(self.progress, len(listed), "embedding", "text") as meter:
            for start in range(0, len(listed), step):
                parts.append(self._encoded(listed[start : start + step]))
                meter.update(len(parts[-1]))
        return np.concatenate(parts)

    def _encoded(self, texts: list[str]) -> FloatArray:
        # Said outright, or the library shows a bar of its own where logging is at INFO.
        returned = self.model.encode(
            texts, batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False
        )
        return as_embeddings(returned, len(texts), self._dim, "SentenceTransformer.encode")


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
