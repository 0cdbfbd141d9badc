"""LlamaIndex's nodes as memories, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

try:
    from llama_index.core.schema import BaseNode, MetadataMode
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.llama_index needs the "llamaindex" extra: '
        'pip install "poincare-memory[llamaindex]"'
    ) from error

if TYPE_CHECKING:
    from ..store.records import MemoryRecord

TEXTLESS: Final = "_textless"


def is_node(record: MemoryRecord) -> bool:
    return "_node_content" in record.meta


def item_of(node: BaseNode) -> dict[str, Any]:
    meta = node_to_metadata_dict(node, remove_text=True)
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    if not text.strip():  # a picture: a memory must say something
        meta[TEXTLESS] = text
        text = node.node_id
    return {"id": node.node_id, "text": text, "meta": meta}


def node_of(record: MemoryRecord) -> BaseNode:
    return metadata_dict_to_node(record.meta, text=record.meta.get(TEXTLESS, record.text) or None)


def without_equal_texts(nodes: Sequence[BaseNode]) -> Iterable[list[BaseNode]]:
    """Parts in which no text stands twice: vectors are handed on by their texts."""
    parts: list[list[BaseNode]] = []
    seen: dict[str, int] = {}
    for node in nodes:
        text = item_of(node)["text"]
        number = seen[text] = seen.get(text, -1) + 1
        if number == len(parts):
            parts.append([])
        parts[number].append(node)
    return parts


def parents_first(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
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


def dim_of(path: str) -> int:
    import json
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        row = connection.execute("SELECT value FROM config WHERE key = 'dim'").fetchone()
    return int(json.loads(row[0]))
