"""Every public name of the reference is in ours, with the same parameters, order and defaults.

Ours may add names, members and keyword-only parameters; nothing else may differ.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import poincare_memory
from reference import api_description
from reference.harness import Reference

DESCRIPTION = Path(api_description.__file__)
CONSTANTS = [
    *(("geometry.numerics", name) for name in ("BALL_EPS", "ATANH_CLAMP", "TANH_CLAMP", "TINY")),
    ("retrieval", "DEFAULT_K"),
    ("temporal.policies", "MIN_WEIGHT"),
    ("store.memory", "FORMAT_VERSION"),
    ("demo", "DEMO_TREE"),
    ("demo", "DEMO_EVENTS"),
]


@pytest.fixture(scope="module")
def theirs(reference: Reference) -> dict[str, dict[str, Any]]:
    return reference.call_in(DESCRIPTION, "main", api_description.MODULES)


def differences(where: str, ours: list[Any], theirs: list[Any]) -> list[str]:
    """What a caller of ``theirs`` would notice on ``ours``."""
    known = [name for name, *_ in theirs]
    ours = [one for one in ours if one[0] in known or one[1] != "KEYWORD_ONLY"]  # those stand before **kwargs
    extra = [name for name, kind, _ in ours[len(theirs) :] if kind not in ("KEYWORD_ONLY", "VAR_KEYWORD")]
    same = [
        f"{where}: {mine} instead of {other}"
        for mine, other in zip(ours, theirs, strict=False)
        if mine != other
    ]
    if len(ours) < len(theirs):
        same.append(f"{where}: {[name for name, *_ in theirs[len(ours) :]]} are missing")
    return same + [f"{where}: {name} is new and not keyword-only" for name in extra]


def compare(where: str, ours: Mapping[str, Any] | None, theirs: Mapping[str, Any]) -> list[str]:
    if ours is None:
        return [f"{where} is missing"]
    if ours["kind"] != theirs["kind"]:
        return [f"{where} is a {ours['kind']} instead of a {theirs['kind']}"]
    found = []
    if "parameters" in theirs:
        found += differences(where, ours["parameters"], theirs["parameters"])
    if theirs["kind"] == "class":
        found += compare_members(where, ours, theirs)
    return found


def compare_members(where: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    found = []
    for name, other in theirs["members"].items():
        mine = ours["members"].get(name)
        if mine is None:
            if name not in (ours["fields"] or []):
                found.append(f"{where}.{name} is missing")
        elif mine["binding"] != other["binding"]:
            found.append(f"{where}.{name} is a {mine['binding']} instead of a {other['binding']}")
        elif other["binding"] != "value":
            found += differences(f"{where}.{name}", mine["parameters"], other["parameters"])
    if theirs["fields"] is not None:
        public = [field for field in theirs["fields"] if not field.startswith("_")]
        if (ours["fields"] or [])[: len(public)] != public:
            found.append(f"{where}: fields {ours['fields']} instead of {public}")
        if ours["frozen"] != theirs["frozen"]:
            found.append(f"{where}: frozen is {ours['frozen']} instead of {theirs['frozen']}")
    return found


def test_every_module_path_is_described(theirs: dict[str, dict[str, Any]]) -> None:
    assert set(theirs) >= set(api_description.MODULES)


@pytest.mark.parametrize("module", api_description.MODULES)
def test_same_names_and_signatures(module: str, theirs: dict[str, dict[str, Any]]) -> None:
    wanted = [(module, name) for name in theirs[module]]
    ours = api_description.look_up(wanted)
    problems = [
        problem
        for (_, name), mine in zip(wanted, ours, strict=True)
        for problem in compare(f"{module}.{name}", mine, theirs[module][name])
    ]
    assert problems == []


@pytest.mark.parametrize(("module", "name"), CONSTANTS)
def test_same_constants(module: str, name: str, reference: Reference) -> None:
    theirs = reference.call_in(DESCRIPTION, "constants", [(module, name)])
    assert api_description.constants([(module, name)]) == theirs


def test_all_names_load_and_are_listed() -> None:
    for name in poincare_memory.__all__:
        assert getattr(poincare_memory, name) is not None
    assert set(poincare_memory.__all__) <= set(dir(poincare_memory))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = poincare_memory.no_such_name


def modules_as_attributes(_: None) -> list[str]:
    """Dotted names of the modules that are attributes once ``import poincare_memory`` is done."""
    import types

    import poincare_memory

    found, left = [], [poincare_memory]
    while left:
        module = left.pop()
        for name, value in vars(module).items():
            if isinstance(value, types.ModuleType) and value.__name__ == f"{module.__name__}.{name}":
                found.append(value.__name__)
                left.append(value)
    return found


def test_modules_are_attributes_after_one_import(reference: Reference) -> None:
    """``import poincare_memory as pm; pm.hierarchy.sarkar`` works there, where everything is imported at once."""
    with reference.fresh() as worker:
        names = worker.call(modules_as_attributes, None)
    assert {"poincare_memory.hierarchy.sarkar", "poincare_memory.store.records"} <= set(names)
    for name in [*names, "poincare_memory.viz"]:  # each in a process where nothing else has loaded it
        subprocess.run([sys.executable, "-c", f"import poincare_memory; {name}"], check=True)
    assert {name.split(".")[1] for name in names} <= set(dir(poincare_memory))


def test_the_comparison_notices() -> None:
    theirs = [["a", "POSITIONAL_OR_KEYWORD", "required"], ["b", "POSITIONAL_OR_KEYWORD", ["value", 1]]]
    assert differences("f", theirs, theirs) == []
    assert differences("f", [*theirs, ["c", "KEYWORD_ONLY", ["value", 2]]], theirs) == []
    assert differences("f", [*theirs, ["c", "POSITIONAL_OR_KEYWORD", ["value", 2]]], theirs) != []
    assert differences("f", theirs[:1], theirs) != []
    assert differences("f", [theirs[0], ["b", "POSITIONAL_OR_KEYWORD", ["value", 2]]], theirs) != []
