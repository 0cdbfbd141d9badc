"""Damage that SQLite cannot see is found by a file's own digests; edits through SQL are edits, not damage."""

import sqlite3
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.store.digests import record_digests, settings_digest


def saved(folder, count=5):
    memory = Memory(embedder=HashingEmbedder(dim=8))
    for i in range(count):
        memory.add(f"note number {i}", id=f"n{i}", meta={"word": f"meta number {i}"})
    path = folder / "m.db"
    memory.save(path)
    return path


def run(path, *statements):
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def replace_bytes(path, old, new):
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"note number 3", b"note number 2"),
        (b"meta number 3", b"meta numbed 3"),
        (b"time_coef1.0", b"time_coef1.5"),
        (b'"ngram_range": [3', b'"ngram_range": [2'),
    ],
)
def test_a_changed_byte_is_found(tmp_path, old, new):
    path = saved(tmp_path)
    replace_bytes(path, old, new)
    with pytest.raises(ValueError, match="damaged"):
        Memory.load(path)


def test_a_changed_vector_is_found(tmp_path):
    path = saved(tmp_path)
    with sqlite3.connect(path) as connection:
        (embedding,) = connection.execute("SELECT embedding FROM records WHERE id = 'n3'").fetchone()
    connection.close()
    data = bytearray(path.read_bytes())
    at = data.index(embedding)
    for i in range(len(embedding)):
        data[at + i] ^= 0x10
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"damaged: record 'n\d'"):
            Memory.load(path)
        data[at + i] ^= 0x10


def test_a_lost_record_is_found(tmp_path):
    path = saved(tmp_path)
    run(path, "DROP TRIGGER pm_digest_delete", "DELETE FROM records WHERE id = 'n4'")
    with pytest.raises(ValueError, match="position 4 is missing"):
        Memory.load(path)


@pytest.mark.parametrize(
    ("statement", "now"),
    [
        ("UPDATE records SET text = 'edited' WHERE id = 'n1'", ["n0", "n1", "n2", "n3", "n4"]),
        ("UPDATE records SET pos = 9 WHERE id = 'n1'", ["n0", "n2", "n3", "n4", "n1"]),
        ("UPDATE records SET pos = pos + 100", ["n0", "n1", "n2", "n3", "n4"]),
        ("UPDATE records SET id = 'new' WHERE id = 'n1'", ["n0", "new", "n2", "n3", "n4"]),
        ("UPDATE OR REPLACE records SET id = 'n3' WHERE id = 'n1'", ["n0", "n3", "n2", "n4"]),
        ("DELETE FROM records WHERE pos > 2", ["n0", "n1", "n2"]),
        ("DELETE FROM records", []),
        (
            "INSERT INTO records SELECT 7, 'n7', text, parent_id, t, valid_from, valid_until, access_count, "
            "last_accessed, meta, point, embedding FROM records WHERE pos = 1",
            ["n0", "n1", "n2", "n3", "n4", "n7"],
        ),
        (
            "INSERT OR REPLACE INTO records SELECT NULL, 'n2', text, parent_id, t, valid_from, valid_until, "
            "access_count, last_accessed, meta, point, embedding FROM records WHERE pos = 1",
            ["n0", "n1", "n3", "n4", "n2"],
        ),
        ("UPDATE config SET value = '2.5' WHERE key = 'base_depth'", ["n0", "n1", "n2", "n3", "n4"]),
        ("INSERT INTO config VALUES ('theirs', '1')", ["n0", "n1", "n2", "n3", "n4"]),
        ("DELETE FROM config WHERE key = 'decay'", ["n0", "n1", "n2", "n3", "n4"]),
        ("VACUUM", ["n0", "n1", "n2", "n3", "n4"]),
    ],
)
def test_edits_through_sql_are_edits(tmp_path, statement, now):
    path = saved(tmp_path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()
    assert Memory.load(path).ids == now


def test_an_edited_record_is_loaded_as_edited_and_the_others_stay_guarded(tmp_path):
    path = saved(tmp_path)
    run(path, "UPDATE records SET text = 'edited' WHERE id = 'n1'")
    assert Memory.load(path).get("n1").text == "edited"
    replace_bytes(path, b"note number 3", b"note number 9")
    with pytest.raises(ValueError, match="damaged: record 'n3'"):
        Memory.load(path)


def test_uses_are_counted_through_sql_without_losing_the_digest(tmp_path):
    path = saved(tmp_path)
    run(
        path,
        "UPDATE records SET access_count = access_count + 3, last_accessed = '2026-01-01' WHERE id = 'n1'",
    )
    assert Memory.load(path).get("n1").access_count == 3
    replace_bytes(path, b"note number 1", b"note number 9")
    with pytest.raises(ValueError, match="damaged: record 'n1'"):
        Memory.load(path)


def test_a_file_without_digests_is_checked_by_sqlite(tmp_path):
    path = saved(tmp_path, 40)
    run(path, "DROP TABLE pm_digest", "DROP TABLE pm_config_digest")
    for name in ("insert", "update", "use", "delete"):
        run(path, f"DROP TRIGGER IF EXISTS pm_digest_{name}")
    assert len(Memory.load(path)) == 40
    data = path.read_bytes()
    at = data.rindex(b"n11", 0, data.rindex(b"n11"))  # in the record; the last one, in the index over ids
    path.write_bytes(data[:at] + b"n99" + data[at + 3 :])
    with pytest.raises(ValueError, match=r"damaged: .*index"):
        Memory.load(path)


def test_another_programs_rewrite_of_the_table_is_loaded_once_it_emptied_the_digests(tmp_path):
    path = saved(tmp_path)
    run(path, "CREATE TABLE copied AS SELECT * FROM records", "UPDATE copied SET text = 'theirs'")
    run(path, "DROP TABLE records", "ALTER TABLE copied RENAME TO records")
    with pytest.raises(ValueError, match=r"damaged: record 'n0' .* pm_digest"):
        Memory.load(path)
    run(path, "DELETE FROM pm_digest")
    assert {record.text for record in Memory.load(path)} == {"theirs"}


values_of_a_record = st.lists(
    st.none() | st.text(max_size=12) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False),
    max_size=7,
)


