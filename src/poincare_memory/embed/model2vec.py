"""Static models of Model2Vec as embedders: a table of tokens, whose vectors are averaged; no transformer runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import integer
from .embedding import as_embeddings, text_list
from .protocol import FloatArray

__all__ = ["Model2VecEmbedder"]


class Model2VecEmbedder:
    """A static model of Model2Vec (``pip install "poincare-memory[model2vec]"``).

    Parameters
    ----------
    model : str, path or model2vec.StaticModel
        Name or folder of the model, or the model itself.
    batch_size : int, default 1024
    **kwargs
        Passed to ``StaticModel.from_pretrained`` (``token``, ``dimensionality``, ...).

    Raises
    ------
    ImportError
        If model2vec is not installed.

    Examples
    --------
    >>> embedder = Model2VecEmbedder("minishlab/potion-base-8M")  # doctest: +SKIP
    >>> embedder.embed(["green tea"]).shape  # doctest: +SKIP
    (1, 256)
    """

    def __init__(self, model: Any, *, batch_size: int = 1024, **kwargs: Any) -> None:
        self.batch_size = integer("batch_size", batch_size, least=1)
        try:
            from model2vec import StaticModel
        except ImportError as error:
            raise ImportError(
                'Model2VecEmbedder needs the "model2vec" extra: pip install "poincare-memory[model2vec]"'
            ) from error
        if isinstance(model, StaticModel):
            self.model: Any = model
            self.model_name = str(getattr(model, "base_model_name", None) or "StaticModel")
        else:
            self.model_name = os.fspath(model)
            self.model = StaticModel.from_pretrained(self.model_name, **kwargs)
        self._dim = integer(f"embedding dimension of {self.model_name!r}", self.model.dim, least=1)

    def __repr__(self) -> str:
        return f"Model2VecEmbedder({self.model_name!r}, dim={self._dim})"

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return self._dim

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embeddings of ``texts``, float32 of shape (n, dim); a text without known tokens embeds to zero.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        float32 array of shape (len(texts), dim)

        Raises
        ------
        TypeError
            If ``texts`` is one string.
        """
        listed = text_list(texts)
        if not listed:
            return np.empty((0, self._dim), np.float32)
        # In this process: the library's own pool of processes costs more than these models do.
        returned = self.model.encode(listed, batch_size=self.batch_size, use_multiprocessing=False)
        rows = as_embeddings(returned, len(listed), self._dim, "StaticModel.encode")
        return rows.astype(np.float32, copy=False)
