"""Filters with operators, on metadata, paths and fields of the record."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import Memory
from poincare_memory.retrieval.filters import MetadataFilter, compile_filter

METAS: list[dict[str, Any] | None] = [
    {"n": 1, "s": "green tea", "user": {"id": 7, "tags": ["a", "b"]}},
    {"n": 2.5, "s": "b", "user": {"id": "7"}, "user.id": 8},
    {"n": None, "s": 3, "user": "nobody"},
    {"n": True, "when": "2026-01-01T12:00:00+02:00"},
    None,
]


def passing(filters: Any, metas: list[Any] = METAS) -> list[int]:
    compiled = compile_filter(filters)
    assert isinstance(compiled, MetadataFilter)
    return np.flatnonzero(compiled.mask(metas)).tolist()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"n": {"$eq": 1}}, [0, 3]),
        ({"n": {"$eq": None}}, [2]),  # there, and None; plain equality counts the missing in
        ({"n": None}, [2, 4]),
        ({"n": {"$ne": 1}}, [1, 2, 4]),
        ({"n": {"$gt": 1}}, [1]),
        ({"n": {"$gte": 1, "$lt": 2}}, [0]),
        ({"n": {"$lte": "z"}}, []),
        ({"s": {"$gte": "c"}}, [0]),
        ({"n": {"$in": [2.5, None]}}, [1, 2]),
        ({"n": {"$in": []}}, []),
        ({"n": {"$nin": [2.5, None]}}, [0, 3, 4]),
        ({"n": {"$exists": True}}, [0, 1, 2, 3]),
        ({"n": {"$exists": False}}, [4]),
        ({"s": {"$contains": "tea"}}, [0]),
        ({"user": {"$contains": "id"}}, [0, 1]),
        ({"user.tags": {"$contains": "a"}}, [0]),
        ({"user.id": 7}, [0]),
        ({"user.id": 8}, [1]),  # a key of that very name comes first
        ({"user.id": {"$exists": False}}, [2, 3, 4]),
        ({"user": {"id": "7"}}, [1]),  # a mapping without operators is a value
        ({"user": {"$eq": {"id": "7"}}}, [1]),
        ({"$or": [{"n": 2.5}, {"s": 3}]}, [1, 2]),
        ({"$and": [{"n": {"$gte": 1}}, {"s": {"$contains": "e"}}], "n": 1}, [0]),
        ({"$not": {"n": {"$gte": 1}}}, [2, 3, 4]),
        ({"n": {"$not": {"$gte": 1}}}, [2, 3, 4]),
        ({"when": {"$gte": datetime(2026, 1, 1, 10)}}, [3]),
        ({"when": {"$gt": datetime(2026, 1, 1, 10)}}, []),
        ({"when": {"$eq": datetime(2026, 1, 1, 10, tzinfo=timezone.utc)}}, [3]),
        ({"when": {"$in": [date(2026, 1, 1), datetime(2026, 1, 1, 10)]}}, [3]),
        ({"when": {"$lt": date(2026, 1, 1)}}, []),
    ],
)
def test_operators(filters: Any, expected: list[int]) -> None:
    assert passing(filters) == expected


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        ({"n": {"$above": 1}}, r"filters\['n'\]: unknown operator '\$above'"),
        ({"n": {"$gt": 1, "x": 2}}, r"filters\['n'\]: unknown operator 'x'"),
        ({"$nor": []}, r"filters: unknown operator '\$nor'"),
        (
            {"$or": [{"a": 1}, {"b": {"$like": 2}}]},
            r"filters\['\$or'\]\[1\]\['b'\]: unknown operator '\$like'",
        ),
        ({"n": {"$not": {"$what": 2}}}, r"filters\['n'\]\['\$not'\]: unknown operator '\$what'"),
        ({"$or": []}, r"filters\['\$or'\]: expected a list of filters"),
        ({"$or": {"a": 1}}, r"expected a list of filters"),
        ({"$and": [1]}, r"filters\['\$and'\]\[0\]: expected a mapping"),
        ({"$not": [1]}, r"filters\['\$not'\]: expected a mapping"),
        ({"n": {"$in": "abc"}}, r"filters\['n'\]\['\$in'\]: expected a list"),
        ({"n": {"$exists": 1}}, r"filters\['n'\]\['\$exists'\]: expected True or False"),
        ({"n": {"$not": 3}}, r"filters\['n'\]\['\$not'\]"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(filters: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        compile_filter(filters)


def test_a_filter_that_contains_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["$not"] = endless
    with pytest.raises(ValueError, match="nested deeper"):
        compile_filter(endless)
    deep: dict[str, Any] = {"n": {"$gt": 1}}
    for _ in range(200):
        deep = {"n": {"$not": deep["n"]}}
    with pytest.raises(ValueError, match=r"\$not"):
        compile_filter(deep)


numbers = st.none() | st.integers(-3, 3) | st.sampled_from([0.5, -0.5])


@given(
    st.lists(st.none() | st.dictionaries(st.sampled_from("ab"), numbers), max_size=6),
    st.integers(-3, 3),
    st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]),
)
def test_every_operator_is_its_python_counterpart(metas: list[Any], wanted: int, name: str) -> None:
    import operator

    compare = {"$gt": "gt", "$gte": "ge", "$lt": "lt", "$lte": "le", "$eq": "eq", "$ne": "ne"}[name]
    expected = []
    for i, meta in enumerate(metas):
        there = meta is not None and "a" in meta
        value = meta["a"] if there else None
        if name in ("$eq", "$ne"):
            truth = getattr(operator, compare)(value, wanted) if there else name == "$ne"
        else:
            truth = value is not None and getattr(operator, compare)(value, wanted)
        if truth:
            expected.append(i)
    assert passing({"a": {name: wanted}}, metas) == expected
    opposite = passing({"a": {"$not": {name: wanted}}}, metas)
    assert sorted(expected + opposite) == list(range(len(metas)))


NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


@pytest.fixture
def mem() -> Memory:
    mem = Memory(clock=lambda: NOW)
    mem.add("gone", id="gone")
    mem.add("drinks", id="drinks", t=NOW - timedelta(days=3))
    mem.add("green tea", id="tea", parent="drinks", t=NOW - timedelta(days=2), meta={"n": 1})
    mem.add("sencha tea", id="sencha", parent="tea", t=NOW - timedelta(days=1), meta={"level": "high"})
    mem.add("tax", id="tax", t=NOW)
    mem.remove("gone")  # rows are no longer the order of insertion
    return mem


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"level": {"$gte": 1}}, {"tea"}),  # metadata of that name comes first
        ({"level": "high"}, {"sencha"}),
        ({"level": {"$in": [1, "high"]}}, {"tea", "sencha"}),
        ({"level": 0}, {"drinks", "tax"}),
        ({"level": {"$nin": [0]}}, {"tea", "sencha"}),
        ({"parent": "drinks"}, {"tea"}),
        ({"parent": None}, {"drinks", "tax"}),
        ({"parent": {"$exists": False}}, {"drinks", "tax"}),
        ({"parent": {"$ne": "tea"}}, {"drinks", "tea", "tax"}),
        ({"id": {"$in": ["tea", "tax", "nobody"]}}, {"tea", "tax"}),
        ({"text": {"$contains": "tea"}}, {"tea", "sencha"}),
        ({"t": {"$gte": NOW - timedelta(days=1)}}, {"sencha", "tax"}),
        ({"t": {"$lt": (NOW - timedelta(days=1)).isoformat()}}, {"drinks", "tea"}),
        ({"t": {"$eq": NOW.astimezone(timezone(timedelta(hours=5)))}}, {"tax"}),
        ({"t": {"$in": [NOW, "2026-05-31T00:00:00Z"]}}, {"sencha", "tax"}),
        ({"t": {"$gt": 3}}, set()),
        ({"access_count": {"$lt": 1}}, {"drinks", "tea", "sencha", "tax"}),
        ({"access_count": {"$contains": 1}}, set()),
        ({"access_count": {"$exists": True}, "n": {"$exists": False}}, {"drinks", "sencha", "tax"}),
        ({"level": {"$gt": True}}, set()),
    ],
)
def test_fields_of_the_record(mem: Memory, filters: Any, expected: set[str]) -> None:
    for use_index in (None, True):
        found = mem.search("tea", k=10, filters=filters, touch=False, use_index=use_index)
        assert {hit.id for hit in found} == expected


def test_fields_in_structural_modes_and_before_removals() -> None:
    mem = Memory(clock=lambda: NOW)
    mem.add_many(
        [
            {"text": "a", "id": "a"},
            {"text": "b", "id": "b", "parent": "a"},
            {"text": "c", "id": "c", "parent": "b"},
        ]
    )
    hits = mem.search(mode="subtree", root="a", filters={"level": {"$gte": 1}, "parent": {"$exists": True}})
    assert {hit.id for hit in hits} == {"b", "c"}
    assert [hit.id for hit in mem.search("x", filters={"id": "b"})] == ["b"]


@pytest.mark.parametrize("field", ["level", "access_count"])
def test_integers_beyond_all_floats_are_compared_too(field: str) -> None:
    mem = Memory()
    mem.add("tea", id="tea")
    for operand in (10**400, -(10**400)):
        for name, expected in (("$lt", operand > 0), ("$gte", operand < 0), ("$eq", False), ("$in", False)):
            wanted = [operand] if name == "$in" else operand
            found = mem.search("tea", filters={field: {name: wanted}}, touch=False)
            assert bool(found) is expected


@pytest.mark.parametrize("name", ["$eq", "$ne", "$gt", "$lte", "$in", "$contains"])
def test_numpy_numbers_compare_with_integers_beyond_all_floats(name: str) -> None:
    wanted: Any = np.float64(2.0) if name != "$in" else [np.float64(2.0)]
    values = [10**400, -(10**400), [10**400]]
    found = compile_filter({"n": {name: wanted}}).mask([{"n": value} for value in values])  # type: ignore[union-attr]
    expected = {"$gt": [1, 0, 0], "$lte": [0, 1, 0], "$ne": [1, 1, 1]}.get(name, [0, 0, 0])
    assert found.tolist() == expected
