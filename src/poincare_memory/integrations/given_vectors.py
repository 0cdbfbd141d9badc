"""Vectors that a framework has computed already, brought into a memory past its embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..embed.embedding import as_embeddings, text_list
from ..embed.protocol import Embedder, FloatArray

if TYPE_CHECKING:
    from ..store.memory import Memory
    from ..store.records import SearchResult

__all__ = ["GivenVectors", "search_by_vector"]

_GIVEN: ContextVar[dict[str, FloatArray] | None] = ContextVar("poincare_memory_given_vectors", default=None)


class GivenVectors:
    """An embedder that hands on the vectors it is given, and asks another one for the rest.

    Parameters
    ----------
    dim : int
        Length of a vector.
    otherwise : Embedder, optional
        Embeds texts that no vector was given for; without it they are an error.

    Examples
    --------
    >>> embedder = GivenVectors(2)
    >>> with embedder.given(["tea"], [[3.0, 4.0]]):
    ...     embedder.embed(["tea"])
    ...     embedder.given_vector("coffee", lambda: [1.0, 0.0])
    array([[3., 4.]])
    array([1., 0.])
    """

    def __init__(self, dim: int, otherwise: Embedder | None = None) -> None:
        self._dim = dim
        self._otherwise = otherwise

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self._dim}, otherwise={self._otherwise!r})"

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._dim

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """The vectors given for texts.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        array of shape (len(texts), dim)

        Raises
        ------
        ValueError
            For a text without a vector, where there is no other embedder.
        """
        listed = text_list(texts)
        given = _GIVEN.get() or {}
        missing = [text for text in dict.fromkeys(listed) if text not in given]
        if missing:
            rows = self._others(missing)
            given = given | dict(zip(missing, rows, strict=True))
        if not listed:
            return np.empty((0, self.dim))
        return as_embeddings([given[text] for text in listed], len(listed), self.dim, type(self).__name__)

    def given_vector(self, text: str, otherwise: Callable[[], ArrayLike]) -> FloatArray:
        """The vector given for a text, or what `otherwise` returns.

        Parameters
        ----------
        text : str
        otherwise : callable
            Called with nothing, where no vector was given.

        Returns
        -------
        float64 array of shape (dim,)
        """
        known = (_GIVEN.get() or {}).get(text)
        return np.asarray(otherwise(), np.float64) if known is None else known

    def _others(self, texts: list[str]) -> Any:
        if self._otherwise is None:
            raise ValueError(
                f"no vector was given for the text {texts[0]!r:.60}, and there is no embedder: pass one, or the vector"
            )
        return self._otherwise.embed(texts)

    @contextmanager
    def given(self, texts: Iterable[str], vectors: Iterable[ArrayLike]) -> Iterator[None]:
        """Within the block, and in this thread or task, these are the vectors of these texts.

        Parameters
        ----------
        texts : iterable of str
        vectors : iterable of array of shape (dim,)
            One a text.

        Yields
        ------
        None
        """
        known: dict[str, FloatArray] = {
            text: np.asarray(vector, np.float64) for text, vector in zip(texts, vectors, strict=True)
        }
        token = _GIVEN.set(known)
        try:
            yield
        finally:
            _GIVEN.reset(token)


def search_by_vector(
    memory: Memory, vector: ArrayLike, query: str | None = None, **options: Any
) -> list[SearchResult]:
    """`Memory.search` from the direction of a vector; `query` is what the words of the score are compared with.

    Parameters
    ----------
    memory : Memory
    vector : array of shape (dim,)
    query : str, optional
    **options
        Of `Memory.search`.

    Returns
    -------
    list of SearchResult

    Raises
    ------
    ValueError
        For a vector of another length, or one that is not finite.

    Examples
    --------
    >>> from poincare_memory import HashingEmbedder, Memory
    >>> mem = Memory()
    >>> ids = mem.add_many([{"text": "green tea", "id": "tea"}, {"text": "tax filing", "id": "tax"}])
    >>> [hit.id for hit in search_by_vector(mem, HashingEmbedder().embed(["tea"])[0], k=1)]
    ['tea']
    """
    if query is None or not query.strip():
        query, options = "by vector", options | {"lexical_coef": 0.0}
    if isinstance(memory.embedder, GivenVectors):
        with memory.embedder.given([query], [vector]):
            return memory.search(query, **options)
    from ..store.past import standing_at
    from ..store.search import search

    embedding = as_embeddings([vector], 1, memory.dim, "the vector")[0]
    store, options = standing_at(memory._store, options)
    return search(
        store, query, embed_query=lambda _, depth: memory.projector.at_depth(embedding, depth), **options
    )
