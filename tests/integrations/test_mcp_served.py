"""The MCP server over standard streams and HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from optional import needs

needs("mcp")


from integrations.mcp_process import TOKEN, listening, served
from poincare_memory import Memory
from poincare_memory.integrations.mcp_http import http_app
from poincare_memory.integrations.mcp_server import build_server


def post(port: int, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Status and body of the answer to an `initialize` request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    usual = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {TOKEN}",
    }
    given = {**usual, **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        connection.request("POST", "/mcp", json.dumps(hello).encode() if body is None else body, given)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_over_http_who_may_come_in(tmp_path: Path) -> None:
    with served(tmp_path / "m.db", "--allow-host", "memory.example") as port:
        assert post(port)[0] == 200
        assert post(port, Host="memory.example")[0] == 200
        assert post(port, Origin=f"http://127.0.0.1:{port}")[0] == 200
        assert post(port, Host="LocalHost:1", Authorization=f"bearer {TOKEN}")[0] == 200
        assert post(port, Host="localhost")[0] == 200  # at port 80 browsers leave it out
        assert post(port, Host="memory.example", Origin="https://memory.example")[0] == 200
        assert post(port, Origin="https://memory.example")[0] == 200  # through a proxy
        for host in ("127.0.0.1:80@evil.example", "127.0.0.1.evil.example", "127.0.0.1:", "127.0.0.1:x", "[::1", "",
                     "memory.example:1", "0.0.0.0:80", "evil.example:127.0.0.1"):  # fmt: skip
            assert post(port, Host=host or " ")[0] == 421, host
        for origin in ("null", "file://", "http://localhost:1", f"http://localhost:{port}", "http://127.0.0.1", "",
                       f"http://127.0.0.1:{port}@evil.example", f"http://127.0.0.1:{port}.evil.example",
                       f"ftp://127.0.0.1:{port}", f"http://127.0.0.1:{port}/x"):  # fmt: skip
            assert post(port, Origin=origin or " ")[0] == 403, origin
        assert post(port, Authorization="Bearer something else")[0] == 401
        assert post(port, Authorization=f"Basic {TOKEN}")[0] == 401
        assert post(port, Authorization=f"Bearer  {TOKEN}")[0] == 401
        assert post(port, Authorization="")[0] == 401
        assert post(port, Host="evil.example")[0] == 421
        assert post(port, Origin="http://evil.example")[0] == 403
        with contextlib.suppress(ConnectionError, http.client.HTTPException):  # it may hang up while we send
            assert post(port, b"x" * (5 << 20))[0] == 413
        assert post(port, b"not JSON")[0] == 400


CONFORMANCE = os.environ.get("POINCARE_MCP_CONFORMANCE")
conformance = pytest.mark.skipif(
    CONFORMANCE is None, reason="needs npm's @modelcontextprotocol/conformance, by POINCARE_MCP_CONFORMANCE"
)


def is_content(tmp_path: Path, port: int, scenario: str) -> None:
    asked = ["server", "--url", f"http://127.0.0.1:{port}/mcp", "--scenario", scenario]
    done = subprocess.run(
        [str(CONFORMANCE), *asked], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr


@conformance
@pytest.mark.parametrize(
    "scenario",
    [
        "server-initialize", "ping", "tools-list", "tools-call-error", "server-sse-multiple-streams",
        "resources-list", "prompts-list", "dns-rebinding-protection",
    ],
)  # fmt: skip
def test_the_published_conformance_tool_is_content(tmp_path: Path, scenario: str) -> None:
    """Its other scenarios are about capabilities that we do not declare (logging, completion, subscriptions)."""
    with served(tmp_path / "m.db", token=None) as port:
        is_content(tmp_path, port, scenario)


@conformance
def test_and_with_tools_that_it_brings_along(tmp_path: Path) -> None:
    """What its own tools do comes through our door: streams, progress, questions back to the client, pictures."""
    with listening("integrations.conformance_server") as port:
        for scenario in (
            "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
            "tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "tools-call-sampling",
            "tools-call-elicitation", "resources-read-text", "resources-read-binary", "resources-templates-read",
            "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image",
        ):  # fmt: skip
            is_content(tmp_path, port, scenario)


def test_no_door_to_the_world_without_a_token() -> None:
    server = build_server(Memory())
    with pytest.raises(ValueError, match="can be reached from other machines: set a token"):
        http_app(server, host="0.0.0.0")
    with pytest.raises(ValueError, match="at least 16 characters"):
        http_app(server, token="short")


def test_the_command_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    def run(*options: str) -> str:
        command = [sys.executable, "-m", "poincare_memory.cli", "mcp", str(tmp_path / "m.db"), *options]
        environment = {name: value for name, value in os.environ.items() if name != "POINCARE_MEMORY_TOKEN"}
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment
        )
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        return done.stderr

    for option in (["--root", "ada"], ["--read-only"]):
        assert "there is no file" in run(*option)
        assert not (tmp_path / "m.db").exists()
    Memory.open(tmp_path / "m.db").close()
    assert "there is no memory 'ada'" in run("--root", "ada")
    assert "set a token in POINCARE_MEMORY_TOKEN" in run("--http", "--host", "0.0.0.0")
    assert "expected a port" in run("--http", "--port", "99999")
