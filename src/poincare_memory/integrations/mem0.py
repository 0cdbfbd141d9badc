"""A memory in the shape of mem0's: users, agents and runs, over a `Memory`. Needs no other package."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..store.memory import Memory
from .mem0_filters import as_ours, scope_in
from .mem0_shapes import (
    FACT,
    OUR_KEYS,
    SCOPE,
    SCOPES,
    Messages,
    checked_messages,
    checked_scope,
    scope_id,
    shown,
)

if TYPE_CHECKING:
    from datetime import datetime

    from ..store.records import MemoryRecord

__all__ = ["Mem0Memory"]


class Mem0Memory:
    """``add``, ``search``, ``get_all``, ``get``, ``update``, ``delete``, ``delete_all``, ``history``, as mem0 has them.

    The scopes of a memory (user, agent, run) are a branch of the hierarchy: a search of a user looks at all of its
    agents and runs. What a language model should make of messages is up to `extract`; without it every message is
    kept as it was said.

    Parameters
    ----------
    memory : Memory, optional
        One that is there, such as ``Memory.open("agent.db", history=True)``, whose `history` tells more.
    extract : callable, optional
        Gets the list of messages (mappings with "role" and "content") and returns the facts to remember, as str.

    Examples
    --------
    >>> mem = Mem0Memory()
    >>> added = mem.add("I drink green tea", user_id="ada")
    >>> [found["memory"] for found in mem.search("tea", user_id="ada")["results"]]
    ['I drink green tea']
    >>> id = added["results"][0]["id"]
    >>> mem.update(id, "I drink oolong")
    {'message': 'Memory updated successfully!'}
    >>> mem.get(id)["memory"], len(mem.get_all(user_id="ada")["results"]), len(mem.history(id))
    ('I drink oolong', 1, 1)
    >>> mem.delete(id)
    {'message': 'Memory deleted successfully!'}
    >>> mem.delete_all(user_id="ada")
    {'message': 'Memories deleted successfully!'}
    >>> mem.reset()
    """

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        extract: Callable[[list[dict[str, Any]]], Sequence[str]] | None = None,
    ) -> None:
        self.memory = Memory() if memory is None else memory
        self._extract = extract

    def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        infer: bool = True,
    ) -> dict[str, list[dict[str, Any]]]:
        """Remember messages within a scope, all or none.

        Parameters
        ----------
        messages : str, mapping, or list of mappings
            What was said: a text, or messages with "role" and "content".
        user_id, agent_id, run_id : str, optional
            The scope; at least one.
        metadata : mapping, optional
            Of every memory that comes of it.
        infer : bool, default True
            False keeps every message as it was said, whatever `extract` would make of it.

        Returns
        -------
        dict
            ``{"results": [{"id", "memory", "event": "ADD"}, ...]}``.

        Raises
        ------
        ValueError
            Without a scope, for messages of another shape, or metadata with a key of ours.
        """
        scope = checked_scope(user_id, agent_id, run_id)
        own = dict(metadata or {})
        taken = sorted(OUR_KEYS & own.keys())
        if taken:
            raise ValueError(f"metadata: the key {taken[0]!r} is ours")
        listed = checked_messages(messages)
        if infer and self._extract is not None:
            facts: list[tuple[str, dict[str, str]]] = [(str(fact), {}) for fact in self._extract(listed)]
        else:
            said = [one for one in listed if str(one["content"]).strip() and one["role"] != "system"]
            facts = [(str(one["content"]), {"role": one["role"]}) for one in said]
        with self.memory.transaction():
            parent = self._branch(scope)
            meta = own | scope | {"kind": FACT}
            ids = self.memory.add_many(
                {"text": text, "parent": parent, "meta": role | meta} for text, role in facts
            )
        return {
            "results": [
                {"id": id, "memory": text, "event": "ADD"} for id, (text, _) in zip(ids, facts, strict=True)
            ]
        }

    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        top_k: int | None = None,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        **options: Any,
    ) -> dict[str, list[dict[str, Any]]]:
        """The best memories of a scope, best first.

        Parameters
        ----------
        query : str
        user_id, agent_id, run_id : str, optional
            The scope; at least one, here or in `filters`.
        limit : int, default 100
        top_k : int, optional
            Another name for `limit`.
        filters : mapping, optional
            On the scope and metadata, as mem0 or `Memory.search` take them.
        threshold : float, optional
            Least "score", which is in (0, 1]: ``exp(score)`` of the memory.
        rerank : bool
            Without effect: there is one ranking.
        **options
            Of `Memory.search`.

        Returns
        -------
        dict
            ``{"results": [...]}``, each as of `get`, with its "score".

        Raises
        ------
        ValueError
            Without a scope; and as `Memory.search`.
        """
        scope, more = _asked(user_id, agent_id, run_id, filters)
        wanted: dict[str, Any] = {"$and": [{"kind": FACT, **scope}, *([more] if more else [])]}
        if threshold is not None:
            options["min_score"] = -math.inf if threshold <= 0 else math.log(threshold)
            if options["min_score"] == -math.inf:
                del options["min_score"]
        k = limit if top_k is None else top_k
        hits = self.memory.search(query, k=k, filters=wanted, **options)
        return {"results": [shown(hit.record) | {"score": math.exp(min(hit.score, 0.0))} for hit in hits]}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """One memory; None where there is none of this id.

        Parameters
        ----------
        memory_id : str

        Returns
        -------
        dict or None
            id, memory (the text), hash, metadata, created_at, updated_at, and the scope.
        """
        if not self._is_fact(memory_id):
            return None
        return shown(self.memory.get(memory_id))

    def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        top_k: int | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        """The memories of a scope in the order they came.

        Parameters
        ----------
        user_id, agent_id, run_id : str, optional
            The scope; at least one, here or in `filters`.
        limit : int, default 100
        top_k : int, optional
            Another name for `limit`.
        filters : mapping, optional
            On the scope and metadata, as mem0 or `Memory.search` take them.

        Returns
        -------
        dict
            ``{"results": [...]}``, each as of `get`.

        Raises
        ------
        ValueError
            Without a scope.
        """
        from ..retrieval.filters import MetadataFilter, compile_filter

        scope, more = _asked(user_id, agent_id, run_id, filters)
        found = self._facts(scope)
        if more:
            condition = compile_filter(more)
            if isinstance(condition, MetadataFilter):
                mask = condition.mask([record.meta for record in found])
                found = [record for record, passes in zip(found, mask, strict=True) if passes]
        return {"results": [shown(record) for record in found[: max(0, limit if top_k is None else top_k)]]}

    def update(self, memory_id: str, data: str, metadata: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Another text for a memory, and further metadata.

        Parameters
        ----------
        memory_id : str
        data : str
            The new text.
        metadata : mapping, optional
            Added to what is there.

        Returns
        -------
        dict
            ``{"message": ...}``.

        Raises
        ------
        ValueError
            For an unknown memory.
        """
        self._existing(memory_id)
        meta = {**self.memory.get(memory_id).meta, **(metadata or {}), "updated_at": self._now().isoformat()}
        self.memory.update(memory_id, text=data, meta=meta)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Forget one memory.

        Parameters
        ----------
        memory_id : str

        Returns
        -------
        dict
            ``{"message": ...}``.

        Raises
        ------
        ValueError
            For an unknown memory.
        """
        self._existing(memory_id)
        with self.memory.transaction():
            parent = self.memory.parent(memory_id)
            self.memory.remove(memory_id, cascade=True)
            self._prune(parent)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Forget the memories of a scope.

        Parameters
        ----------
        user_id, agent_id, run_id : str, optional
            The scope; at least one.

        Returns
        -------
        dict
            ``{"message": ...}``.

        Raises
        ------
        ValueError
            Without a scope: `reset` forgets everything.
        """
        scope = checked_scope(user_id, agent_id, run_id, "; reset() forgets everything")
        with self.memory.transaction():
            for record in self._facts(scope):
                if record.id not in self.memory:  # it was below another
                    continue
                parent = record.parent_id
                self.memory.remove(record.id, cascade=True)
                self._prune(parent)
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Forget every memory of every scope; what else the `Memory` holds stays."""
        with self.memory.transaction():
            for id in self.memory.roots():
                if self.memory.get(id).meta.get("kind") == SCOPE:
                    self.memory.remove(id, cascade=True)

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """What a memory was, the oldest first; one entry only, unless the store keeps history.

        Parameters
        ----------
        memory_id : str

        Returns
        -------
        list of dict
            memory_id, old_memory, new_memory, event ("ADD", "UPDATE", "DELETE"), is_deleted.
        """
        versions = self.memory.history(memory_id)
        told: list[dict[str, Any]] = []
        for number, version in enumerate(versions):
            before = told[-1]["new_memory"] if told else None
            told.append(
                {
                    "memory_id": memory_id,
                    "old_memory": before,
                    "new_memory": version.record.text,
                    "event": "ADD" if number == 0 else "UPDATE",
                    "is_deleted": False,
                }
            )
        if memory_id not in self.memory and told:
            told.append(
                {
                    "memory_id": memory_id,
                    "old_memory": told[-1]["new_memory"],
                    "new_memory": None,
                    "event": "DELETE",
                    "is_deleted": True,
                }
            )
        return told

    # --- scopes -----------------------------------------------------------------------------------------

    def _branch(self, scope: Mapping[str, str]) -> str:
        """Id of the memory of a scope, made with those above it where it is new."""
        parent: str | None = None
        above: dict[str, str] = {}
        for name, value in scope.items():
            above[name] = value
            id = scope_id(above)
            if id not in self.memory:
                meta = {"kind": SCOPE, **above}
                self.memory.add(f"{name.removesuffix('_id')} {value}", id=id, parent=parent, meta=meta)
            parent = id
        assert parent is not None
        return parent

    def _facts(self, scope: Mapping[str, str]) -> list[MemoryRecord]:
        return [
            record
            for record in self.memory
            if record.meta.get("kind") == FACT
            and all(record.meta.get(name) == value for name, value in scope.items())
        ]

    def _prune(self, id: str | None) -> None:
        """Remove scopes that hold nothing any more."""
        while (
            id is not None and self.memory.get(id).meta.get("kind") == SCOPE and not self.memory.children(id)
        ):
            parent = self.memory.parent(id)
            self.memory.remove(id)
            id = parent

    def _is_fact(self, id: str) -> bool:
        return id in self.memory and self.memory.get(id).meta.get("kind") == FACT

    def _existing(self, id: str) -> None:
        if not self._is_fact(id):
            raise ValueError(f"there is no memory {id!r:.80}")

    def _now(self) -> datetime:
        return self.memory.clock()


def _asked(
    user_id: str | None, agent_id: str | None, run_id: str | None, filters: Mapping[str, Any] | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """The scope of a question, and the filter in our words; either may name the scope, and both then hold."""
    if filters is not None and not isinstance(filters, Mapping):
        raise TypeError(f"filters: expected a mapping, got {type(filters).__name__}")
    named = scope_in(filters or {})
    user_id, agent_id, run_id = (
        named.get(name) if value is None else value
        for name, value in zip(SCOPES, (user_id, agent_id, run_id), strict=True)
    )
    return checked_scope(user_id, agent_id, run_id), as_ours(filters or {})
