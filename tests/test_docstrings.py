"""Every example in a docstring runs and prints what it shows; every public object has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from itertools import pairwise

import numpy as np
import pytest

import optional
import poincare_memory
from reference.api_description import MODULES as PUBLIC_PATHS

# Native modules carry no docstrings of their own.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(poincare_memory.__path__, "poincare_memory.")
    if not module.name.startswith("poincare_memory._core.")
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", ["poincare_memory", *MODULES])
def test_examples_run(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # an example may write a file
    optional.needs(*optional.MODULES.get(name, ()))
    module = importlib.import_module(name)
    with np.printoptions(legacy=False):
        outcome = doctest.testmod(module, optionflags=OPTIONS)
    assert outcome.failed == 0, "see the captured output"


def ours(value: object) -> bool:
    return value.__module__.startswith("poincare_memory")


def undocumented(name: str, value: object) -> list[str]:
    """``name``, or members of it, where they are ours and have no docstring."""
    if not (inspect.isclass(value) or inspect.isroutine(value)) or not ours(value):
        return []
    found = [] if inspect.getdoc(value) else [name]
    parts = value.__mro__[:-1] if inspect.isclass(value) else ()
    members = [member for part in parts if ours(part) for member in vars(part).items()]
    return found + [
        f"{name}.{member}"
        for member, function in members
        if not member.startswith("_")
        and (inspect.isroutine(function) or isinstance(function, property))
        and not inspect.getdoc(function)
    ]


@pytest.mark.parametrize("name", MODULES)
def test_modules_say_what_they_are(name: str) -> None:
    optional.needs(*optional.MODULES.get(name, ()))
    assert importlib.import_module(name).__doc__


@pytest.mark.parametrize("path", PUBLIC_PATHS)
def test_public_objects_have_docstrings(path: str) -> None:
    module = importlib.import_module(
        "poincare_memory" if path == "poincare_memory" else f"poincare_memory.{path}"
    )
    names = [name for name in vars(module) if not name.startswith("_")]
    assert [missing for name in names for missing in undocumented(name, getattr(module, name))] == []


def test_the_main_names_show_an_example() -> None:
    without = [
        name
        for name in poincare_memory.__all__
        if name not in {"__version__", "DecayPolicy", "Embedder"}  # protocols: their implementations show it
        and ">>>" not in (inspect.getdoc(getattr(poincare_memory, name)) or "")
        and not members_show_an_example(getattr(poincare_memory, name))
    ]
    assert without == []


def members_show_an_example(value: object) -> bool:
    if not inspect.isclass(value):
        return False
    return any(">>>" in (inspect.getdoc(member) or "") for member in vars(value).values())


def methods(kind: type) -> dict[str, object]:
    """Public methods of a class, those of its bases too; coroutines say which method they are the twins of."""
    found: dict[str, object] = {}
    for part in reversed([part for part in kind.__mro__ if ours(part)]):
        found.update(vars(part))
    plain = {name: getattr(value, "__func__", value) for name, value in found.items() if name[0] != "_"}
    return {
        name: value
        for name, value in plain.items()
        if inspect.isfunction(value) and not inspect.iscoroutinefunction(value)
    }


def missing_sections(function: object) -> list[str]:
    """What numpydoc asks for, and is not there."""
    text = inspect.getdoc(function) or ""
    signature = inspect.signature(function)  # type: ignore[arg-type]  # a function, as `methods` chose
    sections = {line for line, rule in pairwise(text.splitlines()) if rule and set(rule) == {"-"}}
    names = [name for name in signature.parameters if name not in ("self", "cls")]
    listed = text.partition("Parameters\n")[2].partition("\n\n")[0]
    missing = [name for name in names if not re.search(rf"\b{re.escape(name)}\b", listed)]
    if signature.return_annotation not in ("None", None) and "Returns" not in sections:
        missing.append("Returns")
    return missing + ([] if "Examples" in sections else ["Examples"])


@pytest.mark.parametrize("kind", [poincare_memory.Memory, poincare_memory.PoincareBall])
def test_methods_say_what_they_take_and_give_with_an_example(kind: type) -> None:
    found = {name: missing_sections(function) for name, function in methods(kind).items()}
    assert len(found) > 20
    assert {name: missing for name, missing in found.items() if missing} == {}
