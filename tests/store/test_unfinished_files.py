"""Files that other programs use, or died writing: what was committed is read, and nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from poincare_memory import Memory
from poincare_memory.store import StoreReadError
from store.children import as_somebody_else

COUNT = 200

# Another program: it commits one change, and dies in the middle of the next.
OTHER = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
connection.execute("PRAGMA cache_size = 2")
connection.execute("UPDATE records SET text = 'committed' WHERE id = '7'")
connection.execute("BEGIN")
connection.execute("UPDATE records SET text = text || ' and more'")
os.kill(os.getpid(), signal.SIGKILL)
"""

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL is POSIX")


def saved(path: Path) -> Path:
    memory = Memory()
    memory.add_many({"text": f"note {i}", "id": str(i)} for i in range(COUNT))
    memory.save(path)
    return path


def left_half_done(path: Path, mode: str) -> Path:
    subprocess.run([sys.executable, "-c", OTHER, str(saved(path)), mode], check=False, timeout=60)
    assert any(os.path.exists(f"{path}-{kind}") for kind in ("journal", "wal"))
    return path


def assert_committed(memory: Memory) -> None:
    expected = {str(i): "committed" if i == 7 else f"note {i}" for i in range(COUNT)}
    assert {record.id: record.text for record in memory} == expected


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp())  # not pytest's: others may not enter that
    os.chmod(path, 0o755)
    yield path
    os.chmod(path, 0o755)
    shutil.rmtree(path)


@pytest.mark.parametrize("mode", ["DELETE", "PERSIST", "TRUNCATE", "WAL"])
@pytest.mark.parametrize("read", [Memory.load, Memory.open])
def test_what_a_program_died_writing_is_taken_back(tmp_path, mode, read):
    path = left_half_done(tmp_path / "m.db", mode)
    with read(path) as memory:
        assert_committed(memory)
    assert_committed(Memory.load(path))


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_saving_over_what_a_program_died_writing(tmp_path, mode):
    path = left_half_done(tmp_path / "m.db", mode)
    memory = Memory()
    memory.add("new", id="new")
    memory.save(path)
    assert Memory.load(path).ids == ["new"]
    assert os.listdir(tmp_path) == ["m.db"]


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_where_it_cannot_be_taken_back_the_error_says_why(folder, mode):
    path = left_half_done(folder / "m.db", mode)
    if os.path.exists(f"{path}-shm"):
        os.unlink(f"{path}-shm")  # which SQLite would have to make again
    for file in folder.iterdir():
        os.chmod(file, 0o444)
    os.chmod(folder, 0o555)
    Memory().search("x")

    def work() -> None:
        with pytest.raises(StoreReadError, match="write access to the file and its folder"):
            Memory.load(path)

    assert as_somebody_else(work) == 0
    os.chmod(folder, 0o755)


def test_a_log_that_is_in_use_is_read_along(tmp_path):
    path = saved(tmp_path / "m.db")
    other = sqlite3.connect(path, isolation_level=None)
    assert other.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    other.execute("UPDATE records SET text = 'committed' WHERE id = '7'")
    assert os.path.getsize(f"{path}-wal")
    assert_committed(Memory.load(path))
    other.execute("BEGIN IMMEDIATE")
    other.execute("UPDATE records SET text = 'not yet'")
    assert_committed(Memory.load(path))
    other.execute("ROLLBACK")
    with Memory.open(path) as memory:
        assert_committed(memory)
        other.execute("UPDATE records SET text = 'note 7' WHERE id = '7'")
        assert memory.get("7").text == "note 7"
    other.close()
    assert Memory.load(path).get("7").text == "note 7"
