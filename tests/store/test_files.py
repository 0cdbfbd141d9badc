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
from poincare_memory.store import atomic, sqlite
from store.kept_memories import DIM, NOW, contents, filled, payload, tamper
from store.table_embedder import TableEmbedder


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
    for indent in (0, 1, 4):
        assert memory.to_json(indent=indent) == json.dumps(json.loads(text), indent=indent)


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


def embeddings_in(memory):
    columns = memory._store.columns
    return columns.embeddings(columns.live_rows())


def test_float32_embeddings_stay_narrow(tmp_path):
    rng = np.random.default_rng(0)
    embedder = CallableEmbedder(lambda ts: rng.normal(size=(len(ts), 8)).astype(np.float32), 8)
    memory = Memory(embedder=embedder)
    memory.add_many([{"text": str(i)} for i in range(20)])
    memory.save(tmp_path / "m.db")
    loaded = Memory.load(tmp_path / "m.db", embedder=embedder)
    assert loaded._store.columns.embedding_dtype == np.float32
    np.testing.assert_array_equal(embeddings_in(loaded), embeddings_in(memory))


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
            np.testing.assert_array_equal(embeddings_in(loaded), memory.embedder.embed(texts))
    finally:
        ended.set()
        editor.join()
    assert next(turns) > 5


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


def test_blocks_of_a_file_that_is_read_do_not_run_into_each_other(tmp_path, monkeypatch):
    """They are read into the same memory one after the other, embeddings of float32 being set after all of them."""
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        drawn = rng.normal(size=(100, 6)).astype(dtype)
        memory = Memory(TableEmbedder({f"text {i}": vector for i, vector in enumerate(drawn)}, dtype))
        memory.add_many({"text": f"text {i}", "id": str(i)} for i in range(100))
        memory.save(tmp_path / "m.db")
        monkeypatch.setattr("poincare_memory.store.sql.found.BLOCK_BYTES", 16 * 6 * 7)
        loaded = Memory.load(tmp_path / "m.db", embedder=memory.embedder)
        for i, vector in enumerate(drawn):
            np.testing.assert_array_equal(
                loaded._store.columns.embeddings(np.array([i], np.int32))[0], vector
            )
            np.testing.assert_allclose(loaded.point(str(i)), memory.point(str(i)), rtol=0, atol=1e-15)
