"""docs/durability.md names tests that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "durability.md").read_text(encoding="utf-8")


def named_tests() -> list[tuple[str, str]]:
    named: list[tuple[str, str]] = []
    for span in re.findall(r"`([^`\n]*?\.py(?:::\w+)?|…::\w+)`", PAGE):
        file, _, test = span.partition("::")
        if file.startswith("benchmarks/"):
            continue
        named.append((named[-1][0] if file == "…" else file, test))
    return named


def test_the_page_names_many() -> None:
    assert len(named_tests()) > 25


@pytest.mark.parametrize(("file", "test"), named_tests())
def test_a_named_test_is_there(file: str, test: str) -> None:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert not test or test in functions
