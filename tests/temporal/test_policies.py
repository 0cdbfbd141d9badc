from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import Memory
from poincare_memory.temporal import (
    MIN_WEIGHT,
    DecayPolicy,
    Ebbinghaus,
    HalfLife,
    NoDecay,
    Product,
    ValidityWindow,
    generative_agents_recency,
)
from poincare_memory.temporal.compiled import checked_weights, compile_policy
from poincare_memory.temporal.policies import ages_hours
from poincare_memory.temporal.specs import policy_from_spec, policy_spec

UTC = timezone.utc
NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
BUILT_IN: list[Any] = [
    NoDecay(),
    HalfLife(24),
    HalfLife(math.inf),
    Ebbinghaus(24, 0.25),
    ValidityWindow(0.25),
    Product(),
    Product(HalfLife(24), Product(ValidityWindow(), NoDecay()), Ebbinghaus()),
]


class Constant:
    """A policy of the user's own, which returns what it was given."""

    def __init__(self, returned: Any) -> None:
        self.returned = returned

    def weight(self, *lists: Any) -> Any:
        return self.returned


def weights(policy: DecayPolicy, *ages: timedelta) -> list[float]:
    n = len(ages)
    times = [NOW - age for age in ages]
    return [float(weight) for weight in policy.weight(NOW, times, [0] * n, [None] * n, [None] * n)]


def test_a_weight_halves_every_half_life() -> None:
    assert weights(HalfLife(24), *(n * DAY for n in range(5))) == [1, 0.5, 0.25, 0.125, 0.0625]
    assert weights(generative_agents_recency(), timedelta(hours=1)) == pytest.approx([0.995], abs=1e-15)


def test_the_future_counts_fully_and_the_past_never_vanishes() -> None:
    for policy in (HalfLife(1), Ebbinghaus(1), Product(HalfLife(1), Ebbinghaus(1))):
        assert weights(policy, -DAY, 10_000 * DAY) == [1.0, MIN_WEIGHT]


def test_accesses_slow_forgetting_down() -> None:
    times, bounds = [NOW - DAY] * 3, [None] * 3
    got = Ebbinghaus(24, 0.5).weight(NOW, times, [0, 2, 1000], bounds, bounds)
    np.testing.assert_allclose(got, np.exp([-1.0, -0.5, -1 / 501]), rtol=1e-15)


def test_a_window_is_inclusive_and_open_where_a_bound_is_missing() -> None:
    valid_from = [None, NOW, NOW + DAY, NOW - DAY, None]
    valid_until = [None, NOW, None, NOW - DAY, NOW - timedelta(microseconds=1)]
    got = ValidityWindow(0.25).weight(NOW, [NOW] * 5, [0] * 5, valid_from, valid_until)
    assert got.tolist() == [1, 1, 0.25, 0.25, 0.25]


def test_naive_moments_are_utc() -> None:
    naive = NOW.replace(tzinfo=None)
    assert HalfLife(24).weight(naive, [naive - DAY], [0], [None], [None]).tolist() == [0.5]
    assert ages_hours(naive, [NOW - DAY, NOW + DAY]).tolist() == [24.0, -24.0]


@pytest.mark.parametrize("policy", BUILT_IN, ids=repr)
def test_no_memories_no_weights(policy: DecayPolicy) -> None:
    got = policy.weight(NOW, [], [], [], [])
    assert got.dtype == np.float64
    assert got.shape == (0,)


@pytest.mark.parametrize("policy", BUILT_IN, ids=repr)
def test_policies_are_values(policy: Any) -> None:
    assert isinstance(policy, DecayPolicy)
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert hash(pickle.loads(pickle.dumps(policy))) == hash(policy)
    for name in ("hours", "policies", "new"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(policy, name, 3)


def test_how_policies_print() -> None:
    assert repr(HalfLife()) == "HalfLife(hours=720)"
    single: Any = np.float32(3)
    assert repr(HalfLife(single)) == "HalfLife(hours=3.0)"
    assert repr(Product(NoDecay(), Ebbinghaus())) == (
        "Product(policies=(NoDecay(), Ebbinghaus(stability_hours=168, boost_per_access=0.5)))"
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: HalfLife(0),
        lambda: HalfLife(math.nan),
        lambda: HalfLife(-math.inf),
        lambda: Ebbinghaus(0),
        lambda: Ebbinghaus(math.nan),
        lambda: Ebbinghaus(24, -0.1),
        lambda: Ebbinghaus(24, math.nan),
        lambda: Ebbinghaus(24, math.inf),
        lambda: ValidityWindow(5),
        lambda: ValidityWindow(-1e-9),
        lambda: ValidityWindow(math.nan),
    ],
)
def test_numbers_that_make_no_weight_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"hours|boost_per_access|outside_weight"):
        make()


