"""Tools of the MCP server that change something."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from .mcp_schemas import (
    LARGEST_META,
    LARGEST_TEXT,
    MOST_ITEMS,
    Added,
    Done,
    Id,
    Meta,
    NewMemory,
    OnDuplicate,
    When,
)
from .scope import Scope

try:
    from pydantic import Field
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.mcp_server needs the "mcp" extra: pip install "poincare-memory[mcp]"'
    ) from error

__all__ = ["Writing"]


class Writing:
    """One method a tool.

    Parameters
    ----------
    scope : Scope
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def add(
        self,
        text: Annotated[str, Field(min_length=1, max_length=LARGEST_TEXT, description="What to remember")],
        parent: Annotated[str | None, Field(description="Id of the memory it belongs under")] = None,
        id: Annotated[str | None, Field(max_length=500, description="Its id; a new one by default")] = None,
        t: Annotated[datetime | None, Field(description="When it happened; now by default")] = None,
        meta: Meta = None,
        valid_from: When = None,
        valid_until: When = None,
        pin: Annotated[bool, Field(description="Exempt from forgetting")] = False,
        on_duplicate: OnDuplicate = "error",
    ) -> Done:
        """Remember something; gives its id."""
        new = NewMemory(
            text=text,
            parent=parent,
            id=id,
            t=t,
            meta=meta,
            valid_from=valid_from,
            valid_until=valid_until,
            pin=pin,
        )
        return Done(id=self._scope.add(_item(new), on_duplicate=on_duplicate), done="added")

    def add_many(
        self,
        memories: Annotated[list[NewMemory], Field(min_length=1, max_length=MOST_ITEMS)],
        on_duplicate: OnDuplicate = "error",
    ) -> Added:
        """Remember several things, all or none; parents come before their children."""
        return Added(ids=self._scope.add_many([_item(one) for one in memories], on_duplicate=on_duplicate))

    def update(
        self,
        id: Id,
        text: Annotated[str | None, Field(max_length=LARGEST_TEXT)] = None,
        meta: Annotated[dict[str, Any] | None, Field(description="Takes the place of all metadata")] = None,
        t: When = None,
        pin: bool | None = None,
    ) -> Done:
        """Change a memory where it is; what is left out stays."""
        _check_meta(meta)
        self._scope.update(id, text=text, meta=meta, t=t, pin=pin)
        return Done(id=id, done="updated")

    def remove(
        self,
        id: Id,
        cascade: Annotated[bool, Field(description="And everything below it; else that is an error")] = False,
    ) -> Done:
        """Forget a memory."""
        self._scope.remove(id, cascade=cascade)
        return Done(id=id, done="removed")

    def move(
        self, id: Id, parent: Annotated[str | None, Field(description="Without it: to the top")] = None
    ) -> Done:
        """Put a memory, with everything below it, under another one."""
        self._scope.move(id, parent)
        return Done(id=id, done="moved")


def _item(new: NewMemory) -> dict[str, Any]:
    _check_meta(new.meta)
    return {
        name: value
        for name, value in new.model_dump().items()
        if value is not None and (name, value) != ("pin", False)
    }


def _check_meta(meta: Mapping[str, Any] | None) -> None:
    if meta is not None and len(json.dumps(meta)) > LARGEST_META:
        raise ValueError(f"meta: expected at most {LARGEST_META} characters of JSON")
