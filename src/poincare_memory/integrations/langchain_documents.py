"""Memories as LangChain's documents, and its options of a search as ours."""

from __future__ import annotations

import math
from copy import deepcopy
from datetime import datetime
from typing import TYPE_CHECKING, Any

try:
    from langchain_core.documents import Document
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.langchain needs the "langchain" extra: pip install "poincare-memory[langchain]"'
    ) from error

if TYPE_CHECKING:
    from ..store.records import MemoryRecord


def document_of(record: MemoryRecord) -> Document:
    """A memory as a document; its metadata is a copy."""
    return Document(id=record.id, page_content=record.text, metadata=deepcopy(record.meta))


def search_options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Options of `Memory.search` out of LangChain's: ``filter`` is what we call ``filters``."""
    options = dict(kwargs)
    options.pop("score_threshold", None)
    if "filter" in options:
        options["filters"] = options.pop("filter")
    return options


def relevance_of(score: float) -> float:
    """A score as LangChain wants relevance: 1 for nothing between query and memory, towards 0 far away."""
    return math.exp(min(score, 0.0))


def time_of(value: Any, key: str) -> Any:
    """The time that a document's metadata tell under a key: as text, for metadata hold no datetimes."""
    if not isinstance(value, str):
        return value  # the memory says what is wrong with it
    try:
        return datetime.fromisoformat(value[:-1] + "+00:00" if value[-1:] in ("Z", "z") else value)
    except ValueError:
        raise ValueError(f"metadata[{key!r:.80}]: expected a time in ISO 8601, got {value!r:.80}") from None
