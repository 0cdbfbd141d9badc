"""Policies as the JSON values that files hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .policies import (
    DecayPolicy,
    Ebbinghaus,
    HalfLife,
    NoDecay,
    Product,
    ValidityWindow,
    factors_of,
    is_shallow,
)

__all__ = ["policy_from_spec", "policy_spec"]

# Type name in files, class, and its parameters in order.
_LEAVES: tuple[tuple[str, type[Any], tuple[str, ...]], ...] = (
    ("none", NoDecay, ()),
    ("half_life", HalfLife, ("hours",)),
    ("ebbinghaus", Ebbinghaus, ("stability_hours", "boost_per_access")),
    ("validity", ValidityWindow, ("outside_weight",)),
)
_BY_TYPE = {name: (kind, parameters) for name, kind, parameters in _LEAVES}
_BY_CLASS = {kind: (name, parameters) for name, kind, parameters in _LEAVES}
_PRODUCT = "product"

Spec = dict[str, Any]


def policy_spec(policy: DecayPolicy) -> Spec:
    """JSON value of a policy. Any class but the built-in ones, subclasses included, leaves only its name.

    Products that nest deeper than JSON is read are written as one product of their factors, which weighs the same.

    Examples
    --------
    >>> policy_spec(Product(HalfLife(72), ValidityWindow()))["policies"][0]
    {'type': 'half_life', 'hours': 72}
    """
    if not is_shallow(policy):
        return {"type": _PRODUCT, "policies": [_leaf_spec(factor) for factor in factors_of(policy)]}
    root: Spec = {}
    waiting: list[tuple[DecayPolicy, Spec]] = [(policy, root)]
    while waiting:
        current, spec = waiting.pop()
        if type(current) is not Product:
            spec.update(_leaf_spec(current))
            continue
        parts: list[Spec] = [{} for _ in current.policies]
        spec.update(type=_PRODUCT, policies=parts)
        waiting.extend(zip(current.policies, parts, strict=True))
    return root


def policy_from_spec(spec: Mapping[str, Any]) -> DecayPolicy:
    """Inverse of :func:`policy_spec`.

    Raises
    ------
    ValueError
        If the policy was a class of the user's own (pass ``decay=`` to load the file), or the value is not a
        policy's.

    Examples
    --------
    >>> policy_from_spec({"type": "ebbinghaus", "stability_hours": 24, "boost_per_access": 0.5})
    Ebbinghaus(stability_hours=24, boost_per_access=0.5)
    """
    specs: list[Any] = [spec]
    parts: list[list[int]] = []
    for current in specs:  # grows while it runs: a part always comes after its product
        places = []
        if isinstance(current, Mapping) and current.get("type") == _PRODUCT:
            policies = current.get("policies")
            if not isinstance(policies, list):
                raise ValueError(f"decay policy 'product': expected a list of policies, got {policies!r:.80}")
            places = list(range(len(specs), len(specs) + len(policies)))
            specs.extend(policies)
        parts.append(places)
    built: list[DecayPolicy] = [NoDecay()] * len(specs)
    for place in reversed(range(len(specs))):
        current = specs[place]
        if isinstance(current, Mapping) and current.get("type") == _PRODUCT:
            built[place] = Product(*(built[part] for part in parts[place]))
        else:
            built[place] = _leaf_from_spec(current)
    return built[0]


def _leaf_spec(policy: DecayPolicy) -> Spec:
    known = _BY_CLASS.get(type(policy))
    if known is None:
        name = type(policy).__name__
        return {"type": f"custom {name}" if name in _BY_TYPE or name == _PRODUCT else name}
    name, parameters = known
    return {"type": name, **{parameter: getattr(policy, parameter) for parameter in parameters}}


def _leaf_from_spec(spec: Any) -> DecayPolicy:
    if not isinstance(spec, Mapping) or not isinstance(spec.get("type"), str):
        raise ValueError(f"decay policy: expected a JSON object with a type, got {spec!r:.80}")
    name = spec["type"]
    if name not in _BY_TYPE:
        raise ValueError(
            f"the decay policy {name!r} is not a built-in one and cannot be restored: pass decay= to load it"
        )
    kind, parameters = _BY_TYPE[name]
    missing = [parameter for parameter in parameters if parameter not in spec]
    if missing:
        raise ValueError(f"decay policy {name!r}: {missing[0]} is missing")
    try:
        policy: DecayPolicy = kind(**{parameter: spec[parameter] for parameter in parameters})
    except (TypeError, ValueError) as error:
        raise ValueError(f"decay policy {name!r}: {error}") from error
    return policy
