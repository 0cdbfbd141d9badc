"""README and documentation tell the truth: what they show runs, and prints what they show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import optional
from docs.pages import LOOKED_UP, ROOT, RUN, blocks, commands, is_run, matches, outputs, pages

PAGES = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages()]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_is_shown(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    optional.needs(*optional.PAGES.get(str(page.relative_to(ROOT)), ()))
    monkeypatch.setattr("webbrowser.open", lambda *_: True)
    for block, printed in outputs(page):
        if block.shown is not None:
            assert matches(block.shown, printed), (
                f"line {block.line} prints:\n{printed}\nshown:\n{block.shown}"
            )


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_run_or_exist(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind not in ("sh", "bash", "shell", "console"):
            continue
        assert block.kind == "sh", f"line {block.line}: shell blocks are called sh"
        for command in commands(block.body):
            words = shlex.split(command)
            assert words[0] in RUN | LOOKED_UP, f"line {block.line}: {command}"
            if words[0] == "make":
                assert set(words[1:2]) <= make_targets(), f"line {block.line}: no such target: {command}"
            if words[0] == "pip":
                named = set(",".join(re.findall(r"\[([\w,-]+)\]", command)).split(",")) - {""}
                assert named <= extras(), f"line {block.line}: no such extra: {command}"


def make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def extras() -> set[str]:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = project.split("[project.optional-dependencies]")[1].split("\n[")[0]
    return set(re.findall(r"^([\w-]+) *= *\[", section, re.MULTILINE))


def test_every_command_is_documented() -> None:
    guide = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
    from poincare_memory.cli import _parser

    choices = next(action.choices for action in _parser()._actions if action.dest == "cmd")
    assert choices is not None
    missing = [name for name in choices if f"poincare-memory {name} " not in guide]
    assert missing == []


def test_every_public_name_is_in_the_reference() -> None:
    import poincare_memory

    reference = "".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    missing = [
        name
        for name in poincare_memory.__all__
        if name[0] != "_" and not re.search(rf"\b{name}\b", reference)
    ]
    assert missing == []


def test_every_member_of_memory_is_in_the_reference() -> None:
    from poincare_memory import Memory

    page = (ROOT / "docs" / "reference" / "memory.md").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- (\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(name for name in dir(Memory) if name[0] != "_")


def test_every_page_is_in_the_navigation() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    docs = ROOT / "docs"
    missing = [
        str(page.relative_to(docs))
        for page in docs.rglob("*.md")
        if str(page.relative_to(docs)) not in settings
    ]
    assert missing == []


LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link, image in LINK.findall(text):
        target, _, anchor = (link or image).partition("#")
        if re.match(r"[a-z]+:", target):
            assert target.startswith("https://"), target
            continue
        there = (page.parent / target).resolve() if target else page
        if image and there.parent == ROOT / "docs" / "figures":
            assert there.with_suffix(".py").exists(), f"{image}: no program draws it"
            continue
        assert there.exists(), f"{target}: no such file"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as its renderer makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_figures_name_the_program_that_draws_them() -> None:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for image in re.findall(r"!\[[^\]]*\]\((\S+?figures/(\w+)\.svg)\)", text):
            assert f"python docs/figures/{image[1]}.py" in text, f"{page.name}: {image[0]}"


def test_blocks_are_found_with_their_output() -> None:
    text = "a\n```python\nprint(1)\n```\n\n```text\n1\n```\n```sh\nx\n```\nwords\n```text\nno\n```\n"
    assert [(block.kind, block.shown, block.line) for block in blocks(text)][:3:2] == [
        ("python", "1\n", 2), ("sh", None, 9),
    ]  # fmt: skip
    assert matches("a ... c\n", "a b\nb c\n") and not matches("a\n", "b\n")
    assert is_run("poincare-memory tree x.db") and not is_run("pip install x")
