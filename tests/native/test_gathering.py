"""Loops over what is to be added: they do the ordinary, and leave everything else to those who can say what it is."""

from __future__ import annotations

import json
import math
import os
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_finite_copy_of_a_large_matrix(dtype: Any) -> None:
    large = np.random.default_rng(0).normal(size=(1000, 384)).astype(dtype)
    across = np.asfortranarray(large)
    for array in (large, across, large[::2], large[:0]):
        copied = _kernels.finite_copy(array, *array.shape)
        assert copied is not None and copied.flags.c_contiguous
        np.testing.assert_array_equal(copied, array)
        assert not np.shares_memory(copied, array)
    assert _kernels.finite_copy(large, 384, 1000) is None
    large.flags.writeable = False
    copied = _kernels.finite_copy(large, 1000, 384)
    assert copied is not None and copied.flags.writeable


def test_plain_copies_are_those_of_each() -> None:
    metas = [None, {"a": 1}, {}, {"b": "c"}]
    copies = _kernels.plain_copies(metas)
    assert copies == [None, {"a": 1}, None, {"b": "c"}]
    assert copies[1] is not metas[1]
    assert _kernels.plain_copies([]) == []
    for odd in ({"a": []}, {"a": math.nan}, [], 3):
        assert _kernels.plain_copies([*metas, odd]) is None


def test_plain_texts_of_lists() -> None:
    assert _kernels.are_plain_texts([]) and _kernels.are_plain_texts(["a", "b c"])
    assert _kernels.are_plain_or_none([]) and _kernels.are_plain_or_none(["a", None])
    for odd in (" ", "é", Text("a"), 1, b"a", [], ""):
        assert not _kernels.are_plain_texts(["a", odd])
        assert not _kernels.are_plain_or_none(["a", None, odd])
    assert not _kernels.are_plain_texts(["a", None])


def test_all_are_one_object() -> None:
    assert _kernels.all_are([], None) and _kernels.all_are([False, False], False)
    assert not _kernels.all_are([False, 0], False) and not _kernels.all_are([None, False], None)


@given(
    st.lists(st.tuples(st.sampled_from([None, *"abcdef"]), st.sampled_from([None, *"abcdefg"])), max_size=6),
    st.sets(st.sampled_from("abcdefg")),
)
def test_names_are_sound_where_a_loop_finds_nothing_wrong(
    names: list[tuple[str | None, str | None]], known: set[str]
) -> None:
    ids, parents = [id for id, _ in names], [parent for _, parent in names]
    earlier = [set(filter(None, ids[:i])) | known for i in range(len(ids))]
    expected = all(id not in before for id, before in zip(ids, earlier, strict=True)) and all(
        parent is None or parent in before for parent, before in zip(parents, earlier, strict=True)
    )
    assert _kernels.names_are_sound(ids, parents, dict.fromkeys(known, 0)) == expected


def test_ids_made_up_are_new_and_the_others_stay() -> None:
    given_ids = [None, "a", None, "b", None]
    made = _kernels.with_made_up_ids(given_ids, {})
    assert given_ids == [None, "a", None, "b", None] and (made[1], made[3]) == ("a", "b")
    assert len(set(made)) == 5 and all(len(id) == 12 and int(id, 16) >= 0 for id in made[::2])
    assert _kernels.with_made_up_ids([], {}) == []
    assert len(set(_kernels.with_made_up_ids([None] * 1000, {}))) == 1000


def test_ids_made_up_are_none_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = [bytes(6) + bytes([1] * 6) + bytes([2] * 6), bytes([1] * 6) + bytes([3] * 6), bytes([4] * 6)]
    monkeypatch.setattr(os, "urandom", lambda count: noise.pop(0)[:count])
    made = _kernels.with_made_up_ids([None, "01" * 6, None, None], {"00" * 6: 0})
    assert made == ["02" * 6, "01" * 6, "03" * 6, "04" * 6]


def test_rows_of_ids() -> None:
    rows = _kernels.rows_of_ids(["a", None, "b", "a"], {"a": 3, "b": 1})
    assert rows.dtype == np.int32 and rows.tolist() == [3, -1, 1, 3]
    with pytest.raises(KeyError):
        _kernels.rows_of_ids(["c"], {})
