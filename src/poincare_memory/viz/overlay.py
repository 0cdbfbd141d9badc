"""What a query found, as the inspector shows it: each hit with the terms of its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..store.records import SearchResult
from ..temporal.instants import from_micros

if TYPE_CHECKING:
    from ..store.memory import Memory

Query = str | Sequence[SearchResult]


@dataclass(frozen=True)
class QueryOverlay:
    """Text of the query, None where only its results are known, and the hits, best first."""

    text: str | None
    hits: list[dict[str, Any]]

    def plain(self) -> dict[str, Any]:
        """The value in the page's data block."""
        return {"text": self.text, "hits": self.hits}


def query_overlay(memory: Memory, query: Query, k: int, now: int) -> QueryOverlay:
    """Search for a text without touching what is found, or take results that are there already.

    Raises
    ------
    TypeError
        If `query` is neither text nor results of a search.
    """
    if isinstance(query, str):
        found = memory.search(query, k=k, at_time=from_micros(now), touch=False, explain=True)
        return QueryOverlay(query, [_hit(result) for result in found])
    results = list(query)
    for result in results:
        if not isinstance(result, SearchResult):
            raise TypeError(
                f"query must be a text or results of search, got a sequence with {type(result).__name__}"
            )
    return QueryOverlay(None, [_hit(result) for result in results])


def _hit(result: SearchResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "score": float(result.score),
        "distance": float(result.distance),
        "time_weight": float(result.time_weight),
        "cone_energy": None if result.cone_energy is None else float(result.cone_energy),
        "terms": result.terms and {name: float(value) for name, value in result.terms.items()},
    }
