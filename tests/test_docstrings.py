"""Every example in a docstring runs and prints what it shows; every public object has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType

import numpy as np
import pytest

import poincare_memory

# Native modules carry no docstrings of their own; integrations need packages that are not there.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(poincare_memory.__path__, "poincare_memory.")
    if not module.name.startswith("poincare_memory._core.")
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", ["poincare_memory", *MODULES])
def test_examples_run(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # an example may write a file
    module = importlib.import_module(name)
    with np.printoptions(legacy=False):
        outcome = doctest.testmod(module, optionflags=OPTIONS)
    assert outcome.failed == 0, "see the captured output"


def public_objects(module: ModuleType):
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if name.startswith("_") or not own or not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        yield name, value
        if inspect.isclass(value):
            for member, function in vars(value).items():
                if not member.startswith("_") and (
                    inspect.isroutine(function) or isinstance(function, property)
                ):
                    yield f"{name}.{member}", function


@pytest.mark.parametrize("name", MODULES)
def test_public_objects_have_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} says nothing about itself"
    assert [public for public, value in public_objects(module) if not inspect.getdoc(value)] == []


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
