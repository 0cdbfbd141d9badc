"""`Memory.open`: what an edit returned from is in the file, and the file is all there is to it."""

from __future__ import annotations

import json
import logging
import os
import pickle
import sqlite3
import stat
import time
from datetime import datetime, timedelta

import numpy as np
import pytest

from poincare_memory import HalfLife, HashingEmbedder, Memory
from poincare_memory.store import StoreBusyError, StoreClosedError, StoreWriteError
from store.live_memories import NOW, filled, opened
from store.snapshots import contents
from store.table_embedder import CheapEmbedder

# --- what is in the file ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        lambda mem: mem.add("toe", id="toe", parent="leg", meta={"é": [1, {"x": None}]}),
        lambda mem: mem.add_many([{"text": "a", "id": "a", "parent": "knee"}, {"text": "b", "parent": "a"}]),
        lambda mem: mem.update("leg", text="left leg", meta={"side": "left"}, valid_from=NOW),
        lambda mem: mem.update("knee", valid_until=None, t=NOW),
        lambda mem: mem.link("leg", None),
        lambda mem: (mem.link("leg", "odd"), mem.link("leg", "body")),
        lambda mem: mem.remove("knee"),
        lambda mem: mem.remove("body", cascade=True),
        lambda mem: (mem.remove("knee"), mem.add("knee again", id="knee", parent="arm")),
        lambda mem: setattr(mem.get("arm"), "t", NOW - timedelta(days=9)),
        lambda mem: setattr(mem.get("arm"), "meta", {"set": True}),
        lambda mem: setattr(mem.get("arm"), "access_count", 12),
        lambda mem: setattr(mem.get("arm"), "last_accessed", NOW),
        lambda mem: setattr(mem, "inherit", 0.5),
        lambda mem: setattr(mem, "decay", HalfLife(3)),
    ],
)
def test_every_edit_is_in_the_file_when_it_returns(tmp_path, edit):
    mem = filled(opened(tmp_path / "m.db"))
    edit(mem)
    other = opened(tmp_path / "m.db")  # a connection of its own: sees only what is committed
    assert contents(other) == contents(mem)
    assert np.allclose(other.points, mem.points, rtol=0, atol=1e-15)
    assert (other.inherit, other.decay) == (mem.inherit, mem.decay)
    want = contents(mem)
    mem.close()
    other.close()
    with opened(tmp_path / "m.db") as again:
        assert contents(again) == want


def test_the_file_is_one_of_format_1(tmp_path):
    path = tmp_path / "m.db"
    with filled(opened(path)) as mem:
        mem.link("leg", "arm")
        want = mem.table()
    loaded = Memory.load(path, embedder=CheapEmbedder(), clock=lambda: NOW)
    assert loaded.table() == want
    with sqlite3.connect(path) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(records)")]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    connection.close()
    assert (
        columns
        == (
            "pos id text parent_id t valid_from valid_until access_count last_accessed meta point embedding"
        ).split()
    )
    assert {name for name in tables if not name.startswith(("pm_", "sqlite_"))} == {"config", "records"}


def test_a_saved_file_becomes_a_live_one(tmp_path):
    path = tmp_path / "m.db"
    mem = filled(Memory(CheapEmbedder(), clock=lambda: NOW))
    mem.save(path)
    os.chmod(path, 0o600)
    with opened(path) as live:
        assert contents(live) == contents(mem)
        live.add("toe", id="toe", parent="leg")
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    assert os.listdir(tmp_path) == ["m.db"]
    assert Memory.load(path, embedder=CheapEmbedder()).children("leg") == ["knee", "toe"]


def test_saving_over_an_open_file_is_noticed(tmp_path, caplog):
    path = tmp_path / "m.db"
    live = filled(opened(path))
    mem = Memory(CheapEmbedder(), clock=lambda: NOW)
    mem.add("other", id="other")
    mem.add("leg", id="leg", parent="other")
    mem.save(path)
    with caplog.at_level(logging.WARNING, "poincare_memory"):
        assert contents(live) == contents(mem)
    assert "replaced" in caplog.text
    live.add("more", id="more", parent="leg")
    live.close()
    assert Memory.load(path, embedder=CheapEmbedder()).ids == ["other", "leg", "more"]


def test_a_file_that_is_gone_takes_no_writes(tmp_path):
    live = filled(opened(tmp_path / "m.db"))
    os.rename(tmp_path / "m.db", tmp_path / "moved.db")
    before = contents(live)
    with pytest.raises(StoreWriteError, match="removed or moved"):
        live.add("lost")
    assert contents(live) == before
    with pytest.raises(StoreWriteError, match="removed or moved"):
        live.close()
    with pytest.raises(StoreClosedError):
        len(live)


