"""README.md tells the truth: its Python blocks run, and print what the block after them shows."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from poincare_memory.cli import main

README = Path(__file__).parents[1] / "README.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    code: str
    shown: str | None  # the ```text block right after it, if there is one
    line: int


def examples(text: str) -> list[Example]:
    """Python blocks of a Markdown text, each with the output shown right after it."""
    blocks = list(FENCE.finditer(text))
    found = []
    for number, block in enumerate(blocks):
        if block[1] != "python":
            continue
        after = blocks[number + 1] if number + 1 < len(blocks) else None
        adjacent = (
            after is not None and after[1] == "text" and text[block.end() : after.start()].strip() == ""
        )
        shown = after[2] if after is not None and adjacent else None
        found.append(Example(block[2], shown, text.count("\n", 0, block.start()) + 1))
    return found


def test_python_blocks_run_and_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda *_: True)
    names: dict[str, object] = {
        "__name__": "readme"
    }  # one session from top to bottom, as a reader would type it
    found = examples(README.read_text(encoding="utf-8"))
    assert found, "no Python block in the README"
    for example in found:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.code, f"README.md, block at line {example.line}", "exec"), names)
        if example.shown is not None:
            assert printed.getvalue() == example.shown, f"block at line {example.line}"


def test_blocks_are_found_with_their_output() -> None:
    text = "a\n```python\nprint(1)\n```\n\n```text\n1\n```\n```python\nx\n```\nwords\n```text\nno\n```\n"
    assert [(example.shown, example.line) for example in examples(text)] == [("1\n", 2), (None, 9)]


def test_command_lines_run_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda *_: True)
    lines = re.findall(r"^poincare-memory (.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) > 1
    for line in lines:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert main(shlex.split(line, comments=True)) == 0, line
        assert printed.getvalue().strip(), line


def test_commands_named_in_the_readme_exist() -> None:
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)", README.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named <= targets
