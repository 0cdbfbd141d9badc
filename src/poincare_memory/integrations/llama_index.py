"""LlamaIndex: a `Memory` as vector store and as memory block (``pip install "poincare-memory[llamaindex]"``)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..store.memory import Memory
from .given_vectors import GivenVectors, search_by_vector

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.llama_index needs the "llamaindex" extra: '
        'pip install "poincare-memory[llamaindex]"'
    ) from error

if TYPE_CHECKING:
    from ..store.records import MemoryRecord, SearchResult

__all__ = ["PoincareMemoryBlock", "PoincareVectorStore"]

_WORDS_ALONE: Final = 1000.0  # a weight of words beside which distances are nothing
_USUAL_WORDS: Final = 0.3
_TEXTLESS: Final = "_textless"


class PoincareVectorStore(BasePydanticVectorStore):
    """A `Memory` as LlamaIndex's vector store: a node a memory.

    Without a memory of yours, the vectors are those that LlamaIndex computes. A memory that is given embeds texts and
    queries by its own embedder instead. A node whose parent is there becomes a child of it.

    Searches take options of `Memory.search` as keyword arguments of `query` (``vector_store_kwargs`` of a retriever).
    Hybrid queries weigh words by ``(1 - alpha) / alpha``, or 0.3 without `alpha`.

    Parameters
    ----------
    memory : Memory, optional
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
        return "PoincareVectorStore"

    @property
    def client(self) -> Any:
        """The memory; None before the first node of a new one."""
        return self._memory

    # --- writing ----------------------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes, all or none; those whose ids are known take the place of what was there."""
        if not nodes:
            return []
        if self._memory is None:
            self._memory = Memory(embedder=GivenVectors(len(nodes[0].get_embedding())), **self._settings)
        with self._memory.transaction():
            for part in _without_equal_texts(nodes):
                self._add(part)
        return [node.node_id for node in nodes]

    def _add(self, nodes: Sequence[BaseNode]) -> None:
        memory: Memory = self._memory
        known = {node.node_id for node in nodes}
        items = []
        for node in nodes:
            item = _item(node)
            parent = node.relationships.get(NodeRelationship.PARENT)
            id = getattr(parent, "node_id", None)
            if id is not None and id != node.node_id and (id in memory or id in known):
                item["parent"] = id
            items.append(item)
        if not isinstance(memory.embedder, GivenVectors):
            memory.add_many(_parents_first(items), on_duplicate="update")
            return
        vectors = [node.get_embedding() for node in nodes]
        with memory.embedder.given([item["text"] for item in items], vectors):
            memory.add_many(_parents_first(items), on_duplicate="update")

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Forget the nodes of a document, and what is below them."""
        self._forget(lambda record: record.meta.get("ref_doc_id") == ref_doc_id)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Forget nodes by id, by filter or by both, and what is below them."""
        if node_ids is None and filters is None:
            raise ValueError("delete_nodes: expected node_ids or filters; clear() forgets everything")
        self._forget(_passing(filters, node_ids, None))

    def clear(self) -> None:
        """Forget all nodes."""
        self._forget(lambda record: True)

    def _forget(self, wanted: Callable[[MemoryRecord], bool]) -> None:
        if self._memory is None:
            return
        ids = [record.id for record in self._memory if _is_node(record) and wanted(record)]
        with self._memory.transaction():
            for id in ids:
                if id in self._memory:
                    self._memory.remove(id, cascade=True)

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Write the memory to a file, as `Memory.save`."""
        if self._memory is not None:
            self._memory.save(persist_path)

    @classmethod
    def from_persist_path(cls, persist_path: str, *, dim: int | None = None) -> PoincareVectorStore:
        """A store of what `persist` wrote; `dim` is the length of its vectors."""
        if dim is None:
            dim = _dim_of(persist_path)
        return cls(Memory.load(persist_path, embedder=GivenVectors(dim)))

    # --- reading ----------------------------------------------------------------------------------------

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Nodes by id, by filter or by both; all of them without either."""
        if self._memory is None:
            return []
        if node_ids is not None and filters is None:
            records = [self._memory.get(id) for id in node_ids if id in self._memory]
        else:
            passes = _passing(filters, node_ids, None)
            records = [record for record in self._memory if passes(record)]
        return [_node(record) for record in records if _is_node(record)]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The most similar nodes; similarities are in (0, 1], larger is better."""
        hits = [] if self._memory is None else self._hits(query, kwargs)
        return VectorStoreQueryResult(
            nodes=[_node(hit.record) for hit in hits],
            similarities=[math.exp(min(hit.score, 0.0)) for hit in hits],
            ids=[hit.id for hit in hits],
        )

    def _hits(self, query: VectorStoreQuery, kwargs: dict[str, Any]) -> list[SearchResult]:
        options = {
            "k": query.similarity_top_k,
            "filters": _filter(query),
            **_mode(query, self._memory),
            **kwargs,
        }
        if query.query_embedding is not None and isinstance(self._memory.embedder, GivenVectors):
            return search_by_vector(self._memory, query.query_embedding, query.query_str, **options)
        if not query.query_str:
            if query.query_embedding is None:
                raise ValueError("query: expected query_embedding or query_str")
            return search_by_vector(self._memory, query.query_embedding, **options)
        found: list[SearchResult] = self._memory.search(query.query_str, **options)
        return found

    # --- asynchronously ---------------------------------------------------------------------------------

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        await asyncio.to_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        await asyncio.to_thread(self.clear)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        return await asyncio.to_thread(self.query, query, **kwargs)


class PoincareMemoryBlock(BaseMemoryBlock[str]):
    """A `Memory` as long-term block of LlamaIndex's chat memory.

    Messages that leave the short-term memory become memories; what is like the latest messages comes back, under its
    ancestors, as text for the prompt.

    Attributes
    ----------
    memory : Memory
    root : str, optional
        Id of the memory that messages belong under (a user, a session): only what is below it is recalled.
    k : int, default 5
        Matches at most.
    budget : int, default 2000
        Characters at most.
    context_messages : int, default 3
        How many of the latest messages make the question.

    Examples
    --------
    >>> import asyncio
    >>> from llama_index.core.base.llms.types import ChatMessage
    >>> from poincare_memory import Memory
    >>> block = PoincareMemoryBlock(memory=Memory())
    >>> asyncio.run(block.aput([ChatMessage(role="user", content="I drink green tea")]))
    >>> "green tea" in asyncio.run(block.aget([ChatMessage(role="user", content="Which tea?")]))
    True
    """

    name: str = "poincare_memory"
    memory: Any = Field(description="The memory.")
    root: str | None = None
    k: int = 5
    budget: int = 2000
    context_messages: int = 3

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        said = [message.content for message in (messages or [])[-self.context_messages :] if message.content]
        if not said:
            return ""
        options: dict[str, Any] = {} if self.root is None else {"mode": "subtree", "root": self.root}
        return str(
            await asyncio.to_thread(self.memory.context, "\n".join(said), self.budget, self.k, **options)
        )

    async def _aput(self, messages: list[ChatMessage]) -> None:
        items = [
            {
                "text": message.content,
                "parent": self.root,
                "meta": {"role": message.role.value}
                | (
                    {"session_id": message.additional_kwargs["session_id"]}
                    if "session_id" in message.additional_kwargs
                    else {}
                ),
            }
            for message in messages
            if message.content and message.content.strip()
        ]
        await asyncio.to_thread(self.memory.add_many, items)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Fewer lines: at least so many tokens less, four characters being one."""
        lines = content.splitlines()
        over = 4 * tokens_to_truncate
        while lines and over > 0:
            over -= len(lines.pop()) + 1
        return "\n".join(lines) or None


