"""Loops over what is to be added: they do the ordinary, and leave everything else to those who can say what it is."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory._core import _kernels
from poincare_memory.store.metadata import copy_metadata

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["\ud800", "é"])
)


class Text(str):
    __slots__ = ()


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=3), SCALARS | st.lists(SCALARS, max_size=2), max_size=4))
def test_what_is_copied_is_what_json_writes_and_equal(meta: dict[str, Any]) -> None:
    copied = _kernels.plain_copy(meta)
    if copied is None:
        return
    assert copied == meta and copied is not meta
    assert json.loads(json.dumps(copied, allow_nan=False)) == meta
    assert list(map(type, copied.values())) == list(map(type, meta.values()))
    assert copy_metadata(meta) == (meta or None)


@pytest.mark.parametrize(
    "odd",
    [
        math.nan, -math.inf, 2**63, "é", "\ud800", [1], {"a": 1}, (1,), Text("a"), np.float64(1), np.int64(1),
        np.bool_(1), b"a",
    ],
)  # fmt: skip
def test_what_needs_a_closer_look_is_not_copied(odd: Any) -> None:
    assert _kernels.plain_copy({"a": 1, "b": odd}) is None
    assert _kernels.plain_copy({"z": 1, odd if isinstance(odd, str) else 3: 1}) is None
    assert _kernels.plain_copy(None) is None


def test_ordinary_metadata_is_copied() -> None:
    meta = {"a": 1, "b": -(2**63), "c": 1.5, "d": None, "e": True, "f": "text"}
    assert _kernels.plain_copy(meta) == meta
    assert copy_metadata({}) is None


def test_fields_of_items() -> None:
    names, defaults = ("text", "pin"), (None, False)
    items: list[Any] = [{"text": "a"}, {"pin": True, "text": "b"}, {}]
    assert _kernels.field_lists(items, names, defaults) == [["a", "b", None], [False, True, False]]
    assert _kernels.field_lists([], names, defaults) == [[], []]
    for odd in ({"text": "a", "other": 1}, {1: 2}, [("text", "a")], None):
        assert _kernels.field_lists([*items, odd], names, defaults) is None
