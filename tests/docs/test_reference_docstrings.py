"""Everything public says what it takes, what it gives, and shows it: the sections of numpydoc.

That the examples run, ``tests/test_docstrings.py`` tests.
"""

from __future__ import annotations

import enum
import inspect
import re
from itertools import pairwise
from pathlib import Path

import pytest

import optional
from docs import api

NEEDS = {"integrations": ("langchain_core", "langgraph", "llama_index.core", "mcp")}  # a page's modules
NOTHING = (None, "None", inspect.Signature.empty, "NoReturn", "Never")


def sections(text: str) -> dict[str, str]:
    """Titles of a docstring's sections with what stands in them."""
    lines = text.splitlines()
    starts = [
        number
        for number, (line, rule) in enumerate(pairwise(lines))
        if line.strip() and rule and set(rule) == {"-"}
    ]
    limits = pairwise([*starts, len(lines)])
    return {lines[start]: "\n".join(lines[start + 2 : end]) for start, end in limits}


def described(section: str) -> set[str]:
    """Names that a section's entries begin with: ``x, y : array``, ``*lists``."""
    entries = [line.partition(" :")[0] for line in section.splitlines() if line and not line[0].isspace()]
    return {name.strip().lstrip("*") for entry in entries for name in entry.split(",")}


def unnamed(parameters: list[str], known: set[str]) -> list[str]:
    return [
        name for name in parameters if name not in ("self", "cls") and name[0] != "_" and name not in known
    ]


def missing(member: api.Member) -> list[str]:
    """What numpydoc asks for, and is not there."""
    if inspect.isclass(member.value):
        return missing_of_class(member.value)
    text = inspect.getdoc(member.value) or ""
    found = sections(text)
    signature = inspect.signature(member.value)  # type: ignore[arg-type]  # no class: a function or method
    gaps = unnamed(list(signature.parameters), described(found.get("Parameters", "")))
    if signature.return_annotation not in NOTHING and not {"Returns", "Yields"} & set(found):
        gaps.append("Returns")
    return gaps if shows_an_example(member, text) else [*gaps, "Examples"]


def missing_of_class(kind: type) -> list[str]:
    if issubclass(kind, (BaseException, enum.Enum)) or is_protocol(kind):
        return []
    found = sections(inspect.getdoc(kind) or "")
    known = described(found.get("Parameters", "")) | described(found.get("Attributes", ""))
    return unnamed(constructor_parameters(kind), known)


def constructor_parameters(kind: type) -> list[str]:
    """Those of our own constructor, or the fields that we add to a framework's model."""
    constructor = kind.__init__  # type: ignore[misc]  # looked at, not called
    if api.is_ours(constructor):
        return list(inspect.signature(constructor).parameters)
    return [
        name for part in kind.__mro__ if api.is_ours(part) for name in vars(part).get("__annotations__", ())
    ]


def shows_an_example(member: api.Member, text: str) -> bool:
    """In its own docstring, in that of its class, or in that of the method it is a twin of (``As `search`, ...``)."""
    if ">>>" in sections(text).get("Examples", "") or re.match(r"(As|.*, as) `", text):
        return True
    kinds = member.owner.__mro__ if member.owner else ()
    docstrings = [inspect.cleandoc(kind.__doc__ or "") for kind in kinds if api.is_ours(kind)]
    shown = "".join(sections(docstring).get("Examples", "") for docstring in docstrings)
    return f".{member.name}(" in shown or any(is_protocol(kind) for kind in kinds[:1])


def is_protocol(kind: type) -> bool:
    """A class that says what others must be like: those show it."""
    return bool(getattr(kind, "_is_protocol", False))


def gaps_of(objects: dict[str, object]) -> dict[str, list[str]]:
    members = [member for name, value in objects.items() for member in api.members(name, value)]
    gaps = {member.path: missing(member) for member in members}
    return {path: gap for path, gap in gaps.items() if gap}


@pytest.mark.parametrize("page", api.PAGES, ids=lambda page: page.stem)
def test_pages_of_the_reference(page: Path) -> None:
    optional.needs(*NEEDS.get(page.stem, ()))
    objects = api.shown_on(page)
    assert objects
    assert gaps_of(objects) == {}


@pytest.mark.parametrize("package", api.PACKAGES)
def test_exported_names(package: str) -> None:
    objects = api.exported(package)
    assert objects
    assert gaps_of(objects) == {}


def scaled(x: float, factor: float) -> float:
    """A product.

    Parameters
    ----------
    x : float
    """
    return x * factor


def test_gaps_are_noticed() -> None:
    assert gaps_of({"scaled": scaled}) == {"scaled": ["factor", "Returns", "Examples"]}
