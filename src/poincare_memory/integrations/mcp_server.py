"""A `Memory` as MCP server: tools and resources for language models (``pip install "poincare-memory[mcp]"``)."""

from __future__ import annotations

from typing import Final

from .. import __version__
from ..store.memory import Memory
from .mcp_answers import outline, telling
from .mcp_reading import Reading
from .mcp_schemas import LARGEST_TEXT
from .mcp_writing import Writing
from .scope import Scope

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceNotFoundError
    from mcp_types import ToolAnnotations
except ImportError as error:
    raise ImportError(
        'poincare_memory.integrations.mcp_server needs the "mcp" extra: pip install "poincare-memory[mcp]"'
    ) from error

__all__ = ["build_server"]

INSTRUCTIONS = """Long-term memory as a tree: every memory has a text, maybe a parent, a time and metadata. Search
before you answer from memory, and before you add what may be there already. Put a memory under what it is about
(parent); update what has changed instead of adding it anew. Times are ISO 8601, UTC unless they say otherwise."""

READS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
CHANGES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


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

    Returns
    -------
    mcp.server.MCPServer

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
    reading = Reading(scope, touch=not read_only)
    for tool in (reading.search, reading.get, reading.tree, reading.context, reading.stats):
        server.tool(annotations=READS)(telling(tool))
    server.tool(name="list", annotations=READS)(telling(reading.list_memories))
    _add_resources(server, scope)
    if not read_only:
        writing = Writing(scope)
        for adding in (writing.add, writing.add_many):
            server.tool(annotations=ADDS)(telling(adding))
        for changing in (writing.update, writing.remove, writing.move):
            server.tool(annotations=CHANGES)(telling(changing))
    return server


def _add_resources(server: MCPServer, scope: Scope) -> None:
    @server.resource("memory://tree", name="tree", mime_type="text/plain", description="The whole hierarchy")
    def whole() -> str:
        return outline(scope, None, 100, 80)

    @server.resource(
        "memory://subtree/{id}",
        name="subtree",
        mime_type="text/plain",
        description="A memory and all below it; special characters of the id percent-encoded",
    )
    def subtree(id: str) -> str:
        if id not in scope:
            raise ResourceNotFoundError(f"there is no memory {id!r:.80}")
        return outline(scope, id, 100, LARGEST_TEXT)
