"""Files of format 1 and their JSON twin: nothing is lost, nothing false is let in, the old file survives failures."""

import itertools
import json
import os
import sqlite3
import stat
import threading
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import (
    CallableEmbedder,
    HalfLife,
    HashingEmbedder,
    Memory,
    Product,
    ValidityWindow,
)
from poincare_memory.store import archive as archive_module
from poincare_memory.store import atomic, json_records, portable, sqlite

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DIM = 16


def filled(n=6, **settings_):
    memory = Memory(embedder=HashingEmbedder(dim=DIM), clock=lambda: NOW, **settings_)
    parent = None
    for i in range(n):
        parent = memory.add(
            f"node {i}", id=f"n{i}", parent=parent if i % 3 else None, meta={"i": i, "nested": [{"x": None}]}
        )
    return memory


def contents(memory):
    return [
        (r.id, r.text, r.parent_id, r.t, r.meta, r.valid_from, r.valid_until, r.access_count, r.last_accessed)
        for r in memory
    ]


def assert_same(first, second):
    assert contents(first) == contents(second)
    assert first.ids == second.ids
    assert [first.depth(id) for id in first.ids] == [second.depth(id) for id in second.ids]
    assert [first.children(id) for id in first.ids] == [second.children(id) for id in second.ids]
    np.testing.assert_allclose(first.points, second.points, rtol=0, atol=1e-15)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip)
instants = st.datetimes(timezones=st.just(timezone.utc))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def memories(draw):
    memory = Memory(
        embedder=HashingEmbedder(dim=DIM),
        curvature=draw(st.sampled_from([0.25, 1.0, 4.0])),
        decay=Product(HalfLife(24), ValidityWindow()),
        clock=lambda: NOW,
    )
    for i in range(draw(st.integers(0, 7))):
        window = sorted(draw(st.lists(instants, min_size=2, max_size=2)))
        memory.add(
            draw(texts),
            id=f"{i} {draw(texts)}",
            parent=draw(st.sampled_from([None, *memory.ids])),
            t=draw(instants),
            meta=draw(st.dictionaries(texts, values, max_size=3)),
            valid_from=draw(st.sampled_from([None, window[0]])),
            valid_until=draw(st.sampled_from([None, window[1]])),
        )
    if len(memory) > 2:
        memory.remove(memory.ids[draw(st.integers(0, len(memory) - 1))], cascade=True)
    memory.search("anything", k=2)
    return memory


@settings(max_examples=40, deadline=None)
@given(memories())
def test_round_trips(tmp_path_factory, memory):
    path = tmp_path_factory.mktemp("store") / "m.db"
    memory.save(path)
    assert_same(memory, Memory.load(path, clock=lambda: NOW))
    text = memory.to_json()
    assert_same(memory, Memory.from_json(text, clock=lambda: NOW))
    assert text == json.dumps(json.loads(text))  # to the letter what the json module writes
    assert json.loads(memory.to_json(indent=1)) == json.loads(text)


def test_a_loaded_store_is_alive(tmp_path):
    filled().save(tmp_path / "m.db")
    memory = Memory.load(tmp_path / "m.db")
    memory.add("another", parent="n1", id="new")
    memory.link("n3", "new")
    memory.remove("n0", cascade=True)
    memory.save(tmp_path / "m.db")
    assert Memory.load(tmp_path / "m.db").ids == memory.ids


def test_order_of_records_is_kept_after_removals(tmp_path):
    memory = filled(9)
    memory.remove("n0", cascade=True)
    memory.add("late", id="late")  # takes a freed row
    memory.save(tmp_path / "m.db")
    assert Memory.load(tmp_path / "m.db").ids == memory.ids == ["n3", "n4", "n5", "n6", "n7", "n8", "late"]


def test_float32_embeddings_stay_narrow(tmp_path):
    rng = np.random.default_rng(0)
    embedder = CallableEmbedder(lambda ts: rng.normal(size=(len(ts), 8)).astype(np.float32), 8)
    memory = Memory(embedder=embedder)
    memory.add_many([{"text": str(i)} for i in range(20)])
    memory.save(tmp_path / "m.db")
    loaded = Memory.load(tmp_path / "m.db", embedder=embedder)
    assert loaded._store.columns.embedding.dtype == np.float32
    np.testing.assert_array_equal(loaded._store.columns.embedding[:20], memory._store.columns.embedding[:20])


def test_levels_beyond_float64_keep_their_depth(tmp_path):
    memory = Memory(embedder=HashingEmbedder(dim=DIM))
    memory.add("root", id="0")
    memory.add_many([{"text": f"t{i}", "id": str(i), "parent": str(i - 1)} for i in range(1, 400)])
    memory.save(tmp_path / "m.db")
    loaded = Memory.load(tmp_path / "m.db")
    assert loaded.depth("399") == memory.depth("399") == 1.0 + 399 * 0.5
    assert (np.linalg.norm(loaded.points, axis=1) < 1).all()


# --- a store that changes while it is written ---------------------------------------------------------------------


def big(n=2000):
    memory = Memory(embedder=HashingEmbedder(dim=DIM), clock=lambda: NOW)
    memory.add_many([{"text": f"text {i}", "id": str(i)} for i in range(n)])
    return memory


