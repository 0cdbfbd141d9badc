"""The package says what it has to say by logging under its own name; only the command line prints."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "poincare_memory"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if "cli" not in path.relative_to(PACKAGE).parts]
STREAMS = {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}


def talking(source: str) -> list[str]:
    """Calls that print, use a standard stream, or set logging up (which is the application's business)."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in STREAMS:
            found.append(ast.unparse(node))
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in {"print", "pprint", "input", "logging.basicConfig"} or called.endswith(
            (".addHandler", ".setLevel", ".print_exc")
        ):
            found.append(called)
        if called in {
            "logging.debug",
            "logging.info",
            "logging.warning",
            "logging.error",
            "logging.exception",
        }:
            found.append(f"{called}: of the root logger")
        if called.endswith("getLogger"):
            name = ast.unparse(node.args[0]) if node.args else ""
            if name != "__name__" and not re.match(r"'poincare_memory\b", name):
                found.append(f"getLogger({name})")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_talks(path: Path) -> None:
    assert talking(path.read_text(encoding="utf-8")) == []


def test_talking_is_found() -> None:
    source = "print(1)\nsys.stderr.write('a')\nlogging.getLogger('other')\nlogging.warning('a')\n"
    assert talking(source) == [
        "print",
        "getLogger('other')",
        "logging.warning: of the root logger",
        "sys.stderr",
    ]
    assert talking("logger = logging.getLogger(__name__)\nlogger.warning('a')") == []


def test_native_code_prints_nothing() -> None:
    for path in sorted((ROOT / "src" / "_core").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\b(printf|fprintf|puts|std::cout|std::cerr|std::clog|print)\b *[(<]", text), (
            path.name
        )


def test_a_session_of_the_library_is_silent(tmp_path: Path) -> None:
    code = """
from poincare_memory import HalfLife, Memory
with Memory.open("m.db", decay=HalfLife(24)) as mem:
    ids = mem.add_many([{"text": f"memory {i}"} for i in range(50)])
    mem.link(ids[1], ids[0])
    mem.search("memory 7", lexical_coef=0.3)
    mem.inspect("m.html")
    mem.export_file("m.md")
    mem.save("copy.db")
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
