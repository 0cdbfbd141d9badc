"""The public API: what the pages of the API reference show, and what the packages export."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("*.md"))
PACKAGES = """
poincare_memory poincare_memory.geometry poincare_memory.embed poincare_memory.temporal poincare_memory.hierarchy
poincare_memory.hierarchy.io poincare_memory.retrieval poincare_memory.store poincare_memory.viz
poincare_memory.backends poincare_memory.geometry.numerics poincare_memory.temporal.policies
""".split()

_DIRECTIVE = re.compile(r"^::: ([\w.]+)\n((?:    .*\n|\n)*)", re.MULTILINE)
_MEMBERS = re.compile(r"members:\s*(?:\[([^\]]*)\]|((?:\n\s+- \w+)+))")


def directives(page: str) -> Iterator[tuple[str, list[str]]]:
    """Dotted names that a page shows, with the members it chooses (none: all)."""
    for found in _DIRECTIVE.finditer(page):
        members = _MEMBERS.search(found[2])
        yield found[1], re.findall(r"\w+", members[1] or members[2]) if members else []


def resolved(path: str) -> object:
    """The object of a dotted name."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        parent, _, name = path.rpartition(".")
        if error.name != path:
            raise
        return getattr(importlib.import_module(parent), name)


def shown_on(page: Path) -> dict[str, object]:
    """Functions and classes of a page, by dotted name."""
    found: dict[str, object] = {}
    for path, members in directives(page.read_text(encoding="utf-8")):
        target = resolved(path)
        if inspect.ismodule(target):
            names = members or [name for name, value in vars(target).items() if is_own(value, path)]
            found |= {f"{path}.{name}": getattr(target, name) for name in names}
        else:
            found[path] = target
    return found


def exported(package: str) -> dict[str, object]:
    """What a package lists in ``__all__``, constants left out."""
    module = importlib.import_module(package)
    found = {f"{package}.{name}": getattr(module, name) for name in module.__all__}
    return {
        name: value for name, value in found.items() if inspect.isclass(value) or inspect.isroutine(value)
    }


def is_own(value: object, module: str) -> bool:
    return (inspect.isclass(value) or inspect.isroutine(value)) and value.__module__ == module


def is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith("poincare_memory")


@dataclass(frozen=True)
class Member:
    """A function, a class, or a method with its class."""

    path: str
    value: object
    owner: type | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


def members(path: str, value: object) -> list[Member]:
    """A function; or a class and its public methods, those of its bases of ours too."""
    if not inspect.isclass(value):
        return [Member(path, value)]
    found: dict[str, object] = {}
    for part in reversed([part for part in value.__mro__ if is_ours(part)]):
        found |= vars(part)
    plain = {name: getattr(one, "__func__", one) for name, one in found.items() if name[0] != "_"}
    methods = {name: one for name, one in plain.items() if inspect.isfunction(one) and is_ours(one)}
    return [Member(path, value)] + [Member(f"{path}.{name}", one, value) for name, one in methods.items()]
