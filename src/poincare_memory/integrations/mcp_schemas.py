"""What the tools of the MCP server take and give: types from which clients get JSON schemas."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

try:
    from pydantic import BaseModel, Field
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.mcp_server needs the "mcp" extra: pip install "poincare-memory[mcp]"'
    ) from error

__all__ = [
    "Added",
    "Done",
    "Filters",
    "Found",
    "Hit",
    "Id",
    "K",
    "Meta",
    "Mode",
    "NewMemory",
    "OnDuplicate",
    "Page",
    "Text",
    "When",
]

LARGEST_TEXT: Final = 100_000  # characters
LARGEST_META: Final = 65_536  # characters of JSON
MOST_ITEMS: Final = 1000

FILTERS = (
    'Conditions on metadata: {"kind": "event", "n": {"$gte": 3}, "$or": [{...}, {...}]}. Operators: $eq $ne $gt $gte '
    "$lt $lte $in $nin $exists $contains $not, $and $or. A key with dots looks into nested objects; t, level, parent, "
    "access_count, id and text are those of the memory."
)

Text = Annotated[str, Field(min_length=1, max_length=LARGEST_TEXT)]
Id = Annotated[str, Field(min_length=1, max_length=500)]
Meta = Annotated[dict[str, Any] | None, Field(description="Data of your own, JSON")]
Filters = Annotated[
    dict[str, Any] | None,
    Field(description=FILTERS, json_schema_extra={"examples": [{"kind": "event", "year": {"$gte": 2025}}]}),
]
K = Annotated[int, Field(ge=1, le=100, description="At most so many")]
Mode = Annotated[
    Literal["nearest", "subtree", "children", "ancestors", "siblings", "cone"],
    Field(description="Which memories compete: all, or those related to `root`"),
]
When = Annotated[datetime | None, Field(description="ISO 8601")]
OnDuplicate = Annotated[
    Literal["error", "ignore", "update"], Field(description="What happens where the id is in use")
]


class NewMemory(BaseModel):
    """A memory to add."""

    text: Text
    parent: Id | None = Field(default=None, description="Id of the memory it belongs under")
    id: Id | None = Field(default=None, description="Its id; a new one by default")
    t: datetime | None = Field(default=None, description="When it happened; now by default")
    meta: dict[str, Any] | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    pin: bool = Field(default=False, description="Exempt from forgetting")


class Found(BaseModel):
    """A memory."""

    id: str
    text: str
    parent: str | None
    path: list[str]
    t: str
    meta: dict[str, Any]
    children: int
    pinned: bool


class Hit(Found):
    """A memory that a search found."""

    score: float
    distance: float
    time_weight: float
    depth: float
    terms: dict[str, float] | None = None


class Page(BaseModel):
    """Some of the memories, and how many there are."""

    memories: list[Found]
    total: int
    next_offset: int | None


class Added(BaseModel):
    """What was added."""

    ids: list[str]


class Done(BaseModel):
    """What was done."""

    id: str
    done: str