# --- opening ------------------------------------------------------------------------------------------


def test_settings_are_those_of_the_file(tmp_path):
    path = tmp_path / "m.db"
    settings = {"curvature": 0.5, "inherit": 0.5, "depth_step": 1.0, "cone_constrained": True}
    opened(path, decay=HalfLife(5), **settings).close()
    with opened(path, **settings) as mem:
        assert (mem.ball.c, mem.inherit, mem.depth_step, mem.cone_constrained) == (0.5, 0.5, 1.0, True)
        assert mem.decay == HalfLife(5)
    for name, value in (("curvature", 1.0), ("inherit", 0.25), ("metric", "hyperbolic")):
        with pytest.raises(ValueError, match=name):
            opened(path, **{name: value})
    with pytest.raises(TypeError, match="no such setting: dims"):
        opened(path, dims=3)


@pytest.mark.parametrize(("synchronous", "level"), [("off", 0), ("normal", 1), ("full", 2)])
def test_synchronous_is_asked_of_sqlite_on_every_connection_that_writes(tmp_path, synchronous, level):
    path = tmp_path / "m.db"
    other = Memory(CheapEmbedder())
    other.add("other", id="other")
    with opened(path, synchronous=synchronous) as mem:
        connections = mem._store.columns.file._connections
        assert connections.writer.execute("PRAGMA synchronous").fetchone() == (level,)
        assert connections.writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        other.save(path)
        assert mem.ids == ["other"]  # by new connections
        assert connections.writer.execute("PRAGMA synchronous").fetchone() == (level,)


def test_a_policy_that_is_passed_is_used_and_not_written(tmp_path):
    path = tmp_path / "m.db"
    opened(path, decay=HalfLife(5)).close()
    with opened(path, decay=HalfLife(9)) as mem:
        mem.add("one")
        assert mem.decay == HalfLife(9)
    with opened(path) as mem:
        assert mem.decay == HalfLife(5)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"synchronous": "sometimes"}, ValueError),
        ({"busy_timeout": -1}, ValueError),
        ({"busy_timeout": "long"}, TypeError),
        ({"curvature": -1.0}, ValueError),
        ({"metric": "flat"}, ValueError),
    ],
)
def test_bad_options_make_no_file(tmp_path, options, error):
    with pytest.raises(error):
        opened(tmp_path / "m.db", **options)
    assert os.listdir(tmp_path) == []


def test_what_is_not_there_or_not_ours(tmp_path):
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "m.db", create=False)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        opened(tmp_path / "nowhere" / "m.db")
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="expected a file"):
        opened(tmp_path)
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes\n" * 200)
    with pytest.raises(ValueError, match="not a readable memory store"):
        opened(notes)
    assert notes.read_text() == "my notes\n" * 200
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE users (name)")
    connection.commit()
    connection.close()
    before = other.read_bytes()
    with pytest.raises(ValueError, match="another application"):
        opened(other)
    assert other.read_bytes() == before


@pytest.mark.parametrize(
    "hostile",
    [
        "CREATE TRIGGER evil AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "CREATE TRIGGER pm_inserted AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "ALTER TABLE records ADD COLUMN big AS (hex(zeroblob(400000000)))",
    ],
)
def test_a_schema_that_acts_by_itself_is_refused(tmp_path, hostile):
    path = tmp_path / "m.db"
    filled(Memory(CheapEmbedder())).save(path)
    connection = sqlite3.connect(path)
    connection.execute(hostile)
    connection.commit()
    connection.close()
    with pytest.raises(ValueError, match="not of our making"):
        opened(path)


def test_an_empty_file_becomes_a_store_and_a_bare_database_too(tmp_path):
    (tmp_path / "a.db").touch()
    with opened(tmp_path / "a.db") as mem:
        mem.add("one")
    connection = sqlite3.connect(tmp_path / "b.db")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    with opened(tmp_path / "b.db") as mem:
        mem.add("one")


# --- whole or not at all ------------------------------------------------------------------------------


class Unwell(Exception):
    pass


