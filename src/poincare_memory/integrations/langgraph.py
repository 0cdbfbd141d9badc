"""LangGraph: a `Memory` as `BaseStore` of agents (``pip install "poincare-memory[langgraph]"``)."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from ..store.memory import Memory
from ..store.metadata import copy_metadata
from .given_vectors import GivenVectors
from .langchain import LangChainEmbedder
from .langgraph_conditions import matches, passing
from .langgraph_items import (
    ITEM,
    Namespace,
    fields_of,
    is_expired,
    is_indexed,
    item_id,
    item_of,
    kind_of,
    label_text,
    later,
    memories_of,
    namespace_id,
    now_utc,
    shown_text,
    tokens_of,
)

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.langgraph needs the "langgraph" extra: '
        'pip install "poincare-memory[langgraph]"'
    ) from error

if TYPE_CHECKING:
    from ..store.records import MemoryRecord, SearchResult

__all__ = ["PoincareStore"]


class PoincareStore(BaseStore):
    """A `Memory` as LangGraph's long-term store.

    A namespace is a branch of the hierarchy, one memory a label; an item is a memory below it, and so a search of a
    namespace prefix is one of a subtree. An item with several indexed texts is found by the best of them. What a
    batch reads is as things were before its writes; its writes happen all or not at all.

    Decay, depth and words count in the order of results where the memory says so. The score of a plain memory is the
    cosine similarity; other terms of the memory's score move it as they move the distance.

    Parameters
    ----------
    memory : Memory, optional
        One that is there, such as ``Memory.open("agent.db")``; by default a new one with ``inherit=0``. Its other
        memories are left alone.
    index : IndexConfig, optional
        ``{"embed": ..., "dims": ..., "fields": [...]}``. "embed" is for a new memory; a given one keeps its embedder.
        By default the whole value of an item is indexed.
    ttl : TTLConfig, optional
        Expired items are never returned; `sweep_ttl`, and every `sweep_interval_minutes` a write, removes them.

    Examples
    --------
    >>> store = PoincareStore()
    >>> store.put(("users", "ada"), "tea", {"text": "prefers green tea"})
    >>> store.put(("users", "ada"), "job", {"text": "writes programs"})
    >>> [item.key for item in store.search(("users",), query="green tea", limit=1)]
    ['tea']
    >>> from langgraph.store.base import GetOp
    >>> store.batch([GetOp(("users", "ada"), "job")])[0].value
    {'text': 'writes programs'}
    >>> store.sweep_ttl()
    0
    """

    supports_ttl = True

    def __init__(
        self, memory: Memory | None = None, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> None:
        embed = (index or {}).get("embed")
        if memory is None:
            embedder = None
            if embed is not None:
                embedder = LangChainEmbedder(ensure_embeddings(embed), (index or {}).get("dims"))
            memory = Memory(embedder=embedder, inherit=0.0)
        elif embed is not None:
            raise ValueError("index: a memory that is given keeps its embedder; leave 'embed' out")
        self.memory = memory
        self.ttl_config = ttl
        self._fields = [(path, tokens_of(path)) for path in (index or {}).get("fields") or ["$"]]
        self._swept = datetime.now(timezone.utc)
        self._writing = threading.RLock()

    # --- batches ----------------------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads first, then the last write of each key.

        Parameters
        ----------
        ops : iterable of Op
            ``GetOp``, ``SearchOp``, ``ListNamespacesOp`` and ``PutOp`` of LangGraph.

        Returns
        -------
        list
            What each gives, in their order; None for a write.

        Raises
        ------
        ValueError
            For an unknown operation or a value that cannot be kept; then nothing is written.
        """
        listed = list(ops)
        for op in listed:
            validate_op_namespace(op)
        results: list[Result] = [None] * len(listed)
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for i, op in enumerate(listed):
            if isinstance(op, GetOp):
                results[i] = self._get(op)
            elif isinstance(op, SearchOp):
                results[i] = self._search(op)
            elif isinstance(op, ListNamespacesOp):
                results[i] = self._namespaces(op)
            elif isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
            else:
                raise ValueError(f"unknown operation {type(op).__name__}")
        if puts:
            self._put_all(list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, while the event loop goes on; texts are embedded by the embeddings' own coroutines.

        Parameters
        ----------
        ops : iterable of Op

        Returns
        -------
        list
        """
        listed = list(ops)
        embedder = self.memory.embedder
        if not isinstance(embedder, LangChainEmbedder):
            return await asyncio.to_thread(self.batch, listed)
        for op in listed:
            validate_op_namespace(op)
        texts = self._needed([op for op in listed if isinstance(op, PutOp)])
        queries = [op.query for op in listed if isinstance(op, SearchOp) and op.query]
        rows = await embedder.embeddings.aembed_documents(texts) if texts else []
        asked = [await embedder.embeddings.aembed_query(query) for query in queries]
        with embedder.given(texts + queries, [*rows, *asked]):  # a worker thread has the context of this task
            return await asyncio.to_thread(self.batch, listed)

    def sweep_ttl(self) -> int:
        """Remove what has expired.

        Returns
        -------
        int
            How many items.
        """
        now = now_utc()
        found = [
            record.id for record in self.memory if kind_of(record) == ITEM and is_expired(record.meta, now)
        ]
        with self._writing, self.memory.transaction():
            for id in found:
                self._forget(id)
        self._swept = now
        return len(found)

    # --- reading ----------------------------------------------------------------------------------------

    def _get(self, op: GetOp) -> Item | None:
        record = self._record(item_id(op.namespace, op.key))
        if record is None or is_expired(record.meta, now_utc()):
            return None
        if op.refresh_ttl:
            self._refresh([record])
        return Item(**fields_of(record))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise ValueError(f"limit and offset must be at least 0, got {op.limit} and {op.offset}")
        root = namespace_id(op.namespace_prefix) if op.namespace_prefix else None
        if root is not None and root not in self.memory:
            return []
        passes = passing(op.filter, now_utc())
        if op.query and op.query.strip():
            found = self._by_query(op, root, passes)
        else:
            items = self._listed(root, lambda record: kind_of(record) == ITEM and passes(record))
            found = [(record, None) for record in items[op.offset : op.offset + op.limit]]
        if op.refresh_ttl:
            self._refresh([record for record, _ in found])
        return [SearchItem(**fields_of(record), score=score) for record, score in found]

    def _listed(self, root: str | None, wanted: Callable[[MemoryRecord], bool]) -> list[MemoryRecord]:
        if root is None:
            return [record for record in self.memory if wanted(record)]
        records = (self._record(id) for id in self.memory.descendants(root))
        return [record for record in records if record is not None and wanted(record)]

    def _by_query(
        self, op: SearchOp, root: str | None, passes: Callable[[MemoryRecord], bool]
    ) -> list[tuple[MemoryRecord, float | None]]:
        """The best text of each item, best item first; then items without indexed text."""
        end = op.offset + op.limit
        options: dict[str, Any] = {} if root is None else {"mode": "subtree", "root": root}
        best: dict[str, float] = {}
        k = 2 * end + 8
        while True:
            hits = self._hits(op.query, k, lambda record: is_indexed(record) and passes(record), options)
            best = {}
            for hit in hits:
                best.setdefault(item_of(hit.record), self._similarity(hit.score))
            if len(best) >= end or len(hits) < k:
                break
            k *= 4  # several texts of one item took the places
        scored = list(best.items())[op.offset : end]
        out: list[tuple[MemoryRecord, float | None]] = []
        for id, score in scored:
            record = self._record(id)
            if record is not None:
                out.append((record, score))
        if len(best) < end:
            without = self._listed(
                root, lambda record: kind_of(record) == ITEM and not is_indexed(record) and passes(record)
            )
            start = max(0, op.offset - len(best))
            out += [(record, None) for record in without[start : start + op.limit - len(out)]]
        return out

    def _hits(
        self, query: str | None, k: int, passes: Callable[[MemoryRecord], bool], options: dict[str, Any]
    ) -> list[SearchResult]:
        embedder = self.memory.embedder
        if isinstance(embedder, LangChainEmbedder) and query is not None:
            vector = embedder.query_vector(query)
            with embedder.given([query], [vector]):
                return self.memory.search(query, k=k, filters=passes, **options)
        return self.memory.search(query, k=k, filters=passes, **options)

    def _similarity(self, score: float) -> float:
        """The cosine of the angle that lies so far apart on the shell; beyond, on as smoothly."""
        c = self.memory.ball.curvature**0.5
        chord = math.sinh(-score * c / 2) / math.sinh(self.memory.base_depth * c)
        return 1.0 - 2.0 * chord * abs(chord)

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        now = now_utc()
        found = {
            tuple(record.meta["namespace"])
            for record in self.memory
            if kind_of(record) == ITEM and not is_expired(record.meta, now)
        }
        kept = {ns for ns in found if all(matches(condition, ns) for condition in op.match_conditions or ())}
        if op.max_depth is not None:
            kept = {ns[: op.max_depth] for ns in kept}
        return sorted(kept)[op.offset : op.offset + op.limit]

    def _record(self, id: str) -> MemoryRecord | None:
        try:
            return self.memory.get(id)
        except KeyError:
            return None

    # --- writing ----------------------------------------------------------------------------------------

    def _put_all(self, ops: Sequence[PutOp]) -> None:
        now = now_utc()
        with self._writing:
            ops = [_copied(op) for op in ops]  # validated before anything is written
            prepared = [(op, self._texts(op)) for op in ops]
            with self._embedded(prepared), self.memory.transaction():
                items: list[dict[str, Any]] = []
                for op, texts in prepared:
                    created = self._clear(op, len(texts), now)
                    if op.value is not None:
                        items += memories_of(op, texts, created, now, self.memory)
                if items:
                    self.memory.add_many(items, on_duplicate="update")
                for op in ops:
                    if op.value is None:
                        self._prune(op.namespace)
            self._sweep_now_and_then(now)

    def _embedded(self, prepared: Sequence[tuple[PutOp, list[str]]]) -> AbstractContextManager[None]:
        """Embed what will be written, where that can be handed on: a transaction holds others up."""
        embedder = self.memory.embedder
        if not isinstance(embedder, GivenVectors):
            return nullcontext()
        texts = self._needed([op for op, _ in prepared])
        return embedder.given(texts, embedder.embed(texts))

    def _needed(self, ops: Iterable[PutOp]) -> list[str]:
        """Texts that are embedded when these are written."""
        texts: dict[str, None] = {}
        for op in ops:
            if op.value is None:
                continue
            indexed = self._texts(op)
            texts |= dict.fromkeys(indexed or [shown_text(op, indexed)])
            depths = range(1, len(op.namespace) + 1)
            new = [depth for depth in depths if namespace_id(op.namespace[:depth]) not in self.memory]
            texts |= dict.fromkeys(label_text(op.namespace[depth - 1]) for depth in new)
        return list(texts)

    def _texts(self, op: PutOp) -> list[str]:
        """The texts of an item that are indexed, each once."""
        if op.value is None or op.index is False:
            return []
        fields = self._fields if op.index is None else [(path, tokens_of(path)) for path in op.index]
        found = [text for _, tokens in fields for text in get_text_at_path(op.value, tokens)]
        return [text for text in dict.fromkeys(found) if text.strip()]

    def _clear(self, op: PutOp, texts: int, now: datetime) -> str:
        """Make way for an item: when it was first written, as text."""
        id = item_id(op.namespace, op.key)
        record = self._record(id)
        if record is None:
            return now.isoformat()
        if op.value is None or is_expired(record.meta, now):
            self._forget(id)
            return now.isoformat()
        for facet in self.memory.children(id)[max(0, texts - 1) :]:
            self.memory.remove(facet)
        return str(record.meta["created_at"])

    def _forget(self, id: str) -> None:
        if id in self.memory:
            self.memory.remove(id, cascade=True)

    def _prune(self, namespace: Namespace) -> None:
        """Remove namespaces that hold nothing any more."""
        for depth in range(len(namespace), 0, -1):
            id = namespace_id(namespace[:depth])
            if id not in self.memory or self.memory.children(id):
                return
            self.memory.remove(id)

    def _refresh(self, records: Iterable[MemoryRecord]) -> None:
        """Begin the time to live of what was read again."""
        if (self.ttl_config or {}).get("refresh_on_read", True) is False:
            return
        for record in records:
            if record.meta.get("ttl") is None:
                continue
            expires = later(now_utc(), record.meta["ttl"])
            for one in [record, *(self.memory.get(id) for id in self.memory.children(record.id))]:
                one.meta = {**one.meta, "expires_at": expires}

    def _sweep_now_and_then(self, now: datetime) -> None:
        minutes = (self.ttl_config or {}).get("sweep_interval_minutes")
        if minutes is not None and now - self._swept >= timedelta(minutes=minutes):
            self.sweep_ttl()


def _copied(op: PutOp) -> PutOp:
    """With a value of its own, which JSON can write."""
    if op.value is None:
        return op
    if not isinstance(op.value, Mapping):
        raise TypeError(f"value: expected a mapping or None, got {type(op.value).__name__}")
    return op._replace(value=copy_metadata(op.value, "value") or {})