@pytest.mark.parametrize("value", ["24", None, True, 1j, [24]])
def test_what_is_no_number_is_refused(value: Any) -> None:
    for make in (HalfLife, Ebbinghaus, ValidityWindow):
        with pytest.raises(TypeError, match="expected a number"):
            make(value)


@pytest.mark.parametrize("value", [3, None, HalfLife])
def test_a_product_takes_policies_only(value: Any) -> None:
    with pytest.raises(TypeError, match=r"policies\[1\]: expected a policy"):
        Product(HalfLife(), value)


@pytest.mark.parametrize("policy", [Ebbinghaus(), ValidityWindow(), Product(Ebbinghaus(), ValidityWindow())])
def test_lists_of_unequal_length_are_refused(policy: DecayPolicy) -> None:
    with pytest.raises(ValueError, match="expected 2 rows"):
        policy.weight(NOW, [NOW, NOW], [0], [None], [None])


def test_a_product_multiplies_its_own_and_foreign_policies() -> None:
    policy = Product(HalfLife(24), Constant([0.5, 0.1]), Product(Constant([1.0, 0.0])))
    np.testing.assert_allclose(weights(policy, DAY, DAY), [0.25, MIN_WEIGHT], rtol=1e-15)


def test_compiled_rows_and_weights_agree_with_the_product_of_the_parts() -> None:
    rng = np.random.default_rng(3)
    parts: list[DecayPolicy] = [HalfLife(200), Ebbinghaus(100, 2.0), ValidityWindow(0.03)]
    times = [NOW + timedelta(hours=float(h)) for h in rng.uniform(-2000, 50, 200)]
    counts = rng.integers(0, 5, 200).tolist()
    starts = [None if h > 0 else NOW + timedelta(hours=float(h)) for h in rng.uniform(-50, 50, 200)]
    ends = [None if h < 0 else NOW + timedelta(hours=float(h) - 10) for h in rng.uniform(-50, 50, 200)]
    expected = np.ones(200)
    for part in parts:
        expected *= part.weight(NOW, times, counts, starts, ends)
    got = Product(parts[0], Product(*parts[1:])).weight(NOW, times, counts, starts, ends)
    np.testing.assert_allclose(got, np.maximum(expected, MIN_WEIGHT), rtol=1e-13)


def test_only_the_built_in_classes_compile() -> None:
    class Slower(HalfLife):
        pass

    table = compile_policy(Product(HalfLife(2), Product(Ebbinghaus(3, 0.5)), NoDecay(), ValidityWindow(0.1)))
    assert table is not None
    assert table.tolist() == [[0, 2, 0], [1, 3, 0.5], [2, 0.1, 0]]
    nothing = compile_policy(NoDecay())
    assert nothing is not None
    assert nothing.shape == (0, 3)
    for policy in (Slower(3), Constant([1.0]), Product(HalfLife(2), Product(Slower(3)))):
        assert compile_policy(policy) is None


def test_deep_nests_need_no_stack() -> None:
    policy: DecayPolicy = HalfLife(24)
    for _ in range(20_000):
        policy = Product(policy)
    assert weights(policy, DAY) == [0.5]
    table = compile_policy(policy)
    assert table is not None
    assert table.tolist() == [[0, 24, 0]]
    assert weights(policy_from_spec(policy_spec(policy)), DAY) == [0.5]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([0.5], r"expected 2 weights, shape \(2,\), got shape \(1,\)"),
        (0.5, r"got shape \(\)"),
        ([[0.5, 0.5]], r"got shape \(1, 2\)"),
        ([0.5, math.nan], r"got nan at place 1"),
        ([2.0, 0.5], r"got 2.0 at place 0"),
        ([-0.1, 0.5], r"got -0.1 at place 0"),
        ([math.inf, 0.5], r"got inf at place 0"),
        (None, "weights"),
        ((w for w in (0.5, 0.5)), "got generator"),
        (["a", "b"], "expected an array of 2 weights"),
    ],
)
def test_a_foreign_policy_that_returns_garbage_is_named(returned: Any, message: str) -> None:
    lists: Any = ([NOW, NOW], [0, 0], [None, None], [None, None])
    with pytest.raises(ValueError, match=rf"^Constant\.weight: .*{message}"):
        checked_weights(Constant(returned), NOW, *lists)
    with pytest.raises(ValueError, match=r"^Constant\.weight: "):
        Product(HalfLife(), Constant(returned)).weight(NOW, *lists)


