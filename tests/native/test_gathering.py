"""Loops over what is to be added: they do the ordinary, and leave everything else to those who can say what it is."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

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


@given(
    st.one_of(
        st.text(), st.text(st.characters(max_codepoint=127)), st.text(" \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0")
    )
)
def test_plain_text_is_never_blank(text: str) -> None:
    if _kernels.is_plain_text(text):
        assert text.strip() and text.isascii()
    elif text.isascii():
        assert not any(letter >= "!" for letter in text)


def test_plain_text_is_of_no_class_derived_from_str() -> None:
    assert _kernels.is_plain_text("a") and not _kernels.is_plain_text(Text("a"))
    assert not _kernels.is_plain_text(b"a") and not _kernels.is_plain_text(None)


@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        hnp.array_shapes(max_dims=3, max_side=5),
        elements=st.floats(width=16),
    ),
    st.integers(0, 5),
    st.integers(1, 5),
)
def test_a_finite_copy_is_one_of_a_finite_matrix(array: Any, rows: int, dim: int) -> None:
    for given_array in (array, array.T):
        copied = _kernels.finite_copy(given_array, rows, dim)
        expected = given_array.shape == (rows, dim) and np.isfinite(given_array).all()
        assert (copied is not None) == expected
        if copied is not None:
            assert copied.flags.c_contiguous and copied.flags.owndata and copied.dtype == array.dtype
            assert np.array_equal(copied, given_array) and not np.shares_memory(copied, given_array)


@pytest.mark.parametrize("where", [0, 5000, -1])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_no_finite_copy_of_a_large_matrix_with_one_number_that_is_not(where: int, odd: float) -> None:
    array = np.zeros((100, 100), np.float32)
    assert _kernels.finite_copy(array, 100, 100) is not None
    array.flat[where] = odd
    assert _kernels.finite_copy(array, 100, 100) is None


def test_no_finite_copy_of_what_is_no_array_of_ordinary_floats() -> None:
    class Derived(np.ndarray):  # type: ignore[type-arg]
        pass

    ones = np.ones((1, 2))
    for odd in (
        ones.tolist(),
        None,
        ones.astype(">f8"),
        ones.astype(np.float16),
        ones.astype(int),
        ones.view(Derived),
    ):
        assert _kernels.finite_copy(odd, 1, 2) is None
