"""What the tools of the MCP server say: memories as clients see them, outlines, and errors."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

from ..store.records import MemoryRecord, SearchResult
from .mcp_schemas import Found, Hit
from .scope import Scope

try:
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.mcp_server needs the "mcp" extra: pip install "poincare-memory[mcp]"'
    ) from error

__all__ = ["found", "hit", "outline", "plain", "telling"]

MOST_LINES: Final = 2000
Function = TypeVar("Function", bound=Callable[..., Any])


def telling(function: Function) -> Function:
    """Errors that a client can do something about are told; others stay in the log."""

    @functools.wraps(function)
    def tool(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (KeyError, TypeError, ValueError, OSError) as error:
            message = error.args[0] if isinstance(error, KeyError) and error.args else error
            raise ToolError(f"{type(error).__name__}: {message}") from error

    return tool  # type: ignore[return-value]  # the same signature


def found(scope: Scope, record: MemoryRecord) -> Found:
    """A memory of the branch."""
    return Found(**_shown(scope, record))


def _shown(scope: Scope, record: MemoryRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "text": record.text,
        "parent": scope.parent(record.id),
        "path": [scope.get(id).text[:80] for id in scope.path(record.id)[:-1]],
        "t": record.t.isoformat(),
        "meta": json.loads(json.dumps(record.meta, default=str)),
        "children": len(scope.memory.children(record.id)),
        "pinned": record.pinned,
    }


def hit(scope: Scope, hit: SearchResult) -> Hit:
    try:
        shown = _shown(scope, hit.record)
    except KeyError:  # removed a moment ago, or found in the past
        record = hit.record
        shown = {
            "id": record.id,
            "text": record.text,
            "parent": None,
            "path": [],
            "t": record.t.isoformat(),
            "meta": json.loads(json.dumps(record.meta, default=str)),
            "children": 0,
            "pinned": record.pinned,
        }
    return Hit(
        **shown,
        score=hit.score,
        distance=hit.distance,
        time_weight=hit.time_weight,
        depth=hit.depth,
        terms=hit.terms,
    )


def outline(scope: Scope, root: str | None, depth: int, max_text: int) -> str:
    lines: list[str] = []
    for level, record in scope.walk(root, depth):
        if len(lines) == MOST_LINES:
            lines.append(f"... (only the first {MOST_LINES} lines: ask for a part)")
            break
        text = " ".join(record.text.split())
        text = text if len(text) <= max_text else text[: max_text - 1] + "…"
        lines.append(f"{'  ' * level}- {text} [{record.id}]")
    return "\n".join(lines)


def plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
