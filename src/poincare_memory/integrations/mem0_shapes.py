"""What mem0 calls scopes, messages and memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..store.records import MemoryRecord

SCOPES: Final = ("user_id", "agent_id", "run_id")
OUR_KEYS: Final = frozenset({*SCOPES, "kind", "created_at", "updated_at"})
SCOPE, FACT = "scope", "fact"

Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]


def checked_scope(
    user_id: str | None, agent_id: str | None, run_id: str | None, hint: str = ""
) -> dict[str, str]:
    """The parts of a scope that are given; at least one."""
    given = dict(zip(SCOPES, (user_id, agent_id, run_id), strict=True))
    scope = {name: value for name, value in given.items() if value is not None}
    if not scope:
        raise ValueError(f"expected user_id, agent_id or run_id, at least one{hint}")
    for name, value in scope.items():
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{name}: expected a non-blank str, got {value!r:.80}")
    return scope


def scope_id(scope: Mapping[str, str]) -> str:
    """Id of the memory that stands for a scope."""
    return "mem0:" + "/".join(f"{name}={value!r}" for name, value in scope.items())


def checked_messages(messages: Messages) -> list[dict[str, Any]]:
    """Messages as a list of mappings with "role" and "content"."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, Iterable):
        raise ValueError(f"messages: expected a text or a list of messages, got {messages!r:.80}")
    listed = []
    for i, message in enumerate(messages):
        parts = message if isinstance(message, Mapping) else {}
        if not isinstance(parts.get("content"), str) or not isinstance(parts.get("role"), str):
            raise ValueError(f'messages[{i}]: expected {{"role": ..., "content": ...}}, got {message!r:.80}')
        listed.append(dict(parts))
    return listed


def shown(record: MemoryRecord) -> dict[str, Any]:
    """A memory as mem0 shows one."""
    meta = record.meta
    told: dict[str, Any] = {
        "id": record.id,
        "memory": record.text,
        "hash": blake2b(record.text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
        "metadata": {key: value for key, value in meta.items() if key not in OUR_KEYS} or None,
        "created_at": record.t.isoformat(),
        "updated_at": meta.get("updated_at"),
    }
    return told | {name: meta[name] for name in SCOPES if name in meta}
