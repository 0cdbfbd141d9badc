"""Metadata: what strict JSON can write, copied in."""

from __future__ import annotations

import json
from collections import OrderedDict
from datetime import datetime
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory.store.metadata import DEEPEST, copy_metadata

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON))
def test_what_json_writes_comes_back_the_same(meta: dict[str, Any]) -> None:
    copied = copy_metadata(meta) or {}
    assert copied == meta
    assert json.dumps(copied, allow_nan=False) == json.dumps(meta, allow_nan=False)
    waiting: list[tuple[Any, Any]] = [(meta, copied)]
    for mine, theirs in waiting:
        assert mine is not theirs
        pairs = (
            zip(mine.values(), theirs.values(), strict=True)
            if isinstance(mine, dict)
            else zip(mine, theirs, strict=True)
        )
        waiting.extend(pair for pair in pairs if isinstance(pair[0], dict | list))


class Colour(str, Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (Level.HIGH, 3),
        ((1, (2, [3])), (1, (2, [3]))),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
    ],
)
def test_relatives_of_json_types_become_plain(value: Any, kept: Any) -> None:
    copied = copy_metadata({"v": value})
    assert copied == {"v": kept}
    assert type(copied["v"]) is type(kept)
    json.dumps(copied, allow_nan=False)


def test_a_text_enum_keeps_its_text() -> None:
    assert json.loads(json.dumps(copy_metadata({"v": Colour.RED}))) == {"v": "red"}


def nested(depth: int) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    for _ in range(depth - 1):
        meta = {"d": meta}
    return meta


def endless() -> dict[str, Any]:
    meta: dict[str, Any] = {"list": []}
    meta["list"].append(meta)
    return meta


@pytest.mark.parametrize(
    ("meta", "error", "message"),
    [
        ({"v": datetime(2026, 1, 1)}, TypeError, r"meta\['v'\] is a datetime.*isoformat"),
        ({"v": {1, 2}}, TypeError, r"meta\['v'\] is a set"),
        ({"v": [0, b"x"]}, TypeError, r"meta\['v'\]\[1\] is a bytes"),
        ({"v": np.zeros(2)}, TypeError, r"meta\['v'\] is a ndarray"),
        ({"v": object()}, TypeError, "is a object"),
        ({"v": 1j}, TypeError, "complex"),
        ({"v": float("nan")}, ValueError, r"meta\['v'\] is nan"),
        ({"v": {"w": [float("-inf")]}}, ValueError, r"meta\['v'\]\['w'\]\[0\] is -inf"),
        ({"v": np.float64("inf")}, ValueError, "is inf"),
        ({1: "x"}, TypeError, "key 1 of type int"),
        ({"v": {None: 1}}, TypeError, r"meta\['v'\] has the key None"),
        ({"v": "\udcff"}, ValueError, "lone surrogate"),
        ({"\ud800": 1}, ValueError, "lone surrogate"),
        ({"v": 10**5000}, ValueError, "4,000 digits"),
        (nested(DEEPEST + 1), ValueError, "deeper than"),
        (endless(), ValueError, "contains itself"),
        ([("a", 1)], TypeError, "must be a dict"),
        ("text", TypeError, "must be a dict"),
        (5, TypeError, "must be a dict"),
    ],
)
def test_what_json_cannot_write_is_refused(meta: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        copy_metadata(meta)


def test_the_deepest_nesting_allowed() -> None:
    json.dumps(copy_metadata(nested(DEEPEST)))


@pytest.mark.parametrize("empty", [None, {}])
def test_nothing_is_none(empty: Any) -> None:
    assert copy_metadata(empty) is None
