"""Describes the public API of whichever ``poincare_memory`` is imported; runs on both sides."""

from __future__ import annotations

import dataclasses
import importlib
import inspect

MODULES = """
poincare_memory
geometry geometry.numerics geometry.lorentz geometry.poincare
embed embed.base embed.projection
temporal temporal.policies
hierarchy hierarchy.tree hierarchy.sarkar hierarchy.rsgd hierarchy.evaluation
retrieval retrieval.cones retrieval.scoring
index store store.memory store.records
viz viz.export viz.html viz.mpl
demo cli
""".split()

CONSTANTS = """
BALL_EPS ATANH_CLAMP TANH_CLAMP TINY DEFAULT_K MIN_WEIGHT FORMAT_VERSION DEMO_TREE DEMO_EVENTS
""".split()


def default_of(parameter):
    value = parameter.default
    if value is inspect.Parameter.empty:
        return "required"
    if value is None or isinstance(value, (bool, int, float, str, tuple)):
        return ["value", value]
    if isinstance(value, type):
        return ["class", value.__name__]
    return "made when called"  # dataclass factories and sentinels


def parameters_of(function):
    signature = inspect.signature(function)
    return [[p.name, p.kind.name, default_of(p)] for p in signature.parameters.values()]


def describe_class(cls):
    members = {}
    for name in dir(cls):
        if name.startswith("_") or name in dir(object):
            continue
        value = inspect.getattr_static(cls, name)
        if isinstance(value, (staticmethod, classmethod)) or inspect.isroutine(value):
            members[name] = {
                "binding": type(value).__name__
                if isinstance(value, (staticmethod, classmethod))
                else "method",
                "parameters": parameters_of(getattr(cls, name)),
            }
        else:
            members[name] = {"binding": "value"}
    described = {"kind": "class", "members": members, "fields": None, "frozen": None}
    if dataclasses.is_dataclass(cls):
        described["fields"] = [field.name for field in dataclasses.fields(cls)]
        described["frozen"] = cls.__dataclass_params__.frozen
    if not getattr(cls, "_is_protocol", False):
        described["parameters"] = parameters_of(cls)
    return described


def describe(value):
    if inspect.isclass(value):
        return describe_class(value)
    if inspect.isroutine(value):
        return {"kind": "function", "parameters": parameters_of(value)}
    return {"kind": "value"}


def public_names(module):
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = [
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    ]
    constants = [name for name in CONSTANTS if hasattr(module, name)]
    return sorted({name for name in own if not name.startswith("_")} | set(constants))


def main(modules):
    """Description of each public name of each module of ``modules`` that exists, by module."""
    found = {}
    for name in modules:
        full = "poincare_memory" if name == "poincare_memory" else f"poincare_memory.{name}"
        try:
            module = importlib.import_module(full)
        except ModuleNotFoundError as error:
            if error.name != full:
                raise
            continue
        found[name] = {public: describe(getattr(module, public)) for public in public_names(module)}
    return found


def look_up(wanted):
    """Descriptions of ``wanted``, pairs of module and name, ``None`` where it is missing."""
    found = []
    for module, name in wanted:
        full = "poincare_memory" if module == "poincare_memory" else f"poincare_memory.{module}"
        value = getattr(importlib.import_module(full), name, None)
        found.append(None if value is None else describe(value))
    return found


def constants(wanted):
    """Values of ``wanted``, pairs of module and name; classes as their names, so that they compare."""

    def plain(value):
        if isinstance(value, dict):
            return {plain(key): plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return value.__name__ if isinstance(value, type) else value

    return [
        plain(getattr(importlib.import_module(f"poincare_memory.{module}"), name)) for module, name in wanted
    ]
