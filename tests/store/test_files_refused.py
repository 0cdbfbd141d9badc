"""What loading refuses, in SQLite and in JSON."""

import json
import os

import numpy as np
import pytest

from poincare_memory import (
    Memory,
)
from poincare_memory.store import json_records, portable
from store.kept_memories import DIM, NOW, contents, filled, payload, tamper

BAD_FIELDS = [
    ("id", ""),
    ("id", 5),
    ("id", "n1"),
    ("text", None),
    ("text", "lone \ud800"),
    ("parent", "nobody"),
    ("parent", 7),
    ("parent", "n0"),
    ("t", None),
    ("t", "yesterday"),
    ("t", 12),
    ("valid_from", "2026-13-01"),
    ("valid_until", ""),
    ("last_accessed", 3.5),
    ("access_count", -1),
    ("access_count", 1.5),
    ("access_count", True),
    ("access_count", 2**63),
    ("meta", [1]),
    ("point", [0.1] * (DIM - 1)),
    ("point", [1.0] * DIM),
    ("point", ["x"] * DIM),
    ("point", None),
    ("embedding", [0.1] * (DIM + 1)),
    ("embedding", [10**400] + [0] * (DIM - 1)),
    ("embedding", {}),
]


@pytest.mark.parametrize(("name", "value"), BAD_FIELDS)
def test_json_with_a_bad_field_names_the_record(name, value):
    data = payload()
    data["records"][0][name] = value
    with pytest.raises(ValueError, match=r"record [01]"):
        Memory.from_json(json.dumps(data))


@pytest.mark.parametrize("name", ["id", "text", "parent", "t", "meta", "point", "embedding", "access_count"])
def test_json_without_a_field_names_it(name):
    data = payload()
    del data["records"][1][name]
    with pytest.raises(ValueError, match=rf"record 1: '{name}' is missing"):
        Memory.from_json(json.dumps(data))


BAD_CONFIGS = [
    ("format", 2),
    ("format", True),
    ("format", None),
    ("curvature", 0),
    ("curvature", "1"),
    ("dim", 0),
    ("dim", 10**12),
    ("dim", 2.0),
    ("base_depth", -1),
    ("depth_step", None),
    ("inherit", 2),
    ("cone_constrained", "yes"),
    ("cone_k", 0),
    ("metric", "cosine"),
    ("time_coef", "high"),
    ("embedder", None),
    ("embedder", {"type": "Mine", "dim": DIM}),
    ("embedder", {"type": "hashing", "dim": -1}),
    ("embedder", {"type": "hashing", "dim": 32, "ngram_range": [3, 5], "seed": 0}),
    ("decay", {"type": "MyPolicy"}),
    ("decay", {"type": "half_life"}),
    ("decay", 3),
]


def test_a_policy_of_ones_own_must_be_passed_again(tmp_path):
    class Flat:
        def weight(self, now, times, *lists):
            return np.full(len(times), 0.5)

    mem = filled(3)
    mem.decay = Flat()
    path = tmp_path / "m.db"
    mem.save(path)
    for load, source in ((Memory.load, path), (Memory.from_json, mem.to_json()), (Memory.open, path)):
        with pytest.raises(ValueError, match=r"'Flat' is not a built-in one.*pass decay="):
            load(source)
        again = load(source, decay=Flat())
        assert isinstance(again.decay, Flat)
        again.close()


@pytest.mark.parametrize(("name", "value"), BAD_CONFIGS)
def test_bad_settings_are_refused_in_both_containers(tmp_path, name, value):
    data = payload()
    data["config"][name] = value
    with pytest.raises(ValueError, match=r"\w"):
        Memory.from_json(json.dumps(data))
    path = tmp_path / "m.db"
    filled(3).save(path)
    tamper(path, "UPDATE config SET value = ? WHERE key = ?", json.dumps(value), name)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"m\.db"):
        Memory.load(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.db"]


BAD_SQL = [
    ("UPDATE records SET parent_id = 'n2' WHERE id = 'n0'", "comes back to itself"),
    ("UPDATE records SET parent_id = 'n1' WHERE id = 'n1'", "comes back to itself"),
    ("DELETE FROM records WHERE id = 'n0'", "not in the file"),
    ("UPDATE records SET point = x'0000' WHERE id = 'n0'", "point"),
    ("UPDATE records SET point = 'text' WHERE id = 'n0'", "point"),
    ("UPDATE records SET embedding = zeroblob(24) WHERE id = 'n1'", "embedding"),
    ("UPDATE records SET embedding = NULL WHERE id = 'n1'", "embedding"),
    ("UPDATE records SET access_count = 'many' WHERE id = 'n1'", "access_count"),
    ("UPDATE records SET meta = '[1]' WHERE id = 'n1'", "meta"),
    ("UPDATE records SET meta = '{' WHERE id = 'n1'", "meta"),
    ("UPDATE records SET meta = '{\"v\": NaN}' WHERE id = 'n1'", "meta"),
    ("UPDATE records SET t = NULL WHERE id = 'n1'", "t"),
    ("UPDATE records SET text = x'ff' WHERE id = 'n1'", "text"),
    ("UPDATE records SET id = NULL WHERE id = 'n2'", "id"),
    ("UPDATE config SET value = '{' WHERE key = 'dim'", "config"),
    ("DELETE FROM config WHERE key = 'inherit'", "inherit"),
    ("DROP TABLE config", "not a memory store"),
    ("ALTER TABLE records DROP COLUMN meta", "readable"),
]


@pytest.mark.parametrize(("sql", "said"), BAD_SQL)
def test_a_damaged_store_is_refused_and_left_alone(tmp_path, sql, said):
    path = tmp_path / "m.db"
    filled(3).save(path)
    tamper(path, sql)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=said):
        Memory.load(path)
    assert path.read_bytes() == before


