"""Policies against the reference: weights, printing, equality."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reference.harness import Reference

positive = st.floats(min_value=1e-2, max_value=1e6)
leaves = st.one_of(
    st.tuples(st.just("NoDecay")),
    st.tuples(st.just("HalfLife"), positive),
    st.tuples(st.just("HalfLife"), st.integers(1, 10_000)),
    st.tuples(st.just("Ebbinghaus"), positive, st.floats(0, 5)),
    st.tuples(st.just("ValidityWindow"), st.floats(0, 1)),
)
policies = st.recursive(
    leaves, lambda part: st.lists(part, max_size=3).map(lambda parts: ("Product", *parts)), max_leaves=6
)
nearby = st.integers(-10_000_000, 1_000_000).map(lambda seconds: seconds * 1_000_003)  # microseconds
memories = st.tuples(nearby, st.integers(0, 50), st.one_of(st.none(), nearby), st.one_of(st.none(), nearby))


def evaluate(payload):  # type: ignore[no-untyped-def]
    from datetime import datetime, timedelta

    import poincare_memory as package

    def build(spec):
        name, *parameters = spec
        if name == "Product":
            parameters = [build(part) for part in parameters]
        return getattr(package, name)(*parameters)

    def moment(offset):
        return None if offset is None else now + timedelta(microseconds=offset)

    now = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    policy = build(payload["policy"])
    rows = payload["memories"]
    lists = (
        [moment(row[0]) for row in rows],
        [row[1] for row in rows],
        [moment(row[2]) for row in rows],
        [moment(row[3]) for row in rows],
    )
    return {
        "weights": policy.weight(now, *lists),
        "repr": repr(policy),
        "equal": policy == build(payload["policy"]),
    }


@given(policy=policies, memories=st.lists(memories, max_size=12))
def test_weights_and_printing(reference: Reference, policy: Any, memories: Any) -> None:
    payload = {"policy": policy, "memories": memories}
    ours, theirs = evaluate(payload), reference.call(evaluate, payload)
    np.testing.assert_allclose(ours["weights"], theirs["weights"], rtol=1e-12, atol=0)
    assert ours["weights"].dtype == theirs["weights"].dtype
    assert (ours["repr"], ours["equal"]) == (theirs["repr"], theirs["equal"])


def saved(payload):  # type: ignore[no-untyped-def]
    import json

    import poincare_memory as package

    policy = package.Product(
        package.NoDecay(), package.HalfLife(5), package.Ebbinghaus(3, 0.25), package.ValidityWindow()
    )
    memory = package.Memory(embedder=package.HashingEmbedder(dim=8), decay=policy)
    return json.loads(memory.to_json())["config"]["decay"]


def test_specs_are_those_of_its_files(reference: Reference) -> None:
    from poincare_memory import Ebbinghaus, HalfLife, NoDecay, Product, ValidityWindow
    from poincare_memory.temporal.specs import policy_spec

    policy = Product(NoDecay(), HalfLife(5), Ebbinghaus(3, 0.25), ValidityWindow())
    assert policy_spec(policy) == reference.call(saved, None)
