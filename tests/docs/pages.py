"""The examples in Markdown pages: found, run, and compared with the output that the page shows.

A page is one session in an empty folder: its Python blocks share their names, its shell blocks the files. A ``text``
block right after one is its output; ``...`` in it stands for anything. ``python pages.py --write PAGE ...`` fills in
what is shown.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
# First words of shell lines that are run; of others only what can be looked up is.
RUN = {"poincare-memory", "printf", "echo", "cat", "head", "python", "export"}
LOOKED_UP = {"pip", "make", "git", "cd", "eval", "pytest", "mkdocs", ".ci/run", "source", "uv"}


@dataclass(frozen=True)
class Block:
    """A fenced block, and the output shown right after it."""

    kind: str
    body: str
    line: int
    shown: str | None
    shown_at: tuple[int, int]  # where the shown text is, in the page

    def is_run(self) -> bool:
        return self.kind in ("python", "sh")


def blocks(text: str) -> list[Block]:
    """Fenced blocks of a page, in order."""
    found = list(FENCE.finditer(text))
    kept = []
    for number, fence in enumerate(found):
        shown, at = None, (0, 0)
        after = found[number + 1] if number + 1 < len(found) else None
        if after is not None and after["kind"] == "text" and not text[fence.end() : after.start()].strip():
            shown, at = _dedented(after), after.span("body")
        line = text.count("\n", 0, fence.start()) + 1
        kept.append(Block(fence["kind"], _dedented(fence), line, shown, at))
    return kept


def _dedented(fence: re.Match[str]) -> str:
    indent = len(fence["indent"])
    return "".join(
        line[indent:] if line.strip() else line for line in fence["body"].splitlines(keepends=True)
    )


def matches(shown: str, printed: str) -> bool:
    """Whether the output is what is shown; ``...`` stands for anything."""
    pattern = ".*?".join(re.escape(part) for part in shown.strip("\n").split("..."))
    return re.fullmatch(pattern, printed.strip("\n"), re.DOTALL) is not None


def outputs(page: Path) -> Iterator[tuple[Block, str]]:
    """Each block that is run, with what it printed."""
    names: dict[str, object] = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder, _inside(Path(folder)):
        for block in blocks(page.read_text(encoding="utf-8")):
            if not block.is_run():
                continue
            where = f"{page.relative_to(ROOT)}, block at line {block.line}"
            if block.kind == "python":
                yield block, _python(block, names, where)
            elif any(is_run(line) for line in commands(block.body)):
                yield block, _shell(block, where)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    (folder / "examples").symlink_to(ROOT / "examples")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _python(block: Block, names: dict[str, object], where: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.body, where, "exec"), names)
    return printed.getvalue()


def _shell(block: Block, where: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    # `true` is the browser that --open finds.
    environment = {**os.environ, "PATH": path, "BROWSER": "true", "NO_COLOR": "1", "COLUMNS": "100"}
    script = "set -eu\n" + block.body
    done = subprocess.run(["bash", "-c", script], capture_output=True, encoding="utf-8", env=environment)
    if done.returncode:
        raise AssertionError(f"{where}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def commands(script: str) -> list[str]:
    """Lines of a shell block that begin a command, without comments."""
    joined = script.replace("\\\n", " ")
    lines = [line.split(" #")[0].strip() for line in joined.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def is_run(command: str) -> bool:
    return command.split()[0] in RUN


def pages() -> list[Path]:
    """README, the changing parts of the repository's front, and the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def write(page: Path) -> None:
    """Put in what the blocks print, where a page shows output."""
    text = page.read_text(encoding="utf-8")
    changes = [
        (block.shown_at, printed)
        for block, printed in outputs(page)
        if block.shown is not None and not matches(block.shown, printed)
    ]
    for (start, end), printed in reversed(changes):
        text = text[:start] + printed.strip("\n") + "\n" + text[end:]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[2:]:
        write(Path(name).resolve())