def test_a_long_cycle_is_found_without_recursion():
    data = json.loads(filled(1).to_json())
    first = data["records"][0]
    data["records"] = [{**first, "id": str(i), "parent": str((i + 1) % 3000)} for i in range(3000)]
    with pytest.raises(ValueError, match="comes back to itself"):
        Memory.from_json(json.dumps(data))


def test_not_json_and_not_text():
    for source in (
        "{",
        "[1]",
        "\ufeff[]",
        "{}",
        b"\xff{}",
        b"[]",
        '{"config": {}, "records": []}',
        "[" * 100_000,
    ):
        with pytest.raises(ValueError, match=r"JSON|config|format"):
            Memory.from_json(source)
    with pytest.raises(TypeError, match="path or JSON text"):
        Memory.from_json(5)
    with pytest.raises(FileNotFoundError):
        Memory.from_json("no-such-file.json")


def test_json_by_path_bytes_and_byte_order_mark(tmp_path):
    memory = filled()
    text = memory.to_json(tmp_path / "m.json")
    assert (tmp_path / "m.json").read_text(encoding="utf-8") == text
    for source in (
        tmp_path / "m.json",
        str(tmp_path / "m.json"),
        "\ufeff" + text,
        text.encode(),
        " \n" + text,
    ):
        assert Memory.from_json(source).ids == memory.ids


def outcome(text):
    try:
        memory = Memory.from_json(text, clock=lambda: NOW)
    except ValueError as error:
        return str(error)
    columns = memory._store.columns
    return contents(memory), memory.points.tolist(), columns.embeddings(columns.live_rows()).tolist()


OWN = filled(9).to_json()


WHOLE = json.loads(OWN)


NARROW = [{**record, "embedding": [1, 2.5] * (DIM // 2)} for record in WHOLE["records"]]


@pytest.mark.parametrize(
    ("text", "by_record"),
    [
        (OWN, True),
        (json.dumps(WHOLE, indent=3), True),
        (json.dumps({**WHOLE, "records": []}), True),
        (json.dumps({**WHOLE, "records": NARROW}), True),
        (json.dumps({"records": WHOLE["records"], "config": WHOLE["config"]}), False),
        (json.dumps({**WHOLE, "more": 1}), False),
        (OWN + " x", False),
        (OWN[:-1], False),
        (OWN[:-2] + ", ]}", False),
        (OWN[:-2] + ", null]}", False),
        (OWN.replace('"text"', '"txt"', 1), False),
        (OWN.replace('"point": [', '"point": [NaN, ', 1), False),
        (OWN.replace('"point": [', '"point": [true, ', 1), False),
        (OWN.replace('"point": [', '"point": [1' + 400 * "0" + ", ", 1), False),
        (OWN.replace('"id": "n0"', '"id": "n0", "id": "n1"', 1), False),
        (json.dumps({**WHOLE, "config": {**WHOLE["config"], "dim": DIM + 1}}), False),
        (json.dumps({**WHOLE, "config": {**WHOLE["config"], "format": 2}}), True),
        (json.dumps({**WHOLE, "config": None}), False),
    ],
)
def test_json_read_record_by_record_is_json_read_whole(monkeypatch, text, by_record):
    assert (json_records.archive_by_record(text) is not None) == by_record
    found = outcome(text)
    monkeypatch.setattr(portable, "archive_by_record", lambda text: None)
    assert found == outcome(text)
