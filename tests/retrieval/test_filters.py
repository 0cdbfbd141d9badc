"""Filters: mappings of metadata, functions of a record."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory.retrieval.filters import MetadataFilter, RecordFilter, compile_filter

scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=True, width=16) | st.text(max_size=2)
)
values = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=1), scalars, max_size=2)
metas = st.none() | st.dictionaries(st.sampled_from("abc"), values, max_size=3)


def mask(filters: Any, metadata: list[dict[str, Any] | None]) -> list[int]:
    compiled = compile_filter(filters)
    assert isinstance(compiled, MetadataFilter)
    return compiled.mask(metadata).tolist()


@given(st.dictionaries(st.sampled_from("abcd"), values, min_size=1, max_size=2), st.lists(metas, max_size=8))
def test_a_mapping_is_equality_of_every_key(
    filters: dict[str, Any], metadata: list[dict[str, Any] | None]
) -> None:
    expected = [int(all((meta or {}).get(k) == v for k, v in filters.items())) for meta in metadata]
    assert mask(filters, metadata) == expected


def test_a_missing_key_counts_as_none() -> None:
    assert mask({"k": None}, [None, {}, {"k": None}, {"k": 0}]) == [1, 1, 1, 0]


@pytest.mark.parametrize("wanted", [5, "x", None, [1, 2], np.array([1, 2]), np.int64(1), {"a": np.ones(3)}])
def test_values_that_compare_element_by_element(wanted: Any) -> None:
    array = np.array([1, 2])
    assert mask({"v": wanted}, [{"v": 5}, {"v": array}, {"v": array.astype(float)}, {"v": np.zeros((0, 2))}])[
        1
    ] == int(np.array_equal(array, wanted))
    assert mask({"v": array}, [{"v": [1, 2]}, {"v": [1, 3]}, {"v": 1}, None]) == [1, 0, 0, 0]


def test_mappings_of_every_kind_and_changes_after_compiling() -> None:
    for kind in (dict, OrderedDict, MappingProxyType):
        assert mask(kind({"a": 1}), [{"a": 1}, {"a": 2}]) == [1, 0]
    filters = {"a": 1}
    compiled = compile_filter(filters)
    filters["a"] = 2
    assert isinstance(compiled, MetadataFilter)
    assert compiled.mask([{"a": 1}]).tolist() == [1]


def test_nothing_asked() -> None:
    assert compile_filter(None) is None
    assert compile_filter({}) is None
    assert mask({"a": 1}, []) == []


def test_a_function_is_asked_once_a_record_and_its_truth_counts() -> None:
    seen: list[Any] = []

    def function(record: Any) -> Any:
        seen.append(record)
        return {"a": 1, "b": 0, "c": None, "d": "yes"}[record]

    compiled = compile_filter(function)
    assert isinstance(compiled, RecordFilter)
    assert compiled.mask("abcd").tolist() == [1, 0, 0, 1]  # type: ignore[arg-type]
    assert seen == ["a", "b", "c", "d"]


@pytest.mark.parametrize("filters", [[("g", 1)], "g", 5, {"g"}, ("g", 1)])
def test_other_types_are_named(filters: Any) -> None:
    with pytest.raises(TypeError, match=rf"filters: expected a mapping.*{type(filters).__name__}"):
        compile_filter(filters)
