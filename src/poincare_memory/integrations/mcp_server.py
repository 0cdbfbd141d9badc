"""A `Memory` as MCP server: tools and resources for language models (``pip install "poincare-memory[mcp]"``)."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from .. import __version__
from ..store.memory import Memory
from ..store.records import MemoryRecord, SearchResult
from .scope import Scope

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
    from mcp_types import ToolAnnotations
    from pydantic import BaseModel, Field
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.mcp_server needs the "mcp" extra: pip install "poincare-memory[mcp]"'
    ) from error

__all__ = ["build_server"]

LARGEST_TEXT = 100_000  # characters
LARGEST_META = 65_536  # characters of JSON
MOST_ITEMS = 1000
MOST_LINES = 2000

INSTRUCTIONS = """Long-term memory as a tree: every memory has a text, maybe a parent, a time and metadata. Search
before you answer from memory, and before you add what may be there already. Put a memory under what it is about
(parent); update what has changed instead of adding it anew. Times are ISO 8601, UTC unless they say otherwise."""

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
Function = TypeVar("Function", bound=Callable[..., Any])


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


def build_server(
    memory: Memory, *, root: str | None = None, read_only: bool = False, name: str = "poincare-memory"
) -> MCPServer:
    """An MCP server over a memory.

    Its calls may overlap: tools run in worker threads, and a `Memory` may be shared by them.

    Parameters
    ----------
    memory : Memory
        Such as ``Memory.open("agent.db")``.
    root : str, optional
        Id of a memory: clients see and change nothing but the branch below it.
    read_only : bool, default False
        Leave out the tools that change something.
    name : str
        Of the server.

    Raises
    ------
    KeyError
        Where `root` is none of the memory's.

    Examples
    --------
    >>> import anyio
    >>> from mcp import Client
    >>> from poincare_memory import Memory
    >>> async def talk():
    ...     async with Client(build_server(Memory())) as client:
    ...         await client.call_tool("add", {"text": "Prefers tea", "id": "tea"})
    ...         found = await client.call_tool("search", {"query": "tea"})
    ...         return [hit["id"] for hit in found.structured_content["result"]]
    >>> anyio.run(talk)
    ['tea']
    """
    server = MCPServer(name, version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    scope = Scope(memory, root)
    _add_reading(server, scope, touch=not read_only)
    _add_resources(server, scope)
    if not read_only:
        _add_writing(server, scope)
    return server


# --- reading ----------------------------------------------------------------------------------------------------


def _add_reading(server: MCPServer, scope: Scope, touch: bool) -> None:
    look = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

    @server.tool(annotations=look)
    @_told
    def search(
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
        hits = scope.search(
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
            touch=touch,
        )
        return [_hit(scope, hit) for hit in hits]

    @server.tool(annotations=look)
    @_told
    def get(id: Id) -> Found:
        """One memory, whole."""
        return Found(**_shown(scope, scope.get(id)))

    @server.tool(name="list", annotations=look)
    @_told
    def list_memories(
        parent: Annotated[
            str | None, Field(description="Its children; without it what is at the top")
        ] = None,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> Page:
        """The children of a memory, or what is at the top, page by page."""
        ids = scope.children(parent)
        part = ids[offset : offset + limit]
        end = offset + len(part)
        return Page(
            memories=[Found(**_shown(scope, scope.get(id))) for id in part],
            total=len(ids),
            next_offset=end if end < len(ids) else None,
        )

    @server.tool(annotations=look)
    @_told
    def tree(
        root: Annotated[str | None, Field(description="Where to begin; at the top without it")] = None,
        depth: Annotated[int, Field(ge=0, le=100, description="Levels below the beginning")] = 3,
        max_text: Annotated[int, Field(ge=10, le=1000)] = 80,
    ) -> str:
        """The hierarchy as an outline, one line a memory: text and [id]."""
        return _outline(scope, root, depth, max_text)

    @server.tool(annotations=look)
    @_told
    def context(
        query: Annotated[str, Field(min_length=1, max_length=LARGEST_TEXT)],
        budget: Annotated[int, Field(ge=100, le=100_000, description="Characters at most")] = 2000,
        k: K = 10,
        filters: Filters = None,
    ) -> str:
        """What is remembered about something, under its headings, as text for a prompt."""
        return scope.context(query, budget, k, filters=filters, touch=touch)

    @server.tool(annotations=look)
    @_told
    def stats() -> dict[str, Any]:
        """How many memories there are, how deep, and from when to when."""
        if scope.root is None:
            return {key: _plain(value) for key, value in scope.memory.stats().items()}
        records = [record for _, record in scope.walk()]
        times = [record.t for record in records]
        return {
            "count": len(records),
            "levels": 1 + max(level for level, _ in scope.walk()),
            "oldest": min(times).isoformat(),
            "newest": max(times).isoformat(),
        }


def _add_resources(server: MCPServer, scope: Scope) -> None:
    @server.resource("memory://tree", name="tree", mime_type="text/plain", description="The whole hierarchy")
    def whole() -> str:
        return _outline(scope, None, 100, 80)

    @server.resource(
        "memory://subtree/{id}",
        name="subtree",
        mime_type="text/plain",
        description="A memory and all below it; special characters of the id percent-encoded",
    )
    def subtree(id: str) -> str:
        if id not in scope:
            raise ResourceNotFoundError(f"there is no memory {id!r:.80}")
        return _outline(scope, id, 100, LARGEST_TEXT)


# --- writing ----------------------------------------------------------------------------------------------------


def _add_writing(server: MCPServer, scope: Scope) -> None:
    adds = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
    )
    changes = ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
    )

    @server.tool(annotations=adds)
    @_told
    def add(
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
        return Done(id=scope.add(_item(new), on_duplicate=on_duplicate), done="added")

    @server.tool(annotations=adds)
    @_told
    def add_many(
        memories: Annotated[list[NewMemory], Field(min_length=1, max_length=MOST_ITEMS)],
        on_duplicate: OnDuplicate = "error",
    ) -> Added:
        """Remember several things, all or none; parents come before their children."""
        return Added(ids=scope.add_many([_item(one) for one in memories], on_duplicate=on_duplicate))

    @server.tool(annotations=changes)
    @_told
    def update(
        id: Id,
        text: Annotated[str | None, Field(max_length=LARGEST_TEXT)] = None,
        meta: Annotated[dict[str, Any] | None, Field(description="Takes the place of all metadata")] = None,
        t: When = None,
        pin: bool | None = None,
    ) -> Done:
        """Change a memory where it is; what is left out stays."""
        _check_meta(meta)
        scope.update(id, text=text, meta=meta, t=t, pin=pin)
        return Done(id=id, done="updated")

    @server.tool(annotations=changes)
    @_told
    def remove(
        id: Id,
        cascade: Annotated[bool, Field(description="And everything below it; else that is an error")] = False,
    ) -> Done:
        """Forget a memory."""
        scope.remove(id, cascade=cascade)
        return Done(id=id, done="removed")

    @server.tool(annotations=changes)
    @_told
    def move(
        id: Id, parent: Annotated[str | None, Field(description="Without it: to the top")] = None
    ) -> Done:
        """Put a memory, with everything below it, under another one."""
        scope.move(id, parent)
        return Done(id=id, done="moved")


# --- what goes in and out -----------------------------------------------------------------------------------------


def _told(function: Function) -> Function:
    """Errors that a client can do something about are told; others stay in the log."""

    @functools.wraps(function)
    def telling(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (KeyError, TypeError, ValueError, OSError) as error:
            message = error.args[0] if isinstance(error, KeyError) and error.args else error
            raise ToolError(f"{type(error).__name__}: {message}") from error

    return telling  # type: ignore[return-value]  # the same signature


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


def _hit(scope: Scope, hit: SearchResult) -> Hit:
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


def _outline(scope: Scope, root: str | None, depth: int, max_text: int) -> str:
    lines: list[str] = []
    for level, record in scope.walk(root, depth):
        if len(lines) == MOST_LINES:
            lines.append(f"... (only the first {MOST_LINES} lines: ask for a part)")
            break
        text = " ".join(record.text.split())
        text = text if len(text) <= max_text else text[: max_text - 1] + "…"
        lines.append(f"{'  ' * level}- {text} [{record.id}]")
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
