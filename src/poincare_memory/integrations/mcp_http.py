"""An MCP server over HTTP: on this machine unless told otherwise, with checks of Host, Origin, token and size."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["http_app", "serve_http"]

logger = logging.getLogger("poincare_memory")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST_REQUEST = 4 << 20  # bytes
SHORTEST_TOKEN = 16
_ADDRESS = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")


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
        Of :func:`build_server`.
    host : str, default "127.0.0.1"
        The address it is bound to.
    token : str, optional
        What clients must send as ``Authorization: Bearer ...``; needed off this machine.
    allowed_hosts : sequence of str
        Further names by which clients may call it (``memory.example.org`` or ``memory.example.org:*``).
    largest_request : int
        Bytes of a request at most.

    Returns
    -------
    ASGI application
        For any ASGI server.

    Raises
    ------
    ValueError
        Without a token where others than this machine may connect, or with a short one.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> from poincare_memory.integrations.mcp_server import build_server
    >>> app = http_app(build_server(Memory()))
    >>> callable(app)
    True
    """
    from mcp.server.transport_security import TransportSecuritySettings

    if token is None and host not in LOOPBACK:
        raise ValueError(f"{host} can be reached from other machines: set a token")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise ValueError(f"the token must have at least {SHORTEST_TOKEN} characters")
    names = [*LOOPBACK[:2], "[::1]"] if host in LOOPBACK else [f"[{host}]" if ":" in host else host]
    known = _Known([*names, *(f"{name}:*" for name in names), *allowed_hosts])
    # Which hosts and origins are ours is decided here: theirs compares beginnings only.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        host=host, transport_security=security, max_request_body_size=largest_request
    )
    return _Door(app, known, None if token is None else f"Bearer {token}")


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


class _Known:
    """Names, with ports or ``:*``, by which a server may be called."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(name.lower() for name in names)

    def __contains__(self, address: str) -> bool:
        found = _ADDRESS.fullmatch(address)
        if found is None:
            return False
        return address in self._names or (found["port"] is not None and f"{found['name']}:*" in self._names)


class _Door:
    """Lets in who calls this server by its name, comes from no other web page, and knows the token.

    That is decided before anything of a request is read.
    """

    def __init__(self, app: Any, known: _Known, expected: str | None) -> None:
        self._app, self._known = app, known
        self._expected = None if expected is None else expected.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif not self._is_told_the_token(scope):
            await _refuse(send, 401, b"a token is needed\n", (b"www-authenticate", b"Bearer"))
        elif (host := _only(scope, b"host")) is None or host not in self._known:
            await _refuse(send, 421, b"this server has another name\n")
        elif not self._comes_from_here(scope, host):
            await _refuse(send, 403, b"another web page may not call this server\n")
        else:
            await self._app(scope, receive, send)

    def _is_told_the_token(self, scope: Any) -> bool:
        if self._expected is None:
            return True
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        scheme, space, token = given[0].partition(b" ")
        if scheme.lower() == b"bearer":  # its case is free (RFC 9110)
            scheme = b"Bearer"
        return hmac.compare_digest(scheme + space + token, self._expected)

    def _comes_from_here(self, scope: Any, host: str) -> bool:
        """No page of a browser; or one of this very address, or of a name that was allowed with its port."""
        if not any(name == b"origin" for name, _ in scope["headers"]):
            return True
        origin = _only(scope, b"origin")
        if origin is None:
            return False
        scheme, _, address = origin.partition("://")
        if scheme not in ("http", "https"):
            return False
        return address == host or (address in self._known and not _is_loopback(address))


def _is_loopback(address: str) -> bool:
    """Other ports of this machine are other servers, whose pages may not call this one."""
    found = _ADDRESS.fullmatch(address)
    return found is not None and found["name"].strip("[]") in LOOPBACK


def _only(scope: Any, wanted: bytes) -> str | None:
    """The one header of a name, in lower case; None where there are none or several."""
    found = [value for name, value in scope["headers"] if name == wanted]
    return found[0].decode("latin-1").lower() if len(found) == 1 else None


async def _refuse(send: Any, status: int, why: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(why)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": why})
