"""The arguments of a search, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..arguments import finite_number, integer, number_within
from ..retrieval.filters import MetadataFilter, RecordFilter, compile_filter
from ..temporal.instants import to_micros
from .arrays import checked_reference
from .state import fraction, metric_name

if TYPE_CHECKING:
    from .state import Metric, Store

MODES: Final = ("nearest", "subtree", "children", "ancestors", "siblings", "cone")


@dataclass(slots=True)
class Request:
    """What is asked of every query of a call."""

    k: int
    mode: str
    roots: tuple[str, ...]
    at_time: int | None
    as_of: int | None
    filter: MetadataFilter | RecordFilter | None
    metric: Metric
    query_depth: float
    touch: bool
    use_index: bool | None
    oversample: int
    lexical_coef: float
    min_score: float | None
    diversity: float
    explain: bool


def checked_request(
    store: Store,
    *,
    k: Any = 5,
    mode: Any = "nearest",
    root: Any = None,
    at_time: Any = None,
    as_of: Any = None,
    filters: Any = None,
    metric: Any = None,
    query_depth: Any = None,
    touch: Any = True,
    use_index: Any = None,
    oversample: Any = 8,
    lexical_coef: Any = None,
    min_score: Any = None,
    diversity: Any = 0.0,
    explain: Any = False,
) -> Request:
    """Arguments of `Memory.search` but for the query."""
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r:.80}; expected one of {', '.join(MODES)}")
    if query_depth is not None:
        query_depth = number_within("query_depth", query_depth, 0)
    return Request(
        integer("k", k),
        mode,
        _checked_roots(store, mode, root),
        None if at_time is None else to_micros(at_time, "at_time"),
        None if as_of is None else to_micros(as_of, "as_of"),
        compile_filter(filters),
        store.metric if metric is None else metric_name("metric", metric),
        store.base_depth if query_depth is None else query_depth,
        bool(touch),
        None if use_index is None else bool(use_index),
        integer("oversample", oversample),
        store.lexical_coef if lexical_coef is None else finite_number("lexical_coef", lexical_coef),
        None if min_score is None else finite_number("min_score", min_score),
        fraction("diversity", diversity),
        bool(explain),
    )


def checked_query(query: Any) -> str | None:
    if query is not None and (not isinstance(query, str) or not query.strip()):
        several = "; search_many takes several" if isinstance(query, list | tuple) else ""
        raise ValueError(f"query must be a non-empty string or None, got {query!r:.80}{several}")
    return query


def _checked_roots(store: Store, mode: str, root: Any) -> tuple[str, ...]:
    if root is None:
        if mode != "nearest":
            raise ValueError(f"mode={mode!r} needs root=<memory id>")
        return ()
    roots: tuple[Any, ...] = (root,)
    if not isinstance(root, str) and isinstance(root, Sequence):
        roots = tuple(dict.fromkeys(checked_reference(id, "root") for id in root))
        if mode != "subtree":
            raise ValueError(f"root: several ids are for mode='subtree' only, not for mode={mode!r}")
        if not roots:
            raise ValueError("root: expected at least one id, got none")
    for id in roots:
        if checked_reference(id, "root") not in store.columns.row_of:
            raise KeyError(f"unknown id {id!r:.80}")
    return roots
