"""An MCP server in a process of its own, reached over HTTP."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from optional import needs

needs("mcp")


TOKEN = "a-token-of-this-test"


@contextlib.contextmanager
def served(path: Path, *options: str, token: str | None = TOKEN) -> Iterator[int]:
    command = ["poincare_memory.cli", "mcp", str(path), "--http", "--port", "0", *options]
    with listening(*command, token=token) as port:
        yield port


@contextlib.contextmanager
def listening(*command: str, token: str | None = None) -> Iterator[int]:
    """The port of a module that serves until it is stopped, and says where."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    environment.pop("POINCARE_MEMORY_TOKEN", None)
    if token is not None:
        environment["POINCARE_MEMORY_TOKEN"] = token
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=Path(__file__).parent.parent,
    )
    assert process.stderr is not None
    try:
        told = ""
        while "/mcp" not in told:
            line = process.stderr.readline()
            assert line, f"the server ended: {told}"
            told += line
        yield int(re.findall(r":(\d+)/mcp", told)[0])
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=30)
    assert out == ""
