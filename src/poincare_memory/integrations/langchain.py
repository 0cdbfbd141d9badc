"""LangChain: a `Memory` as vector store and as retriever (``pip install "poincare-memory[langchain]"``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..embed.embedding import text_list
from ..embed.protocol import FloatArray
from ..store.memory import Memory
from .given_vectors import search_by_vector
from .langchain_documents import document_of, relevance_of, search_options, time_of
from .langchain_embeddings import LangChainEmbedder, PoincareEmbeddings

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.langchain needs the "langchain" extra: pip install "poincare-memory[langchain]"'
    ) from error

if TYPE_CHECKING:
    from ..store.records import SearchResult

__all__ = ["LangChainEmbedder", "PoincareEmbeddings", "PoincareRetriever", "PoincareVectorStore"]

_PLACES = ("parent", "t", "valid_from", "valid_until")


class PoincareVectorStore(VectorStore):
    """A `Memory` as LangChain's vector store: a document a memory.

    A document's metadata is the memory's, unchanged. Parents and times of memories come from keyword arguments of
    `add_texts` and `add_documents`, or from the metadata keys that `keys` names. Searches take every option of
    `Memory.search` as keyword argument (``mode``, ``root``, ``at_time``, ``as_of``, ``lexical_coef``, ...), and
    ``filter`` as it takes ``filters``.

    Parameters
    ----------
    embedding : Embeddings, optional
        Of a new memory.
    memory : Memory, optional
        One that is there, such as ``Memory.open("agent.db")``; it keeps its embedder.
    keys : mapping, optional
        Which metadata key tells a document's "parent" (an id), "t", "valid_from" or "valid_until" (ISO 8601):
        ``{"parent": "section"}``.
    **settings
        Of a new memory, as of `Memory`.

    Examples
    --------
    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> store = PoincareVectorStore(DeterministicFakeEmbedding(size=6))
    >>> store.add_texts(["Trip to Lisbon", "Hotel near the river"], ids=["trip", "hotel"], parents=[None, "trip"])
    ['trip', 'hotel']
    >>> [doc.id for doc in store.similarity_search("Hotel near the river", k=1, mode="subtree", root="trip")]
    ['hotel']
    >>> [(doc.id, score > -1e-6) for doc, score in store.similarity_search_with_score("Trip to Lisbon", k=1)]
    [('trip', True)]
    >>> [doc.id for doc in store.max_marginal_relevance_search("Trip to Lisbon", k=2)]
    ['trip', 'hotel']
    >>> store.delete(["hotel"])
    True
    >>> [doc.page_content for doc in store.get_by_ids(["trip", "hotel"])]
    ['Trip to Lisbon']
    >>> len(PoincareVectorStore.from_texts(["tea"], DeterministicFakeEmbedding(size=6)).memory)
    1
    """

    def __init__(
        self,
        embedding: Embeddings | None = None,
        *,
        memory: Memory | None = None,
        keys: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        if memory is None:
            embedder = None if embedding is None else LangChainEmbedder(embedding)
            memory = Memory(embedder=embedder, **settings)
        elif embedding is not None or settings:
            raise ValueError("memory: pass a memory, or embedding= and settings of a new one, not both")
        unknown = set(keys or ()) - set(_PLACES)
        if unknown:
            raise ValueError(f"keys: expected some of {', '.join(_PLACES)}, got {sorted(unknown)!r:.80}")
        self.memory = memory
        self.keys = dict(keys or {})

    @property
    def embeddings(self) -> Embeddings:
        """The embedder of the memory, as LangChain knows it."""
        embedder = self.memory.embedder
        return (
            embedder.embeddings if isinstance(embedder, LangChainEmbedder) else PoincareEmbeddings(embedder)
        )

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> PoincareVectorStore:
        """A store with these texts; other arguments are those of the class.

        Parameters
        ----------
        texts : list of str
        embedding : Embeddings, optional
        metadatas, ids
            As of `add_texts`.
        **kwargs
            Of the class: ``memory``, ``keys``, settings.

        Returns
        -------
        PoincareVectorStore
        """
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    # --- writing ----------------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        parents: Sequence[str | None] | None = None,
        times: Sequence[Any] | None = None,
        parent: str | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts, all or none; those whose ids are known take the place of what was there.

        Parameters
        ----------
        texts : iterable of str
        metadatas : list of dict, optional
            One a text.
        ids : list of str, optional
            One a text; None stands for a new one.
        parents : list of str, optional
            Ids of the memories they belong under.
        times : list of datetime, optional
            When they happened.
        parent : str, optional
            Id of the memory that all belong under.
        batch_size : int, optional
            Without effect: LangChain's indexing says so.
        **kwargs
            None is known.

        Returns
        -------
        list of str
            Their ids.
        """
        if kwargs:
            raise TypeError(f"add_texts: unknown arguments {', '.join(sorted(kwargs))}")
        listed = text_list(texts)
        columns: dict[str, Sequence[Any] | None] = {
            "meta": metadatas,
            "id": ids,
            "parent": parents if parents is not None or parent is None else [parent] * len(listed),
            "t": times,
        }
        for name, column in columns.items():
            if column is not None and len(column) != len(listed):
                raise ValueError(f"{name}: expected {len(listed)} values, one a text, got {len(column)}")
        items = []
        for i, text in enumerate(listed):
            meta = dict(metadatas[i]) if metadatas is not None and metadatas[i] else {}
            item = {"text": text, "meta": meta}
            item |= self._placed(meta)
            item |= {
                name: column[i]
                for name, column in columns.items()
                if name != "meta" and column is not None and column[i] is not None
            }
            items.append(item)
        return self.memory.add_many(items, on_duplicate="update")

    def _placed(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        told = {place: (meta[key], key) for place, key in self.keys.items() if meta.get(key) is not None}
        return {
            place: value if place == "parent" else time_of(value, key) for place, (value, key) in told.items()
        }

    def delete(self, ids: Sequence[str] | None = None, *, cascade: bool = False, **kwargs: Any) -> bool:
        """Forget these, all or none; ids that are unknown are no error.

        Parameters
        ----------
        ids : list of str
            Must be given: there is no deleting everything by leaving them out.
        cascade : bool, default False
            Forget what is below them too; without it, that is an error.
        **kwargs
            Not read.

        Returns
        -------
        bool
            True.

        Raises
        ------
        ValueError
            Without ids, or for one with memories below it, unless `cascade`.
        """
        if ids is None:
            raise ValueError("delete: expected ids; to forget everything pass list(store.memory.ids)")
        wanted = [id for id in dict.fromkeys(ids) if id in self.memory]
        with self.memory.transaction():
            for id in sorted(wanted, key=self.memory.level, reverse=True):
                if id in self.memory:
                    self.memory.remove(id, cascade=cascade)
        return True

    # --- reading ----------------------------------------------------------------------------------------

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of these ids; unknown ones are left out.

        Parameters
        ----------
        ids : sequence of str

        Returns
        -------
        list of Document
        """
        return [document_of(self.memory.get(id)) for id in ids if id in self.memory]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The k best documents.

        Parameters
        ----------
        query : str
        k : int, default 4
        **kwargs
            Options of `Memory.search`; ``filter`` is its ``filters``.

        Returns
        -------
        list of Document
            Best first.
        """
        return [document_of(hit.record) for hit in self._search(query, k, kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """As `similarity_search`, each with its score: larger is better, 0 is nothing between the two.

        Parameters
        ----------
        query, k, **kwargs
            As of `similarity_search`.

        Returns
        -------
        list of (Document, float)
        """
        return [(document_of(hit.record), hit.score) for hit in self._search(query, k, kwargs)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """As `similarity_search`, from an embedding.

        Parameters
        ----------
        embedding : list of float
        k, **kwargs
            As there.

        Returns
        -------
        list of Document
        """
        hits = search_by_vector(self.memory, embedding, k=k, **search_options(kwargs))
        return [document_of(hit.record) for hit in hits]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Of the best documents those that also differ from each other (maximal marginal relevance).

        Parameters
        ----------
        query : str
        k : int, default 4
            How many to return.
        fetch_k : int, default 20
            How many of the best to choose from.
        lambda_mult : float, default 0.5
            From 0, difference alone, to 1, relevance alone.
        **kwargs
            Options of `Memory.search`.

        Returns
        -------
        list of Document
        """
        hits = self._search(query, fetch_k, kwargs)
        return self._diverse(hits, self._query_vector(query), k, lambda_mult)

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, from an embedding.

        Parameters
        ----------
        embedding : list of float
        k, fetch_k, lambda_mult, **kwargs
            As of `max_marginal_relevance_search`.

        Returns
        -------
        list of Document
        """
        hits = search_by_vector(self.memory, embedding, k=fetch_k, **search_options(kwargs))
        return self._diverse(hits, np.asarray(embedding, np.float64), k, lambda_mult)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return relevance_of

    def _query_vector(self, query: str) -> FloatArray:
        embedder = self.memory.embedder
        if isinstance(embedder, LangChainEmbedder):
            return embedder.query_vector(query)
        return embedder.embed([query])[0]

    def _search(self, query: str, k: int, kwargs: dict[str, Any]) -> list[SearchResult]:
        if isinstance(
            self.memory.embedder, LangChainEmbedder
        ):  # whose queries may be embedded in their own way
            return search_by_vector(
                self.memory, self._query_vector(query), query, k=k, **search_options(kwargs)
            )
        return self.memory.search(query, k=k, **search_options(kwargs))

    def _diverse(
        self, hits: list[SearchResult], query: FloatArray, k: int, lambda_mult: float
    ) -> list[Document]:
        if not hits or k < 1:
            return []
        points = [self.memory.point(hit.id) for hit in hits]
        chosen = maximal_marginal_relevance(query, points, lambda_mult, min(k, len(hits)))
        return [document_of(hits[i].record) for i in chosen]


class PoincareRetriever(BaseRetriever):
    """A `Memory` as LangChain's retriever, with the hierarchy in the answer.

    Attributes
    ----------
    memory : Memory
    k : int, default 4
        At most so many documents; also an argument of `invoke`.
    search_kwargs : dict
        Options of `Memory.search`.
    explain : bool, default False
        Add to each document's metadata, under "_memory": score, distance, time_weight, depth and path (the texts of
        its ancestors, root first).

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> mem = Memory()
    >>> tea = mem.add("green tea", parent=mem.add("Drinks"))
    >>> docs = PoincareRetriever(memory=mem, k=1, explain=True).invoke("tea")
    >>> docs[0].page_content, docs[0].metadata["_memory"]["path"]
    ('green tea', ['Drinks'])
    """

    memory: Any
    k: int = 4
    search_kwargs: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    explain: bool = False

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        options = search_options({"k": self.k, **self.search_kwargs, **kwargs})
        store = PoincareVectorStore(memory=self.memory)
        hits = store._search(query, options.pop("k"), options)
        documents = [document_of(hit.record) for hit in hits]
        if self.explain:
            for document, hit in zip(documents, hits, strict=True):
                document.metadata["_memory"] = self._explained(hit)
        return documents

    def _explained(self, hit: SearchResult) -> dict[str, Any]:
        above = reversed(self.memory.ancestors(hit.id))
        return {
            "score": hit.score,
            "distance": hit.distance,
            "time_weight": hit.time_weight,
            "depth": hit.depth,
            "path": [self.memory.get(id).text for id in above],
        }
