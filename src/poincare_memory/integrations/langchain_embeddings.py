"""Embeddings of LangChain as embedders of ours, and the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..embed.protocol import Embedder, FloatArray
from .given_vectors import GivenVectors

try:
    from langchain_core.embeddings import Embeddings
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.langchain needs the "langchain" extra: pip install "poincare-memory[langchain]"'
    ) from error

__all__ = ["LangChainEmbedder", "PoincareEmbeddings"]


class LangChainEmbedder(GivenVectors):
    """Embeddings of LangChain as an embedder of ours.

    Parameters
    ----------
    embeddings : langchain_core.embeddings.Embeddings
        The model.
    dim : int, optional
        Length of a vector; by default a text is embedded to find out, when it is first needed.

    Examples
    --------
    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=6))
    >>> embedder.dim, embedder.embed(["green tea"]).shape, embedder.query_vector("tea").shape
    (6, (1, 6), (6,))
    """

    def __init__(self, embeddings: Embeddings, dim: int | None = None) -> None:
        self.embeddings = embeddings
        self._known_dim = dim
        name = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
        self.model_name = name if isinstance(name, str) else type(embeddings).__name__

    def __repr__(self) -> str:
        return f"LangChainEmbedder({type(self.embeddings).__name__})"

    @property
    def dim(self) -> int:
        """Length of a vector."""
        if self._known_dim is None:
            self._known_dim = len(self.embeddings.embed_query("a"))
        return self._known_dim

    def query_vector(self, query: str) -> FloatArray:
        """The vector of a query, which some models embed in another way than documents.

        Parameters
        ----------
        query : str

        Returns
        -------
        float64 array of shape (dim,)
        """
        return self.given_vector(query, lambda: self.embeddings.embed_query(query))

    def _others(self, texts: list[str]) -> Any:
        return self.embeddings.embed_documents(texts)


class PoincareEmbeddings(Embeddings):
    """An embedder of ours as embeddings of LangChain.

    Parameters
    ----------
    embedder : Embedder
        Any of ours.

    Examples
    --------
    >>> from poincare_memory import HashingEmbedder
    >>> embeddings = PoincareEmbeddings(HashingEmbedder(dim=64))
    >>> len(embeddings.embed_query("green tea")), len(embeddings.embed_documents(["coffee", "milk"]))
    (64, 2)
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts.

        Parameters
        ----------
        texts : list of str

        Returns
        -------
        list of list of float
        """
        rows: list[list[float]] = np.asarray(self.embedder.embed(texts)).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query: that of a text.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of float
        """
        return self.embed_documents([text])[0]