@pytest.mark.parametrize(
    ("change", "calls"),
    [
        (lambda memory: memory.add("more", id="more"), 1),
        (lambda memory: memory.add_many([{"text": f"more {i}"} for i in range(5000)]), 1),
        (lambda memory: memory.search("text", k=3), 1),
        (lambda memory: memory.update("7", meta={"a": 1}), 1),
        (lambda memory: memory.update("1999", text="changed"), 2),
        (lambda memory: memory.update("7", text="changed"), 2),
        (lambda memory: memory.remove("1999"), 2),
        (lambda memory: (memory.remove("1999"), memory.add("in its row")), 2),
        (lambda memory: memory.link("0", "1999"), 2),
        (lambda memory: memory.compact(), 2),
    ],
)
def test_what_is_written_is_one_moment(change, calls):
    memory, archives = big(), []

    def write(archive):
        archives.append(archive)
        blocks = iter(archive.vectors)
        first = next(blocks)
        if len(archives) == 1:
            change(memory)
        return np.concatenate([embeddings for _, embeddings in (first, *blocks)])

    embeddings = archive_module.written(memory._store, write)
    assert len(archives) == calls
    np.testing.assert_array_equal(embeddings, memory.embedder.embed(archives[-1].fields["text"]))


def test_a_store_that_others_edit_is_saved_whole(tmp_path):
    memory, ended, turns = big(800), threading.Event(), itertools.count()

    def edit():
        while not ended.is_set():
            i = next(turns)
            memory.update(str(i % 800), text=f"turn {i}")

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        for _ in range(5):
            memory.save(tmp_path / "m.db")
            loaded = Memory.load(tmp_path / "m.db")
            texts = [record.text for record in loaded]
            np.testing.assert_array_equal(loaded._store.columns.embedding[:800], memory.embedder.embed(texts))
    finally:
        ended.set()
        editor.join()
    assert next(turns) > 5


# --- what load refuses ----------------------------------------------------------------------------------------


def payload():
    return json.loads(filled(3).to_json())


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


def tamper(path, sql, *arguments):
    with sqlite3.connect(path) as connection:
        connection.execute(sql, arguments)
    connection.close()


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
    return contents(memory), memory.points.tolist(), memory._store.columns.embedding.tolist()


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


# --- replacing a file -----------------------------------------------------------------------------------------


def test_load_creates_nothing(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        Memory.load(tmp_path / "missing.db")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", [b"my notes", b"x" * 5000, b"SQLite format 3\x00" + b"\x00" * 4080])
def test_a_foreign_file_is_never_replaced(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not replaced"):
        filled().save(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_another_applications_database_and_a_folder_are_never_replaced(tmp_path):
    tamper(tmp_path / "other.db", "CREATE TABLE users (a)")
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(ValueError, match="another application"):
        filled().save(tmp_path / "other.db")
    assert (tmp_path / "other.db").read_bytes() == before
    with pytest.raises(ValueError, match="expected a file"):
        filled().save(tmp_path)


def test_an_empty_file_and_an_older_store_are_replaced(tmp_path):
    path = tmp_path / "m.db"
    path.touch()
    filled(3).save(path)
    filled(5).save(path)
    assert len(Memory.load(path)) == 5
    assert os.listdir(tmp_path) == ["m.db"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes and symbolic links")
def test_mode_and_symbolic_link_are_kept(tmp_path):
    real, link = tmp_path / "real.db", tmp_path / "link.db"
    filled(2).save(real)
    real.chmod(0o600)
    link.symlink_to(real)
    filled(4).save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert len(Memory.load(real)) == 4
    filled(3).to_json(link)  # JSON over a store: the user asked for it, and the link stays
    assert link.is_symlink()
    assert len(Memory.from_json(real)) == 3


def test_any_failure_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch):
    path = tmp_path / "m.db"
    filled(2).save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left on device")

    for module, name in (
        (sqlite, "_write"),
        (sqlite, "fold_sidecars"),
        (atomic, "_flush"),
        (atomic, "_keep_owner_and_mode"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fail)
            with pytest.raises(OSError, match="no space"):
                filled(5).save(path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["m.db"]


def test_a_write_ahead_log_of_the_old_file_is_not_replayed_into_the_new_one(tmp_path):
    path = tmp_path / "m.db"
    filled(2).save(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("UPDATE records SET text = 'from the log'")
    connection.commit()
    assert (tmp_path / "m.db-wal").exists()
    copies = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    connection.close()
    for name, data in copies.items():  # as a killed process leaves them
        (tmp_path / name).write_bytes(data)
    memory = filled(4)
    memory.save(path)
    assert os.listdir(tmp_path) == ["m.db"]
    assert_same(Memory.load(path), memory)


def test_times_without_zone_and_with_z_are_utc():
    data = payload()
    for written in ("2026-01-02T03:04:05", "2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00"):
        data["records"][0]["t"] = written
        assert Memory.from_json(json.dumps(data)).get("n0").t == datetime(
            2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc
        )


def test_a_memory_without_direction_keeps_none(tmp_path):
    memory = Memory(embedder=HashingEmbedder(dim=DIM))
    memory.add("banana bread", id="bread")
    memory.add("!!!", id="noise", parent="bread")
    memory.save(tmp_path / "m.db")
    loaded = Memory.load(tmp_path / "m.db")
    assert loaded.depth("noise") == 1.5
    assert not loaded.point("noise").any()
    assert [hit.id for hit in loaded.search("banana", k=2)] == ["bread", "noise"]


def test_meta_changed_to_what_json_cannot_hold_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "m.db"
    filled(2).save(path)
    memory = Memory.load(path)
    memory.get("n0").meta["when"] = timedelta(1)
    before = path.read_bytes()
    for write in (lambda: memory.save(path), memory.to_json):
        with pytest.raises(TypeError, match=r"n0.*when"):
            write()
    assert path.read_bytes() == before


def test_a_target_in_a_missing_folder_is_named(tmp_path):
    mem = filled(2)
    for write in (mem.save, mem.to_json, mem.inspect):
        with pytest.raises(FileNotFoundError, match=r"nowhere"):
            write(tmp_path / "nowhere" / "m.db")
    assert os.listdir(tmp_path) == []
