"""Damage that SQLite cannot see is found by a file's own digests; edits through SQL are edits, not damage."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.store.digests import record_digest, settings_digest


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


@given(st.lists(st.none() | st.text(max_size=4), min_size=7, max_size=7), st.binary(min_size=8, max_size=24))
def test_any_single_bit_of_a_record_changes_its_digest(values, vector):
    digest = record_digest(values, vector, vector)
    assert record_digest(tuple(values), memoryview(vector), vector) == digest
    for bit in range(8 * len(vector)):
        changed = bytearray(vector)
        changed[bit // 8] ^= 1 << bit % 8
        assert record_digest(values, bytes(changed), vector) != digest
        assert record_digest(values, vector, bytes(changed)) != digest


def test_settings_in_any_order_have_one_digest():
    items = [("a", "1"), ("b", "2"), ("c", None)]
    assert settings_digest(items) == settings_digest(items[::-1]) != settings_digest(items[:2])
