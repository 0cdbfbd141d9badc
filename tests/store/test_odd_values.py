"""Odd texts, ids, vectors, times and trees come back from every container as they went in, or are refused."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from poincare_memory import CallableEmbedder, HashingEmbedder, Memory

UTC = timezone.utc


def through_a_file(memory, path):
    memory.save(path)
    return Memory.load(path, embedder=memory.embedder)


def through_json(memory, path):
    memory.to_json(path)
    return Memory.from_json(path, embedder=memory.embedder)


def through_a_live_file(memory, path):
    memory.save(path)
    with Memory.open(path, embedder=memory.embedder) as live:
        live.add("passing", id="passing")
        live.remove("passing")
    return Memory.open(path, embedder=memory.embedder)


CONTAINERS = [through_a_file, through_json, through_a_live_file]
containers = pytest.mark.parametrize("through", CONTAINERS, ids=[each.__name__[8:] for each in CONTAINERS])


def records(memory):
    return [(r.id, r.text, r.parent_id, r.t, r.valid_from, r.valid_until, r.meta) for r in memory]


def assert_same(memory, back):
    assert records(back) == records(memory)
    np.testing.assert_allclose(back.points, memory.points, rtol=0, atol=1e-15)
    assert back.roots() == memory.roots()
    back.close()


NAMES = [
    "nul \0 inside",
    "\0",
    "nul at the end\0",
    "é",
    "e\u0301",  # the same letter, decomposed: another id
    "A",
    "a",
    "line\nbreak\r\n\u2028",
    "'; DROP TABLE records; --",
    '"quoted" \\ {"json": 1}',
    "\u202eright to left",
    "😀" * 3,
    "\uffff\ufffe",
    "%s %d {0}",
    "x" * 100_000,
]


@containers
def test_ids_and_texts_of_any_characters(tmp_path, through):
    memory = Memory(embedder=HashingEmbedder(dim=8))
    for name in NAMES:
        text = f"text of {name}"
        assert memory.add(text, id=name, meta={name[:50]: name[:50], "k": [name[:50]]}) == name
    for name in NAMES[::2]:
        memory.link(name, NAMES[1])
    back = through(memory, tmp_path / "m")
    assert back.ids == memory.ids
    assert back.get("é").text == "text of é"
    assert back.get("e\u0301").text == "text of e\u0301"
    assert_same(memory, back)


@pytest.mark.parametrize("bad", ["", "lone \ud800", 5, None, b"bytes", 1.5])
def test_what_is_no_text_is_refused_and_nothing_changes(bad):
    memory = Memory(embedder=HashingEmbedder(dim=8))
    with pytest.raises((ValueError, TypeError)):
        memory.add(bad)
    if bad is not None:
        with pytest.raises((ValueError, TypeError)):
            memory.add("fine", id=bad)
    assert len(memory) == 0


TIMES = [
    datetime.min.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=-14))),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=14))),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2026, 2, 28, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    datetime(2026, 2, 28, tzinfo=timezone(timedelta(seconds=-12345))),
    datetime(1, 1, 1, 0, 0, 0, 1),
]


@containers
def test_times_from_the_first_to_the_last(tmp_path, through):
    memory = Memory(embedder=HashingEmbedder(dim=8), clock=lambda: datetime(2026, 3, 1, tzinfo=UTC))
    for i, moment in enumerate(TIMES):
        memory.add(f"note {i}", id=f"n{i}", t=moment, valid_from=moment, valid_until=moment)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        assert memory.get(f"n{i}").t == aware
    memory.stats()
    assert_same(memory, through(memory, tmp_path / "m"))


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
    ],
)
def test_times_that_no_utc_time_can_say_are_refused(tmp_path, moment):
    memory = Memory(embedder=HashingEmbedder(dim=8))
    for name in ("t", "valid_from", "valid_until"):
        with pytest.raises(ValueError, match=r"\d"):
            memory.add("note", **{name: moment})
    memory.add("note", id="a")
    for name in ("t", "valid_from", "last_accessed"):
        data = json.loads(memory.to_json())
        data["records"][0][name] = moment.isoformat()
        with pytest.raises(ValueError, match=rf"record 0.*{name}"):
            Memory.from_json(json.dumps(data))
        path = tmp_path / "m.db"
        memory.save(path)
        with sqlite3.connect(path) as connection:
            connection.execute(f"UPDATE records SET {name} = ?", (moment.isoformat(),))
        connection.close()
        for read in (Memory.load, Memory.open):
            with pytest.raises(ValueError, match=rf"record 0.*{name}"):
                read(path)


DTYPES = ["float16", "float32", "float64", ">f8", ">f4", "int8", "int64", "uint16", "bool", "longdouble"]


@containers
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_of_any_real_type(tmp_path, through, dtype):
    def embed(texts):
        values = [[len(text), text.count("e"), 1, 0] for text in texts]
        return np.array(values, dtype)[:, ::-1]  # and no contiguous memory

    memory = Memory(embedder=CallableEmbedder(embed, 4))
    memory.add("three bees", id="a")
    memory.add("one bee", id="b", parent="a")
    expected = memory.embedder.embed(["three bees"]).astype(np.float64)[0]
    kept = memory._store.columns.embeddings(np.array([0], np.int32))[0]
    np.testing.assert_array_equal(kept.astype(np.float64), expected)
    assert_same(memory, through(memory, tmp_path / "m"))


@containers
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-160, 1.0, 1e160, 1e300, 1.7e308])
def test_vectors_of_any_length(tmp_path, through, scale):
    memory = Memory(embedder=CallableEmbedder(lambda texts: np.full((len(texts), 3), scale), 3))
    memory.add("note", id="a")
    direction = memory.point("a") / np.linalg.norm(memory.point("a"))
    np.testing.assert_allclose(direction, 3**-0.5, rtol=1e-4 if scale < 1e-310 else 1e-12)
    assert_same(memory, through(memory, tmp_path / "m"))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1j, "text", None])
def test_vectors_with_what_is_no_number_are_refused_and_nothing_changes(tmp_path, bad):
    state = {"bad": False}

    def embed(texts):
        vectors = np.ones((len(texts), 3))
        return vectors if not state["bad"] else np.array([[1.0, bad, 1.0]] * len(texts))

    for memory in (
        Memory(embedder=CallableEmbedder(embed, 3)),
        Memory.open(tmp_path / "live.db", embedder=CallableEmbedder(embed, 3)),
    ):
        state["bad"] = False
        memory.add("note", id="a")
        before = records(memory)
        state["bad"] = True
        for edit in (
            lambda memory=memory: memory.add("another"),
            lambda memory=memory: memory.add_many([{"text": "one"}, {"text": "two"}]),
            lambda memory=memory: memory.update("a", text="changed"),
            lambda memory=memory: memory.search("note"),
        ):
            with pytest.raises((ValueError, TypeError)):
                edit()
        assert records(memory) == before
        memory.close()


@containers
def test_a_chain_of_ten_thousand_levels(tmp_path, through):
    memory = Memory(embedder=HashingEmbedder(dim=8))
    memory.add("root", id="0")
    memory.add_many([{"text": f"level {i}", "id": str(i), "parent": str(i - 1)} for i in range(1, 10_000)])
    back = through(memory, tmp_path / "m")
    assert back.level("9999") == 9999
    assert back.depth("9999") == memory.depth("9999")
    assert len(back.ancestors("9999")) == 9999
    back.close()


def test_positions_with_gaps_in_any_order_and_far_away(tmp_path):
    memory = Memory(embedder=HashingEmbedder(dim=8))
    memory.add_many([{"text": f"note {i}", "id": f"n{i}"} for i in range(6)])
    memory.link("n1", "n5")
    path = tmp_path / "m.db"
    memory.save(path)
    with sqlite3.connect(path) as connection:
        for id, pos in (("n0", 2**61), ("n1", 1000), ("n2", 70), ("n3", 2**40), ("n4", 10), ("n5", 11)):
            connection.execute("UPDATE records SET pos = ? WHERE id = ?", (pos, id))
    connection.close()
    expected = ["n4", "n5", "n2", "n1", "n3", "n0"]
    assert Memory.load(path).ids == expected
    assert Memory.load(path).parent("n1") == "n5"
    with Memory.open(path) as live:
        assert live.ids == expected
        live.add("last", id="last")
        live.remove("n2")
    assert Memory.load(path).ids == ["n4", "n5", "n1", "n3", "n0", "last"]


@pytest.mark.parametrize(
    "change",
    [
        "id = x'6e30'",
        "text = x'ff00'",
        "text = CAST(x'80' AS TEXT)",
        "parent_id = 5",
        "access_count = '3'",
        "access_count = 2.5",
        "access_count = 9e99",
        "meta = '[]'",
        "meta = '{\"a\": 1e999}'",
        'meta = \'{"a": "\\ud800"}\'',
        "t = 5",
        "t = '2026-02-30T00:00:00'",
        "point = 'text'",
        "point = zeroblob(63)",
        "point = x'000000000000f87f' || zeroblob(56)",
        "embedding = x'000000000000f07f' || zeroblob(56)",
        "embedding = NULL",
    ],
)
def test_values_of_the_wrong_kind_name_their_record(tmp_path, change, caplog):
    memory = Memory(embedder=HashingEmbedder(dim=8))
    memory.add_many([{"text": f"note {i}", "id": f"n{i}"} for i in range(3)])
    path = tmp_path / "m.db"
    memory.save(path)
    with sqlite3.connect(path) as connection:
        if "||" in change:  # concatenation makes text of blobs
            change = change.replace(" = ", " = CAST(", 1) + " AS BLOB)"
        connection.execute(f"UPDATE records SET {change} WHERE id = 'n1'")
    connection.close()
    before = path.read_bytes()
    for read in (Memory.load, Memory.open):
        try:
            loaded = read(path)
        except ValueError as error:
            assert "record 1" in str(error) or "UTF-8" in str(error), error  # noqa: PT017
            assert path.read_bytes() == before or read == Memory.open
            continue
        with loaded:  # a number that SQLite itself put right
            assert "access_count = '3'" in change
            assert loaded.get("n1").access_count == 3
        assert path.read_bytes() == before or read == Memory.open
    assert not caplog.records