# --- nodes ------------------------------------------------------------------------------------------------------


def _is_node(record: MemoryRecord) -> bool:
    return "_node_content" in record.meta


def _item(node: BaseNode) -> dict[str, Any]:
    meta = node_to_metadata_dict(node, remove_text=True)
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    if not text.strip():  # a picture: a memory must say something
        meta[_TEXTLESS] = text
        text = node.node_id
    return {"id": node.node_id, "text": text, "meta": meta}


def _node(record: MemoryRecord) -> BaseNode:
    return metadata_dict_to_node(record.meta, text=record.meta.get(_TEXTLESS, record.text) or None)


def _without_equal_texts(nodes: Sequence[BaseNode]) -> Iterable[list[BaseNode]]:
    """Parts in which no text stands twice: vectors are handed on by their texts."""
    parts: list[list[BaseNode]] = []
    seen: dict[str, int] = {}
    for node in nodes:
        text = _item(node)["text"]
        number = seen[text] = seen.get(text, -1) + 1
        if number == len(parts):
            parts.append([])
        parts[number].append(node)
    return parts


def _parents_first(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    waiting = {item["id"]: item for item in items}
    ordered: list[dict[str, Any]] = []
    for item in items:
        branch = []
        here: dict[str, Any] | None = item
        while here is not None and here["id"] in waiting:
            branch.append(waiting.pop(here["id"]))
            here = waiting.get(str(here.get("parent")))
        ordered += reversed(branch)
    return ordered


def _dim_of(path: str) -> int:
    import json
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        row = connection.execute("SELECT value FROM config WHERE key = 'dim'").fetchone()
    return int(json.loads(row[0]))


# --- queries ----------------------------------------------------------------------------------------------------


def _mode(query: VectorStoreQuery, memory: Memory) -> dict[str, Any]:
    mode = query.mode
    if mode == VectorStoreQueryMode.DEFAULT:
        return {}
    if mode == VectorStoreQueryMode.MMR:
        relevance = 0.5 if query.mmr_threshold is None else query.mmr_threshold
        return {"diversity": 1.0 - relevance}
    if mode in (VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.SEMANTIC_HYBRID):
        if query.alpha is None:
            return {"lexical_coef": memory.lexical_coef or _USUAL_WORDS}
        if not 0 <= query.alpha <= 1:
            raise ValueError(f"alpha must be in [0, 1], got {query.alpha}")
        return {"lexical_coef": min(_WORDS_ALONE, (1 - query.alpha) / max(query.alpha, 1e-9))}
    if mode in (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE):
        return {"lexical_coef": _WORDS_ALONE}
    raise ValueError(
        f"mode: {mode.value!r} is not supported; default, hybrid, text_search, sparse and mmr are"
    )


_PUSHED: Final[Mapping[Any, str]] = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.CONTAINS: "$contains",
}


