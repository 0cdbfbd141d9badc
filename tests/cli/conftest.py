"""The command line, run in this process or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from poincare_memory.cli import main
from poincare_memory.demo import build_demo_memory

Result = tuple[int, str, str]  # exit code, standard output, standard error
Run = Callable[..., Result]


@pytest.fixture(scope="session")
def demo_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("demo") / "demo.db"
    build_demo_memory().save(path)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path: Path, demo_bytes: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with ``demo.db`` in it."""
    (tmp_path / "demo.db").write_bytes(demo_bytes)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in this process; ``stdin=`` is what it reads."""

    def run(*argv: str, stdin: str | bytes = "") -> Result:
        data = io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data, "utf-8"))
        try:
            code = main(list(argv))
        except SystemExit as stop:
            code = int(stop.code or 0)
        output, errors = capsys.readouterr()
        return code, output, errors

    return run


def process(*argv: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "poincare_memory.cli", *argv]
    return subprocess.run(command, capture_output=True, timeout=60, env={**os.environ, **environment})


def assert_one_line_error(result: Result, about: str, code: int = 1) -> None:
    assert result[0] == code, result
    assert result[1] == ""
    assert about in result[2]
    assert result[2].startswith("poincare-memory: error: ")
    assert result[2].count("\n") == 1
    assert "Traceback" not in result[2]