def test_weights_of_a_foreign_policy_are_a_floored_copy() -> None:
    own = np.array([0.0, 1e-9, 0.5, 1.0], dtype=np.float32)
    lists: Any = ([NOW] * 4, [0] * 4, [None] * 4, [None] * 4)
    got = checked_weights(Constant(own), NOW, *lists)
    assert got.tolist() == [MIN_WEIGHT, MIN_WEIGHT, 0.5, 1.0]
    assert own[0] == 0


@pytest.mark.parametrize("policy", BUILT_IN, ids=repr)
def test_specs_restore_built_in_policies(policy: DecayPolicy) -> None:
    assert policy_from_spec(policy_spec(policy)) == policy


def test_a_policy_of_ones_own_is_never_restored_as_something_else() -> None:
    class Slower(HalfLife):
        pass

    half_life = type("half_life", (), {"weight": lambda self, *lists: np.ones(0)})
    assert policy_spec(Slower(3)) == {"type": "Slower"}
    for policy in (Slower(3), Product(HalfLife(3), Slower(3)), half_life()):
        with pytest.raises(ValueError, match="pass decay= to load it"):
            policy_from_spec(policy_spec(policy))


@pytest.mark.parametrize(
    "spec",
    [
        None,
        [],
        {},
        {"type": 3},
        {"type": []},
        {"type": "half_life"},
        {"type": "half_life", "hours": "x"},
        {"type": "half_life", "hours": -1},
        {"type": "validity", "outside_weight": math.nan},
        {"type": "product"},
        {"type": "product", "policies": {}},
        {"type": "product", "policies": [{"type": "none"}, 3]},
    ],
)
def test_damaged_specs_are_value_errors(spec: Any) -> None:
    with pytest.raises(ValueError, match="decay policy"):
        policy_from_spec(spec)


def test_integers_that_no_float_holds_are_value_errors() -> None:
    for kind, name in (
        (HalfLife, "hours"),
        (Ebbinghaus, "stability_hours"),
        (ValidityWindow, "outside_weight"),
    ):
        with pytest.raises(ValueError, match=name):
            kind(10**400)
    with pytest.raises(ValueError, match="boost_per_access"):
        Ebbinghaus(1, 10**400)


@pytest.mark.parametrize("levels", [1, 100, 20_000])
def test_nests_are_written_shown_and_copied(levels: int, tmp_path: Path) -> None:
    policy: Any = Product(HalfLife(24), ValidityWindow(0.5))
    for _ in range(levels - 1):
        policy = Product(policy, NoDecay())
    table = compile_policy(policy)
    assert table is not None
    mem = Memory(decay=policy)
    mem.add("a")
    mem.save(tmp_path / "m.db")
    assert "HalfLife" in repr(mem)
    for again in (
        policy_from_spec(json.loads(json.dumps(policy_spec(policy)))),
        pickle.loads(pickle.dumps(policy)),
        copy.deepcopy(policy),
        Memory.load(tmp_path / "m.db").decay,
    ):
        compiled = compile_policy(again)
        assert compiled is not None
        assert compiled.tolist() == table.tolist()
        if levels <= 100:
            assert again == policy


@pytest.mark.parametrize("returned", [["0.5", "1"], [0.5 + 1j, 1.0], [b"1", b"1"], np.array(["0.5", "1"])])
def test_weights_of_a_policy_are_real_numbers(returned: Any) -> None:
    class Odd:
        def weight(self, *_: Any) -> Any:
            return returned

    mem = Memory(decay=Odd())
    mem.add_many([{"text": "a"}, {"text": "b"}])
    with pytest.raises(ValueError, match=r"Odd.weight: expected an array of 2 weights"):
        mem.search("a")
