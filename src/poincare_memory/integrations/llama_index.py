"""LlamaIndex: a `Memory` as vector store and as memory block (``pip install "poincare-memory[llamaindex]"``)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..store.memory import Memory
from .given_vectors import GivenVectors, search_by_vector
from .llama_index_block import PoincareMemoryBlock
from .llama_index_nodes import dim_of, is_node, item_of, node_of, parents_first, without_equal_texts
from .llama_index_queries import filter_of, is_of_words_alone, mode_options, passing

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.schema import BaseNode, NodeRelationship
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryResult,
    )
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.llama_index needs the "llamaindex" extra: '
        'pip install "poincare-memory[llamaindex]"'
    ) from error

if TYPE_CHECKING:
    from ..store.records import MemoryRecord, SearchResult

__all__ = ["PoincareMemoryBlock", "PoincareVectorStore"]


class PoincareVectorStore(BasePydanticVectorStore):
    """A `Memory` as LlamaIndex's vector store: a node a memory.

    Without a memory of yours, the vectors are those that LlamaIndex computes. A memory that is given embeds texts and
    queries by its own embedder instead. A node whose parent is there becomes a child of it.

    Searches take options of `Memory.search` as keyword arguments of `query` (``vector_store_kwargs`` of a retriever).
    Hybrid queries weigh words by ``(1 - alpha) / alpha``, or 0.3 without `alpha`.

    Parameters
    ----------
    memory : Memory, optional
        One that is there, such as ``Memory.open("agent.db")``.
    dim : int, optional
        Length of the vectors of a new memory; by default that of the first node.
    **settings
        Of a new memory, as of `Memory`.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.core.vector_stores.types import VectorStoreQuery
    >>> store = PoincareVectorStore()
    >>> ids = store.add([TextNode(id_="tea", text="green tea", embedding=[1.0, 0.1]),
    ...                  TextNode(id_="tax", text="tax filing", embedding=[0.0, 1.0])])
    >>> store.query(VectorStoreQuery(query_embedding=[0.9, 0.0], similarity_top_k=1)).ids
    ['tea']
    >>> store.persist("notes.db")
    >>> store = PoincareVectorStore.from_persist_path("notes.db")
    >>> store.delete_nodes(["tax"])
    >>> [node.text for node in store.get_nodes()]
    ['green tea']
    >>> store.clear()
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    flat_metadata: bool = False

    _memory: Any = PrivateAttr()
    _settings: dict[str, Any] = PrivateAttr()

    def __init__(self, memory: Memory | None = None, *, dim: int | None = None, **settings: Any) -> None:
        if memory is not None and (dim is not None or settings):
            raise ValueError("memory: pass a memory, or dim= and settings of a new one, not both")
        own = memory is None or isinstance(memory.embedder, GivenVectors)
        super().__init__(stores_text=True, is_embedding_query=own)
        self._settings = settings
        self._memory = memory
        if dim is not None:
            self._memory = Memory(embedder=GivenVectors(dim), **settings)

    @classmethod
    def class_name(cls) -> str:
        """What LlamaIndex calls the class where it writes a store down.

        Returns
        -------
        str

        Examples
        --------
        >>> PoincareVectorStore.class_name()
        'PoincareVectorStore'
        """
        return "PoincareVectorStore"

    @property
    def client(self) -> Any:
        """The memory; None before the first node of a new one."""
        return self._memory

    # --- writing ----------------------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes, all or none; those whose ids are known take the place of what was there.

        Parameters
        ----------
        nodes : sequence of BaseNode
            With embeddings, unless the memory has an embedder of its own.
        **kwargs
            Not read.

        Returns
        -------
        list of str
            Their ids.
        """
        if not nodes:
            return []
        if self._memory is None:
            self._memory = Memory(embedder=GivenVectors(len(nodes[0].get_embedding())), **self._settings)
        with self._memory.transaction():
            for part in without_equal_texts(nodes):
                self._add(part)
        return [node.node_id for node in nodes]

    def _add(self, nodes: Sequence[BaseNode]) -> None:
        memory: Memory = self._memory
        known = {node.node_id for node in nodes}
        items = []
        for node in nodes:
            item = item_of(node)
            parent = node.relationships.get(NodeRelationship.PARENT)
            id = getattr(parent, "node_id", None)
            if id is not None and id != node.node_id and (id in memory or id in known):
                item["parent"] = id
            items.append(item)
        if not isinstance(memory.embedder, GivenVectors):
            memory.add_many(parents_first(items), on_duplicate="update")
            return
        vectors = [node.get_embedding() for node in nodes]
        with memory.embedder.given([item["text"] for item in items], vectors):
            memory.add_many(parents_first(items), on_duplicate="update")

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Forget the nodes of a document, and what is below them.

        Parameters
        ----------
        ref_doc_id : str
            Of the document.
        **delete_kwargs
            Not read.

        Examples
        --------
        >>> from llama_index.core.schema import TextNode
        >>> store = PoincareVectorStore()
        >>> ids = store.add([TextNode(id_="tea", text="green tea", embedding=[1.0, 0.1])])
        >>> store.delete("another document")
        >>> len(store.get_nodes())
        1
        """
        self._forget(lambda record: record.meta.get("ref_doc_id") == ref_doc_id)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Forget nodes by id, by filter or by both, and what is below them.

        Parameters
        ----------
        node_ids : list of str, optional
        filters : MetadataFilters, optional
        **delete_kwargs
            Not read.

        Raises
        ------
        ValueError
            Without ids and filters.
        """
        if node_ids is None and filters is None:
            raise ValueError("delete_nodes: expected node_ids or filters; clear() forgets everything")
        self._forget(passing(filters, node_ids, None))

    def clear(self) -> None:
        """Forget all nodes."""
        self._forget(lambda record: True)

    def _forget(self, wanted: Callable[[MemoryRecord], bool]) -> None:
        if self._memory is None:
            return
        ids = [record.id for record in self._memory if is_node(record) and wanted(record)]
        with self._memory.transaction():
            for id in ids:
                if id in self._memory:
                    self._memory.remove(id, cascade=True)

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Write the memory to a file, as `Memory.save`.

        Parameters
        ----------
        persist_path : str
        fs : optional
            Not read: the file is a local one.
        """
        if self._memory is not None:
            self._memory.save(persist_path)

    @classmethod
    def from_persist_path(cls, persist_path: str, *, dim: int | None = None) -> PoincareVectorStore:
        """A store of what `persist` wrote.

        Parameters
        ----------
        persist_path : str
        dim : int, optional
            Length of its vectors; by default the file tells.

        Returns
        -------
        PoincareVectorStore
        """
        if dim is None:
            dim = dim_of(persist_path)
        return cls(Memory.load(persist_path, embedder=GivenVectors(dim)))

    # --- reading ----------------------------------------------------------------------------------------

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Nodes by id, by filter or by both; all of them without either.

        Parameters
        ----------
        node_ids : list of str, optional
            Unknown ones are left out.
        filters : MetadataFilters, optional

        Returns
        -------
        list of BaseNode
        """
        if self._memory is None:
            return []
        if node_ids is not None and filters is None:
            records = [self._memory.get(id) for id in node_ids if id in self._memory]
        else:
            passes = passing(filters, node_ids, None)
            records = [record for record in self._memory if passes(record)]
        return [node_of(record) for record in records if is_node(record)]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The most similar nodes; similarities are in (0, 1], larger is better.

        Parameters
        ----------
        query : VectorStoreQuery
            Its ``query_embedding``, ``query_str``, ``similarity_top_k``, ``filters``, ``node_ids``, ``doc_ids``,
            ``mode`` and ``alpha`` are read.
        **kwargs
            Options of `Memory.search`.

        Returns
        -------
        VectorStoreQueryResult
        """
        hits = [] if self._memory is None else self._hits(query, kwargs)
        return VectorStoreQueryResult(
            nodes=[node_of(hit.record) for hit in hits],
            similarities=[math.exp(min(hit.score, 0.0)) for hit in hits],
            ids=[hit.id for hit in hits],
        )

    def _hits(self, query: VectorStoreQuery, kwargs: dict[str, Any]) -> list[SearchResult]:
        options = {
            "k": query.similarity_top_k,
            "filters": filter_of(query),
            **mode_options(query, self._memory),
            **kwargs,
        }
        vector = query.query_embedding
        if vector is None and is_of_words_alone(query):  # for which LlamaIndex embeds nothing
            vector = [0.0] * self._memory.dim
        if vector is not None and isinstance(self._memory.embedder, GivenVectors):
            return search_by_vector(self._memory, vector, query.query_str, **options)
        if not query.query_str:
            if query.query_embedding is None:
                raise ValueError("query: expected query_embedding or query_str")
            return search_by_vector(self._memory, query.query_embedding, **options)
        found: list[SearchResult] = self._memory.search(query.query_str, **options)
        return found

    # --- asynchronously ---------------------------------------------------------------------------------

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """As `add`, in a worker thread.

        Parameters
        ----------
        nodes, **kwargs
            As of `add`.

        Returns
        -------
        list of str
        """
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """As `delete`, in a worker thread.

        Parameters
        ----------
        ref_doc_id, **delete_kwargs
            As of `delete`.
        """
        await asyncio.to_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """As `delete_nodes`, in a worker thread.

        Parameters
        ----------
        node_ids, filters, **delete_kwargs
            As of `delete_nodes`.
        """
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        """As `clear`, in a worker thread."""
        await asyncio.to_thread(self.clear)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """As `get_nodes`, in a worker thread.

        Parameters
        ----------
        node_ids, filters
            As of `get_nodes`.

        Returns
        -------
        list of BaseNode
        """
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """As `query`, in a worker thread.

        Parameters
        ----------
        query, **kwargs
            As of `query`.

        Returns
        -------
        VectorStoreQueryResult
        """
        return await asyncio.to_thread(self.query, query, **kwargs)
