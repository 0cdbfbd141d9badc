"""Tools of the MCP server that change nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from .mcp_answers import found, hit, outline, plain
from .mcp_schemas import LARGEST_TEXT, Filters, Found, Hit, Id, K, Mode, Page
from .scope import Scope

try:
    from pydantic import Field
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.mcp_server needs the "mcp" extra: pip install "poincare-memory[mcp]"'
    ) from error

__all__ = ["Reading"]


class Reading:
    """One method a tool.

    Parameters
    ----------
    scope : Scope
    touch : bool
        Whether what is found counts as accessed.
    """

    def __init__(self, scope: Scope, touch: bool) -> None:
        self._scope, self._touch = scope, touch

    def search(
        self,
        query: Annotated[
            str | None,
            Field(
                max_length=LARGEST_TEXT,
                description="What to look for; without it the newest and most general come first",
            ),
        ] = None,
        k: K = 5,
        mode: Mode = "nearest",
        root: Annotated[str | None, Field(description="Id that every mode but nearest needs")] = None,
        filters: Filters = None,
        at_time: Annotated[
            datetime | None, Field(description="The moment of the time weights; now by default")
        ] = None,
        as_of: Annotated[datetime | None, Field(description="Only what was known then")] = None,
        min_score: float | None = None,
        lexical_coef: Annotated[float | None, Field(description="Weight of the query's words")] = None,
        diversity: Annotated[float, Field(ge=0, le=1)] = 0.0,
        explain: Annotated[bool, Field(description="Also give the terms of the scores")] = False,
    ) -> list[Hit]:
        """Find memories by meaning, best first: -distance, and what depth, time and words add."""
        hits = self._scope.search(
            query,
            k=k,
            mode=mode,
            root=root,
            filters=filters,
            at_time=at_time,
            as_of=as_of,
            min_score=min_score,
            lexical_coef=lexical_coef,
            diversity=diversity,
            explain=explain,
            touch=self._touch,
        )
        return [hit(self._scope, one) for one in hits]

    def get(self, id: Id) -> Found:
        """One memory, whole."""
        return found(self._scope, self._scope.get(id))

    def list_memories(
        self,
        parent: Annotated[
            str | None, Field(description="Its children; without it what is at the top")
        ] = None,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> Page:
        """The children of a memory, or what is at the top, page by page."""
        ids = self._scope.children(parent)
        part = ids[offset : offset + limit]
        end = offset + len(part)
        return Page(
            memories=[found(self._scope, self._scope.get(id)) for id in part],
            total=len(ids),
            next_offset=end if end < len(ids) else None,
        )

    def tree(
        self,
        root: Annotated[str | None, Field(description="Where to begin; at the top without it")] = None,
        depth: Annotated[int, Field(ge=0, le=100, description="Levels below the beginning")] = 3,
        max_text: Annotated[int, Field(ge=10, le=1000)] = 80,
    ) -> str:
        """The hierarchy as an outline, one line a memory: text and [id]."""
        return outline(self._scope, root, depth, max_text)

    def context(
        self,
        query: Annotated[str, Field(min_length=1, max_length=LARGEST_TEXT)],
        budget: Annotated[int, Field(ge=100, le=100_000, description="Characters at most")] = 2000,
        k: K = 10,
        filters: Filters = None,
    ) -> str:
        """What is remembered about something, under its headings, as text for a prompt."""
        return self._scope.context(query, budget, k, filters=filters, touch=self._touch)

    def stats(self) -> dict[str, Any]:
        """How many memories there are, how deep, and from when to when."""
        if self._scope.root is None:
            return {key: plain(value) for key, value in self._scope.memory.stats().items()}
        records = [record for _, record in self._scope.walk()]
        times = [record.t for record in records]
        return {
            "count": len(records),
            "levels": 1 + max(level for level, _ in self._scope.walk()),
            "oldest": min(times).isoformat(),
            "newest": max(times).isoformat(),
        }
