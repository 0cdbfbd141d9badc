"""Files made to do harm: they run nothing and take no more memory than they are large."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys

import pytest

from poincare_memory import HashingEmbedder, Memory

DIM = 8
pytestmark = [
    pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="needs RLIMIT_AS"),
    pytest.mark.skipif("POINCARE_SANITIZED" in os.environ, reason="AddressSanitizer maps terabytes"),
]


def saved(folder, count=3):
    memory = Memory(embedder=HashingEmbedder(dim=DIM))
    memory.add_many([{"text": f"note {i}", "id": f"n{i}"} for i in range(count)])
    path = folder / "m.db"
    memory.save(path)
    return path


def run(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def load_with_little_memory(path, kind="Memory.load"):
    """Load in a child that may take 300 MB beside what the import took."""
    code = (
        "import resource, sys\nfrom poincare_memory import Memory\nimport poincare_memory.store.sqlite, json\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 2**20,) * 2)\n"
        f"try: print(len({kind}(sys.argv[1])))\n"
        "except ValueError as error: print('refused:', str(error)[:300])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout.strip()


RECORDS = "(pos INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT{}, parent_id TEXT, t TEXT, valid_from TEXT, " \
    "valid_until TEXT, access_count INTEGER, last_accessed TEXT, meta TEXT{}, point BLOB, embedding BLOB)"  # fmt: skip


def test_a_default_value_that_fills_every_row_ends_the_reading(tmp_path):
    path = saved(tmp_path, 1)
    run(
        path,
        "DELETE FROM pm_digest",
        "ALTER TABLE records RENAME TO old",
        "CREATE TABLE records (pos INTEGER PRIMARY KEY)",
        "WITH RECURSIVE c(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM c WHERE x < 4999) "
        "INSERT INTO records SELECT x FROM c",
        f"ALTER TABLE records ADD COLUMN text TEXT DEFAULT '{'x' * 1_000_000}'",
        *(
            f"ALTER TABLE records ADD COLUMN {name} DEFAULT ''"
            for name in "id parent_id t valid_from valid_until access_count last_accessed meta point embedding".split()
        ),
    )
    assert path.stat().st_size < 3_000_000  # and would read as 5 GB
    assert "larger than the file" in load_with_little_memory(path)


def test_pages_that_many_rows_share_end_the_reading(tmp_path):
    """All branches of the tree of records lead to one leaf: a file of 3 MB that would read as 600 MB."""
    memory = Memory(embedder=HashingEmbedder(dim=DIM))
    memory.add("long " * 400_000, id="long")
    memory.add_many([{"text": "x" * 3000, "id": f"n{i}"} for i in range(300)])
    path = tmp_path / "m.db"
    memory.save(path)
    run(path, "DELETE FROM pm_digest", "PRAGMA page_size = 4096", "VACUUM")
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'records'").fetchone()
    connection.close()
    data = bytearray(path.read_bytes())
    start = (root - 1) * 4096
    assert data[start] == 5  # an inner page: cells of 4 bytes that name a page, and a key
    cells = int.from_bytes(data[start + 3 : start + 5], "big")
    assert cells > 250
    places = [int.from_bytes(data[start + 12 + 2 * i :][:2], "big") for i in range(cells)]
    long_leaf = bytes(data[start + places[0] :][:4])
    for place in places:
        data[start + place : start + place + 4] = long_leaf
    path.write_bytes(data)
    assert "damaged" in load_with_little_memory(path)


@pytest.mark.parametrize("table", ["records", "config"])
def test_computed_columns_are_refused(tmp_path, table):
    path = saved(tmp_path)
    run(path, f"ALTER TABLE {table} ADD COLUMN bomb TEXT AS (hex(zeroblob(400000000)))")
    assert "computed column" in load_with_little_memory(path)


def test_a_computed_text_is_never_computed(tmp_path):
    path = saved(tmp_path)
    run(
        path,
        "ALTER TABLE records RENAME TO old",
        "CREATE TABLE records " + RECORDS.format(" AS (hex(zeroblob(400000000)))", ""),
        "INSERT INTO records (pos, id, parent_id, t, access_count, point, embedding) "
        "SELECT pos, id, parent_id, t, access_count, point, embedding FROM old",
    )
    assert "computed column" in load_with_little_memory(path)


@pytest.mark.parametrize(
    "replacement",
    [
        "CREATE VIEW records AS SELECT * FROM old",
        "CREATE VIRTUAL TABLE records USING fts5(pos, id, text)",
        "CREATE VIEW records AS WITH RECURSIVE c(x) AS (VALUES (0) UNION ALL SELECT x FROM c) SELECT x FROM c",
    ],
)
def test_views_and_virtual_tables_are_no_records(tmp_path, replacement):
    path = saved(tmp_path)
    run(path, "ALTER TABLE records RENAME TO old", replacement)
    assert "no tables config and records" in load_with_little_memory(path)


@pytest.mark.parametrize("dim", [2**31 - 1, 2**62, 10**30])
@pytest.mark.parametrize("count", [0, 2])
def test_a_declared_dimension_allocates_nothing(tmp_path, dim, count):
    path = saved(tmp_path, count)
    embedder = {"type": "hashing", "dim": dim, "ngram_range": [3, 5], "seed": 0}
    run(
        path,
        f"UPDATE config SET value = '{dim}' WHERE key = 'dim'",
        f"UPDATE config SET value = '{json.dumps(embedder)}' WHERE key = 'embedder'",
    )
    answer = load_with_little_memory(path)
    assert answer.startswith("refused") or (count == 0 and answer == "0")
    text = json.loads(Memory(embedder=HashingEmbedder(dim=DIM)).to_json())
    text["config"].update(dim=dim, embedder=embedder)
    source = tmp_path / "m.json"
    source.write_text(json.dumps(text))
    answer = load_with_little_memory(source, "Memory.from_json")
    assert answer.startswith("refused") or answer == "0"


def test_triggers_of_a_file_run_nothing_while_it_is_read(tmp_path):
    path = saved(tmp_path)
    run(path, "CREATE TRIGGER harm AFTER INSERT ON records BEGIN DELETE FROM records; END")
    before = path.read_bytes()
    assert len(Memory.load(path)) == 3
    assert path.read_bytes() == before


def test_json_bombs(tmp_path):
    source = tmp_path / "m.json"
    for bomb in ("[" * 10**6, '{"a":' * 10**6, '{"config": ' + "9" * 10**6 + "}", '{"config": {"x": 1e999}}'):
        source.write_text(bomb)
        assert load_with_little_memory(source, "Memory.from_json").startswith("refused")


def test_a_key_said_twice_is_refused():
    text = Memory(embedder=HashingEmbedder(dim=DIM)).to_json()
    with pytest.raises(ValueError, match="same key twice"):
        Memory.from_json(text.replace('"records"', '"config"'))


@pytest.mark.parametrize("table", ["records", "config"])
def test_a_schema_that_is_no_text_is_told_as_such(tmp_path, table):
    """SQLite quotes it in its message, which then is no UTF-8."""
    path = saved(tmp_path)
    image = bytearray(path.read_bytes())
    at = image.index(2 * table.encode())  # the names of the table and of its entry, then the statement
    image[at] = 0xEB
    image[image.index(b"CREATE TABLE", at)] = 0xFF
    path.write_bytes(image)
    for use in (Memory.load, Memory.open, lambda path: Memory(embedder=HashingEmbedder(dim=DIM)).save(path)):
        with pytest.raises(ValueError, match=r"not a readable memory store .malformed database schema"):
            use(path)
    assert path.read_bytes() == image
    done = subprocess.run(
        [sys.executable, "-m", "poincare_memory.cli", "doctor", path], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "malformed database schema" in done.stdout
