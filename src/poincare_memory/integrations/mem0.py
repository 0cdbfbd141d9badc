"""A memory in the shape of mem0's: users, agents and runs, over a `Memory`. Needs no other package."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from ..store.memory import Memory

if TYPE_CHECKING:
    from datetime import datetime

    from ..store.records import MemoryRecord

__all__ = ["Mem0Memory"]

_SCOPES: Final = ("user_id", "agent_id", "run_id")
_OURS: Final = frozenset({*_SCOPES, "kind", "created_at", "updated_at"})
_SCOPE, _FACT = "scope", "fact"

Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]


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
        """
        scope = _checked_scope(user_id, agent_id, run_id)
        own = dict(metadata or {})
        taken = sorted(_OURS & own.keys())
        if taken:
            raise ValueError(f"metadata: the key {taken[0]!r} is ours")
        listed = _messages(messages)
        if infer and self._extract is not None:
            facts: list[tuple[str, dict[str, str]]] = [(str(fact), {}) for fact in self._extract(listed)]
        else:
            said = [one for one in listed if str(one["content"]).strip() and one["role"] != "system"]
            facts = [(str(one["content"]), {"role": one["role"]}) for one in said]
        with self.memory.transaction():
            parent = self._branch(scope)
            meta = own | scope | {"kind": _FACT}
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
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        **options: Any,
    ) -> dict[str, list[dict[str, Any]]]:
        """The best memories of a scope, best first.

        Parameters
        ----------
        query : str
        user_id, agent_id, run_id : str, optional
            The scope; at least one.
        limit : int, default 100
        filters : mapping, optional
            On metadata, as `Memory.search` takes them.
        threshold : float, optional
            Least "score", which is in (0, 1]: ``exp(score)`` of the memory.
        **options
            Of `Memory.search`.
        """
        scope = _checked_scope(user_id, agent_id, run_id)
        wanted: dict[str, Any] = {"$and": [{"kind": _FACT, **scope}, *([dict(filters)] if filters else [])]}
        if threshold is not None:
            options["min_score"] = -math.inf if threshold <= 0 else math.log(threshold)
            if options["min_score"] == -math.inf:
                del options["min_score"]
        hits = self.memory.search(query, k=limit, filters=wanted, **options)
        return {"results": [_shown(hit.record) | {"score": math.exp(min(hit.score, 0.0))} for hit in hits]}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """One memory; None where there is none of this id."""
        if not self._is_fact(memory_id):
            return None
        return _shown(self.memory.get(memory_id))

    def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        filters: Mapping[str, Any] | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        """The memories of a scope in the order they came."""
        from ..retrieval.filters import MetadataFilter, compile_filter

        scope = _checked_scope(user_id, agent_id, run_id)
        found = self._facts(scope)
        if filters:
            condition = compile_filter(dict(filters))
            if isinstance(condition, MetadataFilter):
                mask = condition.mask([record.meta for record in found])
                found = [record for record, passes in zip(found, mask, strict=True) if passes]
        return {"results": [_shown(record) for record in found[: max(0, limit)]]}

    def update(self, memory_id: str, data: str, metadata: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Another text for a memory, and further metadata."""
        self._existing(memory_id)
        meta = {**self.memory.get(memory_id).meta, **(metadata or {}), "updated_at": self._now().isoformat()}
        self.memory.update(memory_id, text=data, meta=meta)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Forget one memory."""
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

        Raises
        ------
        ValueError
            Without a scope: `reset` forgets everything.
        """
        scope = _checked_scope(user_id, agent_id, run_id, "; reset() forgets everything")
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
                if self.memory.get(id).meta.get("kind") == _SCOPE:
                    self.memory.remove(id, cascade=True)

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """What a memory was, the oldest first; one entry only, unless the store keeps history."""
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
            id = _scope_id(above)
            if id not in self.memory:
                meta = {"kind": _SCOPE, **above}
                self.memory.add(f"{name.removesuffix('_id')} {value}", id=id, parent=parent, meta=meta)
            parent = id
        assert parent is not None
        return parent

    def _facts(self, scope: Mapping[str, str]) -> list[MemoryRecord]:
        return [
            record
            for record in self.memory
            if record.meta.get("kind") == _FACT
            and all(record.meta.get(name) == value for name, value in scope.items())
        ]

    def _prune(self, id: str | None) -> None:
        """Remove scopes that hold nothing any more."""
        while (
            id is not None and self.memory.get(id).meta.get("kind") == _SCOPE and not self.memory.children(id)
        ):
            parent = self.memory.parent(id)
            self.memory.remove(id)
            id = parent

    def _is_fact(self, id: str) -> bool:
        return id in self.memory and self.memory.get(id).meta.get("kind") == _FACT

    def _existing(self, id: str) -> None:
        if not self._is_fact(id):
            raise ValueError(f"there is no memory {id!r:.80}")

    def _now(self) -> datetime:
        return self.memory.clock()


def _checked_scope(
    user_id: str | None, agent_id: str | None, run_id: str | None, hint: str = ""
) -> dict[str, str]:
    given = dict(zip(_SCOPES, (user_id, agent_id, run_id), strict=True))
    scope = {name: value for name, value in given.items() if value is not None}
    if not scope:
        raise ValueError(f"expected user_id, agent_id or run_id, at least one{hint}")
    for name, value in scope.items():
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{name}: expected a non-blank str, got {value!r:.80}")
    return scope


def _scope_id(scope: Mapping[str, str]) -> str:
    return "mem0:" + "/".join(f"{name}={value!r}" for name, value in scope.items())


def _messages(messages: Messages) -> list[dict[str, Any]]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, Mapping):
        messages = [messages]
    listed = [dict(message) for message in messages]
    for i, message in enumerate(listed):
        if not isinstance(message.get("content"), str) or not isinstance(message.get("role"), str):
            raise ValueError(f'messages[{i}]: expected {{"role": ..., "content": ...}}, got {message!r:.80}')
    return listed


def _shown(record: MemoryRecord) -> dict[str, Any]:
    meta = record.meta
    shown: dict[str, Any] = {
        "id": record.id,
        "memory": record.text,
        "hash": blake2b(record.text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
        "metadata": {key: value for key, value in meta.items() if key not in _OURS} or None,
        "created_at": record.t.isoformat(),
        "updated_at": meta.get("updated_at"),
    }
    return shown | {name: meta[name] for name in _SCOPES if name in meta}