def test_a_transaction_that_raises_is_neither_in_memory_nor_on_disk(tmp_path):
    mem = filled(opened(tmp_path / "m.db"))
    before = contents(mem)
    with pytest.raises(Unwell), mem.transaction():  # noqa: PT012
        mem.remove("leg", cascade=True)
        mem.update("arm", text="other", meta={"x": 1})
        mem.link("arm", "odd")
        mem.inherit = 0.9
        mem.search("other")
        mem.get("odd").meta["x"] = 1
        mem.add("leg", id="leg")
        raise Unwell
    assert contents(mem) == before
    mem.close()
    with opened(tmp_path / "m.db") as again:
        assert contents(again) == before
        assert again.inherit == 0.25


def test_a_transaction_is_one_commit(tmp_path):
    mem = opened(tmp_path / "m.db")
    other = opened(tmp_path / "m.db")
    with mem.transaction():
        mem.add("one", id="one")
        mem.add("two", id="two", parent="one")
        assert other.ids == []
        assert mem.search("two", k=1)[0].id == "two"
    assert other.ids == ["one", "two"]
    mem.close()
    other.close()


def test_edits_wait_for_another_writer_then_say_so(tmp_path):
    mem = opened(tmp_path / "m.db")
    impatient = opened(tmp_path / "m.db", busy_timeout=0.05)
    with mem.transaction():
        mem.add("one", id="one")
        start = time.monotonic()
        with pytest.raises(StoreBusyError, match="another process kept its turn"):
            impatient.add("two")
        assert time.monotonic() - start > 0.04
        assert impatient.ids == []
    impatient.add("two", id="two")
    assert mem.ids == ["one", "two"]
    mem.close()
    impatient.close()


def test_a_value_that_the_file_cannot_hold_changes_nothing(tmp_path):
    mem = filled(opened(tmp_path / "m.db"))
    mem.get("leg").meta["bad"] = {1, 2}  # behind the back of every check
    before = mem.ids
    with pytest.raises(TypeError, match=r"'leg'.*bad"):
        mem.add("more", id="more")
    assert mem.ids == before
    mem.get("leg").meta.clear()
    mem.add("more", id="more")
    mem.close()


# --- the end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("live", [True, False])
def test_after_close_every_call_says_so(tmp_path, live):
    mem = filled(opened(tmp_path / "m.db") if live else Memory(CheapEmbedder()))
    record = mem.get("leg")
    with mem:
        mem.add("one", id="one")
    mem.close()
    calls = [
        lambda: mem.add("x"),
        lambda: mem.add_many([{"text": "x"}]),
        lambda: mem.update("leg", text="x"),
        lambda: mem.remove("knee"),
        lambda: mem.link("knee", None),
        lambda: mem.search("x"),
        lambda: mem.get("leg"),
        lambda: mem.ids,
        lambda: len(mem),
        lambda: "leg" in mem,
        lambda: list(mem),
        lambda: mem.points,
        lambda: mem.table(),
        lambda: mem.tree(),
        lambda: mem.stats(),
        lambda: mem.save(tmp_path / "other.db"),
        lambda: mem.to_json(),
        lambda: setattr(record, "meta", {}),
        lambda: setattr(mem, "inherit", 0.5),
        lambda: mem.transaction().__enter__(),
        lambda: mem.build_index(),
    ]
    for call in calls:
        with pytest.raises(StoreClosedError, match="closed"):
            call()
    assert repr(mem).startswith("Memory(n=")
    assert record.text == "leg"


def test_a_copy_of_a_live_memory_lives_in_memory(tmp_path):
    mem = filled(opened(tmp_path / "m.db"))
    mem.clock = fixed_now
    copy = pickle.loads(pickle.dumps(mem))
    copy.add("only here", id="copy")
    assert "copy" not in mem
    mem.close()
    assert "copy" in copy


def fixed_now() -> datetime:
    return NOW


def test_a_live_memory_saves_elsewhere_and_as_json(tmp_path):
    mem = filled(opened(tmp_path / "m.db"))
    mem.save(tmp_path / "copy.db")
    assert Memory.load(tmp_path / "copy.db", embedder=CheapEmbedder()).ids == mem.ids
    assert [record["id"] for record in json.loads(mem.to_json())["records"]] == mem.ids
    mem.save(tmp_path / "m.db")  # its own file: that is up to date already
    mem.add("later", id="later")
    mem.close()
    assert "later" in Memory.load(tmp_path / "m.db", embedder=CheapEmbedder())


def test_the_hashing_embedder_is_restored(tmp_path):
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(dim=32, seed=3)) as mem:
        mem.add("green tea", id="tea")
    with Memory.open(tmp_path / "m.db") as mem:
        assert (mem.dim, mem.embedder.seed) == (32, 3)
        assert mem.search("green tea")[0].distance < 1e-6