def _filter(query: VectorStoreQuery) -> Any:
    """A filter of ours: conditions where ours say the same, which is quick, or else a function."""
    node: dict[str, Any] = {"_node_content": {"$exists": True}}
    node_ids, doc_ids = query.node_ids or None, query.doc_ids or None  # LlamaIndex passes [] for any
    if node_ids is None:
        pushed = _pushed(query.filters) if query.filters is not None else {}
        if pushed is not None:
            parts = [node, *([pushed] if pushed else [])]
            if doc_ids is not None:
                parts.append({"ref_doc_id": {"$in": list(doc_ids)}})
            return {"$and": parts}
    passes = _passing(query.filters, node_ids, doc_ids)
    return lambda record: _is_node(record) and passes(record)


def _pushed(filters: MetadataFilters) -> dict[str, Any] | None:
    if filters.condition == FilterCondition.NOT:
        return None
    parts: list[dict[str, Any]] = []
    for one in filters.filters:
        if isinstance(one, MetadataFilters):
            part = _pushed(one)
        elif one.operator in _PUSHED and one.value is not None and not one.key.startswith("$"):
            part = {one.key: {_PUSHED[one.operator]: one.value}}
        else:
            part = None
        if part is None:
            return None
        parts.append(part)
    if not parts:
        return {}
    return {"$or" if filters.condition == FilterCondition.OR else "$and": parts}


def _passing(
    filters: MetadataFilters | None, node_ids: Sequence[str] | None, doc_ids: Sequence[str] | None
) -> Callable[[MemoryRecord], bool]:
    nodes = None if node_ids is None else set(node_ids)
    documents = None if doc_ids is None else set(doc_ids)

    def passes(record: MemoryRecord) -> bool:
        if nodes is not None and record.id not in nodes:
            return False
        if documents is not None and record.meta.get("ref_doc_id") not in documents:
            return False
        return filters is None or _all_hold(filters, record.meta)

    return passes


def _all_hold(filters: MetadataFilters, meta: Mapping[str, Any]) -> bool:
    held = [
        _all_hold(one, meta) if isinstance(one, MetadataFilters) else _holds(one, meta.get(one.key))
        for one in filters.filters
    ]
    if not held:
        return True
    if filters.condition == FilterCondition.OR:
        return any(held)
    if filters.condition == FilterCondition.NOT:
        return not any(held)
    return all(held)


def _holds(one: MetadataFilter, value: Any) -> bool:
    """As LlamaIndex's own store decides; a comparison of what cannot be compared does not hold."""
    name, operand = one.operator, one.value
    if name == FilterOperator.IS_EMPTY:
        return value is None or value in ("", [])
    if value is None:
        return name in (FilterOperator.NE, FilterOperator.NIN)
    try:
        return bool(_COMPARE[name](value, operand))
    except TypeError:
        return False


_COMPARE: Final[Mapping[Any, Callable[[Any, Any], Any]]] = {
    FilterOperator.EQ: lambda value, operand: value == operand,
    FilterOperator.NE: lambda value, operand: value != operand,
    FilterOperator.GT: lambda value, operand: value > operand,
    FilterOperator.GTE: lambda value, operand: value >= operand,
    FilterOperator.LT: lambda value, operand: value < operand,
    FilterOperator.LTE: lambda value, operand: value <= operand,
    FilterOperator.IN: lambda value, operand: value in operand,
    FilterOperator.NIN: lambda value, operand: value not in operand,
    FilterOperator.CONTAINS: lambda value, operand: operand in value,
    FilterOperator.ANY: lambda value, operand: any(one in value for one in operand),
    FilterOperator.ALL: lambda value, operand: all(one in value for one in operand),
    FilterOperator.TEXT_MATCH: lambda value, operand: _text(operand) in _text(value),
    FilterOperator.TEXT_MATCH_INSENSITIVE: lambda value, operand: (
        _text(operand).lower() in _text(value).lower()
    ),
}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a str, got {type(value).__name__}")
    return value
