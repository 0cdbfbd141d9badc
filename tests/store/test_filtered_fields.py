"""`id`, `parent` and `text` by look-up, by row and in one pass: what one value after the other gives."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import Memory
from poincare_memory.retrieval.filters import MetadataFilter, compile_filter
from poincare_memory.store import candidates
from poincare_memory.store.filtered_keys import FilteredKeys, Lookup

NAMES = ["a", "b", "tea", "3", "2026-01-01", "2026-01-01T00:00:00+00:00", "é", "None"]


class Odd(str):
    """Equal to whatever it is asked about."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


words = st.sampled_from([*NAMES, "nobody", ""])
operands = words | st.sampled_from(
    [
        None,
        3,
        2.5,
        True,
        date(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=timezone.utc),
        np.str_("tea"),
        Odd("x"),
    ]
)
keys = st.sampled_from(["id", "parent", "text"])
conditions = st.one_of(
    st.tuples(keys, operands).map(lambda pair: {pair[0]: pair[1]}),
    st.tuples(keys, st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$contains"]), operands).map(
        lambda told: {told[0]: {told[1]: told[2]}}
    ),
    st.tuples(keys, st.sampled_from(["$in", "$nin"]), st.lists(operands | st.just([1]), max_size=3)).map(
        lambda told: {told[0]: {told[1]: told[2]}}
    ),
    st.tuples(keys, st.booleans()).map(lambda pair: {pair[0]: {"$exists": pair[1]}}),
)
filters = st.one_of(
    conditions,
    st.tuples(conditions, conditions).map(lambda both: {"$or": list(both)}),
    conditions.map(lambda one: {"$not": one}),
)
metas = st.none() | st.dictionaries(keys, words | st.none() | st.just(3), max_size=2)


def values_of(mem: Memory, ids: list[str]) -> dict[str, list[Any]]:
    records = [mem.get(id) for id in ids]
    return {
        "id": ids,
        "text": [record.text for record in records],
        "parent": [record.parent_id for record in records],
    }


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_the_fast_ways_are_the_slow_one(data: st.DataObject) -> None:
    mem = Memory()
    for id in data.draw(st.permutations(NAMES)):
        parent = data.draw(st.sampled_from([None, *mem.ids]))
        mem.add(data.draw(words.filter(bool)), id=id, parent=parent, meta=data.draw(metas))
    for id in data.draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True)):
        if id in mem.ids:
            mem.remove(id, cascade=True)
    columns = mem._store.columns
    rows: Any = None
    if not columns.dense() or data.draw(st.booleans()):
        rows = np.array(data.draw(st.permutations(columns.live_rows().tolist())), np.int32)
    count = columns.n if rows is None else len(rows)
    ids = [columns.name(row) for row in (range(count) if rows is None else rows.tolist())]
    found = [columns.metas[columns.row(id)] for id in ids]
    compiled = compile_filter(data.draw(filters))
    assert isinstance(compiled, MetadataFilter)
    slow = compiled.mask(found, values_of(mem, ids).__getitem__)
    fast = compiled.mask(found, values_of(mem, ids).__getitem__, Lookup(FilteredKeys(), columns, rows, count))
    assert fast.tolist() == slow.tolist()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"id": "n7"}, ["n7"]),
        ({"id": {"$in": ["n7", "n3", "nobody"]}}, ["n3", "n7"]),
        ({"parent": "n1", "id": {"$nin": ["n3"]}}, ["n5", "n7"]),
        ({"text": {"$contains": "7"}}, ["n7"]),
        ({"text": "note 4"}, ["n4"]),
        ({"id": {"$in": []}}, []),
    ],
)
def test_searches_use_them(monkeypatch: pytest.MonkeyPatch, filters: Any, expected: list[str]) -> None:
    monkeypatch.setattr(candidates, "LEAST_CANDIDATES", 0)
    mem = Memory()
    mem.add_many({"text": f"note {i}", "id": f"n{i}"} for i in range(3))
    mem.add_many(
        {"text": f"note {i}", "id": f"n{i}", "parent": f"n{i % 2}", "meta": {"even": i % 2 == 0}}
        for i in range(3, 9)
    )
    mem.remove("n2")
    for _ in range(3):  # the second time, columns tell whose metadata has such a key
        hits = mem.search(None, k=10, filters=filters, touch=False)
        assert [hit.id for hit in hits] == expected
