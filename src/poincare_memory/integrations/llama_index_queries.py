"""LlamaIndex's queries: modes as options of a search, and metadata filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..store.memory import Memory
from .llama_index_nodes import is_node

try:
    from llama_index.core.vector_stores.types import (
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
    )
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.llama_index needs the "llamaindex" extra: '
        'pip install "poincare-memory[llamaindex]"'
    ) from error

if TYPE_CHECKING:
    from ..store.records import MemoryRecord

_WORDS_ALONE: Final = 1000.0  # a weight of words beside which distances are nothing
_USUAL_WORDS: Final = 0.3


def is_of_words_alone(query: VectorStoreQuery) -> bool:
    """Whether directions do not matter, and need not be known."""
    words = (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE)
    return query.mode in words and bool((query.query_str or "").strip())


def mode_options(query: VectorStoreQuery, memory: Memory) -> dict[str, Any]:
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


def filter_of(query: VectorStoreQuery) -> Any:
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
    passes = passing(query.filters, node_ids, doc_ids)
    return lambda record: is_node(record) and passes(record)


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


def passing(
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
