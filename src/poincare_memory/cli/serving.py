"""``mcp``: a store as MCP server, on standard streams or over HTTP."""

from __future__ import annotations

import argparse
import os

from .stores import AddCommand, add_store, offers_ids, opened
from .terminal import complain

TOKEN = "POINCARE_MEMORY_TOKEN"


def register(add: AddCommand) -> None:
    """Add this command to the parser."""
    serving = add("mcp", serve, "serve a store to MCP clients, on standard streams or over HTTP")
    add_store(serving, "SQLite file of a live memory; made where there is none")
    offers_ids(
        serving.add_argument(
            "--root", metavar="ID", help="clients see and change the branch of this memory only"
        )
    )
    serving.add_argument("--read-only", action="store_true", help="without the tools that change something")
    serving.add_argument("--http", action="store_true", help="over HTTP instead of standard streams")
    http = serving.add_argument_group("with --http")
    http.add_argument("--host", default="127.0.0.1", help="address to bind to (default: %(default)s)")
    http.add_argument("--port", type=_port, default=8765, help="default: %(default)s; 0 takes a free one")
    http.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help=f"a further name by which clients may call it; the token that they need is read from {TOKEN}",
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got {text!r}")
    return int(text)


def serve(arguments: argparse.Namespace) -> None:
    """Serve until the client leaves, or Ctrl-C."""
    from ..integrations.mcp_server import build_server

    new = (
        arguments.root is None and not arguments.read_only
    )  # nothing is below, or read from, a memory that is new
    with opened(arguments, embeds=True, create=new) as memory:
        server = build_server(memory, root=arguments.root, read_only=arguments.read_only)
        if not arguments.http:
            server.run()  # standard output is the protocol's
            return
        from ..integrations.mcp_http import LOOPBACK, serve_http

        token = os.environ.get(TOKEN) or None
        if token is None and arguments.host not in LOOPBACK:
            raise ValueError(f"{arguments.host} can be reached from other machines: set a token in {TOKEN}")
        if token is None:
            complain(f"warning: every program of this machine may connect; set {TOKEN} to ask for a token")
        serve_http(
            server,
            host=arguments.host,
            port=arguments.port,
            token=token,
            allowed_hosts=arguments.allow_host,
        )