def digest(*values):
    return record_digests([[value] for value in values])[0]


@given(values_of_a_record, st.binary(min_size=8, max_size=200))
def test_any_single_bit_of_a_record_changes_its_digest(values, vector):
    known = digest(*values, vector, vector)
    assert digest(*values, memoryview(vector), bytearray(vector)) == known
    for bit in range(8 * len(vector)):
        changed = bytearray(vector)
        changed[bit // 8] ^= 1 << bit % 8
        assert digest(*values, bytes(changed), vector) != known
        assert digest(*values, vector, changed) != known


@given(values_of_a_record, values_of_a_record)
def test_different_values_have_different_digests(first, second):
    def told(values):
        while values and values[-1] is None:
            values = values[:-1]
        return [(type(value), repr(value)) for value in values]

    assert (digest("a", *first) == digest("a", *second)) == (told(first) == told(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", ""), ("", "a")),
        ((None, "a"), ("a",)),
        (("a",), (b"a",)),
        ((1,), ("1",)),
        ((1,), (1.0,)),
        (("a\0",), ("a",)),
        (("a" * 8,), ("a" * 8 + "\0",)),
        (("a" * 64,), ("a" * 64 + "\0" * 8,)),
    ],
)
def test_where_one_value_ends_belongs_to_the_digest(first, second):
    assert digest(*first) != digest(*second)


def test_digests_of_many_records_are_those_of_each():
    rng = np.random.default_rng(0)
    texts = [None if i % 3 else "é" * (i % 150) for i in range(500)]
    blobs = [rng.bytes(int(n)) for n in rng.integers(0, 300, 500)]
    numbers = [int(n) for n in rng.integers(-(2**63), 2**63 - 1, 500)]
    together = record_digests([texts, blobs, tuple(numbers)])
    assert together == [digest(*values) for values in zip(texts, blobs, numbers, strict=True)]
    assert len(set(together)) == 500


def plainly(values):
    """The digest as `src/_core/digest.hpp` tells it, a word at a time."""
    mask, kinds = 2**64 - 1, {type(None): 0, str: 1, bytes: 2, int: 3, float: 4}

    def step(before, word):
        mixed = ((before ^ word) * 0x9E3779B97F4A7C15) & mask
        return mixed ^ (mixed >> 32)

    def take(before, data):
        whole = len(data) // 64 * 64
        if whole:
            lanes = [step(before, lane) for lane in range(8)]
            for at in range(0, whole, 8):
                lane = at // 8 % 8
                lanes[lane] = step(lanes[lane], int.from_bytes(data[at : at + 8], "little"))
            for lane in lanes:
                before = step(before, lane)
        for at in range(whole, len(data), 8):
            before = step(before, int.from_bytes(data[at : at + 8], "little"))
        return before

    known = 0x243F6A8885A308D3
    for value in values:
        kind = kinds[type(value)]
        if kind in (1, 2):
            data = value.encode() if kind == 1 else value
            known = take(step(known, len(data) << 3 | kind), data)
        else:
            known = step(known, kind)
        if kind == 3:
            known = step(known, value & mask)
        if kind == 4:
            known = step(known, int.from_bytes(struct.pack("<d", value), "little"))
    return known - 2**64 if known >= 2**63 else known


@given(values_of_a_record, st.binary(max_size=300))
def test_digests_are_what_they_say(values, data):
    assert digest(*values, data) == plainly([*values, data])


def test_digests_stay_what_they_are_in_files():
    assert digest("a", None, "é", 7, -1.5, b"12345678" * 9) == 1697421946995158741


def test_columns_of_different_lengths_and_values_of_other_types_are_refused():
    with pytest.raises(ValueError, match="expected 2 values each, got 1"):
        record_digests([["a", "b"], ["c"]])
    with pytest.raises(TypeError):
        record_digests([[object()]])


def test_settings_in_any_order_have_one_digest():
    items = [("a", "1"), ("b", "2"), ("c", None)]
    assert settings_digest(items) == settings_digest(items[::-1]) != settings_digest(items[:2])
