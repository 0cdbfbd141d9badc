"""What LangGraph's items and namespaces are as memories: ids, kinds, times to live."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

try:
    from langgraph.store.base import PutOp, tokenize_path
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.langgraph needs the "langgraph" extra: '
        'pip install "poincare-memory[langgraph]"'
    ) from error

if TYPE_CHECKING:
    from ..store.records import MemoryRecord

Namespace = tuple[str, ...]

PREFIX: Final = "langgraph:"
ITEM, FACET, NAMESPACE = "item", "facet", "namespace"


def namespace_id(namespace: Namespace) -> str:
    return PREFIX + json.dumps(list(namespace), ensure_ascii=False)


def item_id(namespace: Namespace, key: str) -> str:
    return f"{namespace_id(namespace)}:{key}"


def label_text(label: str) -> str:
    """The text of a namespace's memory, which must say something."""
    return label if label.strip() else json.dumps(label)


def facet_id(item: str, number: int) -> str:
    """Of a further indexed text of an item: no key of an item makes the same."""
    return f"{PREFIX}text {number} of {item}"


def shown_text(op: PutOp, texts: Sequence[str]) -> str:
    """The text of an item's own memory."""
    if texts:
        return texts[0]
    return op.key if op.key.strip() else item_id(op.namespace, op.key)


def kind_of(record: MemoryRecord) -> Any:
    return record.meta.get("kind") if record.id.startswith(PREFIX) else None


def is_indexed(record: MemoryRecord) -> bool:
    return kind_of(record) in (ITEM, FACET) and bool(record.meta.get("indexed"))


def item_of(record: MemoryRecord) -> str:
    return str(record.meta.get("item", record.id))


def fields_of(record: MemoryRecord) -> dict[str, Any]:
    from copy import deepcopy

    meta = record.meta
    return {
        "value": deepcopy(meta["value"]),
        "key": meta["key"],
        "namespace": tuple(meta["namespace"]),
        "created_at": datetime.fromisoformat(meta["created_at"]),
        "updated_at": datetime.fromisoformat(meta["updated_at"]),
    }


def now_utc() -> datetime:
    return datetime.now(timezone.utc)


def later(now: datetime, minutes: float) -> str:
    try:
        return (now + timedelta(minutes=minutes)).isoformat()
    except (OverflowError, ValueError):
        raise ValueError(f"ttl: expected minutes, got {minutes!r:.80}") from None


def is_expired(meta: Mapping[str, Any], now: datetime) -> bool:
    expires = meta.get("expires_at")
    return expires is not None and datetime.fromisoformat(expires) <= now


def tokens_of(path: str) -> Any:
    return path if path == "$" else tokenize_path(path)


def memories_of(
    op: PutOp, texts: list[str], created: str, now: datetime, known: Container[object]
) -> list[dict[str, Any]]:
    """Memories of an item: its namespaces where they are not known, the item, and one for each further text."""
    id = item_id(op.namespace, op.key)
    meta = {
        "kind": ITEM,
        "namespace": list(op.namespace),
        "key": op.key,
        "value": dict(op.value or {}),
        "indexed": bool(texts),
        "created_at": created,
        "updated_at": now.isoformat(),
    }
    if op.ttl is not None:
        meta |= {"ttl": op.ttl, "expires_at": later(now, op.ttl)}
    branch = [
        {
            "id": namespace_id(op.namespace[:depth]),
            "text": label_text(op.namespace[depth - 1]),
            "parent": namespace_id(op.namespace[: depth - 1]) if depth > 1 else None,
            "meta": {"kind": NAMESPACE, "namespace": list(op.namespace[:depth])},
        }
        for depth in range(1, len(op.namespace) + 1)
    ]
    new = [node for node in branch if node["id"] not in known]
    parent = namespace_id(op.namespace) if op.namespace else None
    item: dict[str, Any] = {"id": id, "text": shown_text(op, texts), "meta": meta, "t": now}
    if parent is not None:
        item["parent"] = parent
    facets = [
        {
            "id": facet_id(id, number),
            "text": text,
            "parent": id,
            "t": now,
            "meta": meta | {"kind": FACET, "item": id},
        }
        for number, text in enumerate(texts[1:], start=1)
    ]
    return [*new, item, *facets]
