"""An MCP server over HTTP: on this machine unless told otherwise, with checks of Host, Origin, token and size."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["http_app", "serve_http"]

logger = logging.getLogger("poincare_memory")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST_REQUEST = 4 << 20  # bytes
SHORTEST_TOKEN = 16


def http_app(
    server: MCPServer,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    allowed_hosts: Sequence[str] = (),
    largest_request: int = LARGEST_REQUEST,
) -> Any:
    """The ASGI application of a server, at ``/mcp``.

    Parameters
    ----------
    server : MCPServer
    host : str, default "127.0.0.1"
        The address it is bound to.
    token : str, optional
        What clients must send as ``Authorization: Bearer ...``; needed off this machine.
    allowed_hosts : sequence of str
        Further names by which clients may call it (``memory.example.org`` or ``memory.example.org:*``).
    largest_request : int
        Bytes of a request at most.

    Raises
    ------
    ValueError
        Without a token where others than this machine may connect, or with a short one.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    if token is None and host not in LOOPBACK:
        raise ValueError(f"{host} can be reached from other machines: set a token")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise ValueError(f"the token must have at least {SHORTEST_TOKEN} characters")
    names = [*LOOPBACK[:2], "[::1]"] if host in LOOPBACK else [host]
    hosts = [f"{name}:*" for name in names] + list(allowed_hosts)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{name}" for name in hosts for scheme in ("http", "https")],
    )
    app = server.streamable_http_app(
        host=host, transport_security=security, max_request_body_size=largest_request
    )
    return app if token is None else _BearerToken(app, token)


def serve_http(server: MCPServer, *, host: str = "127.0.0.1", port: int = 8765, **options: Any) -> None:
    """Serve until Ctrl-C; `options` are those of `http_app`. Tells the address in the log."""
    import uvicorn

    app = http_app(server, host=host, **options)
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", access_log=False)
    listening = config.bind_socket()
    listening.listen()  # clients may knock as soon as the address is told
    name = f"[{host}]" if ":" in host else host
    logger.warning("listening on http://%s:%d/mcp", name, listening.getsockname()[1])
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()


class _BearerToken:
    """Answers nobody who does not know the token, before anything of the request is read."""

    def __init__(self, app: Any, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or self._knows(scope):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"a token is needed\n"})

    def _knows(self, scope: Any) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)
