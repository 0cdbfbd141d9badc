"""Rows that are read from a file without Python's module in between: what that reads, and no more."""

from __future__ import annotations

import _sqlite3
import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import Memory
from poincare_memory._core import _kernels
from poincare_memory.store import sql

MODULE: str | None = getattr(_sqlite3, "__file__", None)
WIDTH = 16
VECTOR = bytes(range(WIDTH))
COLUMNS = ("number", "name", "point", "embedding", "extra", "last")
ROWS: list[tuple[Any, ...]] = [
    (1, "a", VECTOR, VECTOR[::-1], None, None),
    (-(2**63), "", VECTOR, VECTOR, None, "x"),
    (2**63 - 1, "ü\U0001f9e0", VECTOR, VECTOR, 2.5, None),
    (4, None, VECTOR, VECTOR, "with\0null", b"\x00\xff"),
    (5, "short", b"short", "text", None, float("inf")),
    (6, "none", None, 7, None, None),
]
STATEMENT = f"SELECT {', '.join(COLUMNS)} FROM things ORDER BY rowid"


def _is_shown() -> bool:
    try:
        _kernels.SqliteRows(MODULE, "file::memory:", "SELECT 1")
    except RuntimeError:
        return False
    return True


pytestmark = pytest.mark.skipif(not _is_shown(), reason="this Python's SQLite shows none of its functions")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "things ü.db"
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"CREATE TABLE things ({', '.join(COLUMNS)})")
        connection.executemany("INSERT INTO things VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    return file


def run(path: Path, statement: str = STATEMENT) -> _kernels.SqliteRows:
    return _kernels.SqliteRows(MODULE, f"{path.as_uri()}?mode=ro&immutable=1", statement)


class Taken:
    """What one call takes, from here or by way of Python's module."""

    def __init__(self, rows: Any, most: int, room: int = 1000, places: int | None = None) -> None:
        size = most if places is None else places
        self.columns: list[list[Any]] = [[] for _ in COLUMNS]
        self.points, self.embeddings = (np.zeros((size, WIDTH), np.uint8) for _ in range(2))
        self.digests = np.zeros(size, np.int64)
        into = (self.columns, self.points, self.embeddings, self.digests)
        if isinstance(rows, _kernels.SqliteRows):
            self.told = rows.take(most, room, 1, 2, *into)
        else:
            self.told = _kernels.take_records(rows, most, room, 1, 2, *into)


def test_rows_are_those_of_pythons_module(path: Path) -> None:
    assert list(run(path)) == ROWS
    rows = run(path)
    assert next(rows) == ROWS[0]
    assert Taken(rows, 2).columns[0] == [row[0] for row in ROWS[1:3]]
    assert list(rows) == ROWS[3:]
    assert next(rows, None) is None
    assert Taken(rows, 2).told == (0, 0, [])


@pytest.mark.parametrize("most", [1, 2, 6, 9])
def test_records_are_taken_as_from_pythons_module(path: Path, most: int) -> None:
    here, there = run(path), iter(ROWS)
    for _ in range(0, 10, most):
        taken, expected = Taken(here, most), Taken(there, most)
        assert taken.columns == expected.columns
        assert (taken.told[0], taken.told[2]) == (expected.told[0], expected.told[2])
        for name in ("points", "embeddings", "digests"):
            np.testing.assert_array_equal(getattr(taken, name), getattr(expected, name))


def test_no_row_is_taken_after_the_room_is_used_up(path: Path) -> None:
    rows = run(path)
    assert Taken(rows, 4, room=2 * WIDTH).told[:2] == (1, 2 * WIDTH + 1)
    assert next(rows) == ROWS[1]


def test_wrong_shapes_are_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="expected 2 places"):
        Taken(run(path), 2, places=1)
    with pytest.raises(ValueError, match="expected rows of 6 values, got 1"):
        Taken(run(path, "SELECT 1"), 2)


def test_what_it_cannot_read_is_left_to_pythons_module(path: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        run(tmp_path / "missing.db")
    with pytest.raises(RuntimeError):
        run(path, "SELECT nothing FROM things")
    with pytest.raises(RuntimeError, match="UTF-8"):
        list(run(path, "SELECT CAST(x'ff' AS TEXT)"))
    rows = run(path)
    rows.close()
    rows.close()
    with pytest.raises(RuntimeError, match="closed"):
        next(rows)
    damaged = bytearray(path.read_bytes())
    damaged[4096:8192] = b"\xff" * 4096
    path.write_bytes(damaged)
    with pytest.raises(RuntimeError):
        list(run(path))


def filled() -> Memory:
    memory = Memory()
    memory.add_many(
        {"text": f"note {i} ü", "id": f"id{i}", "parent": f"id{i // 3}" if i else None, "meta": {"n": i}}
        for i in range(700)
    )
    memory.get("id5").pinned = True
    return memory


def test_a_file_loads_the_same_with_and_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"
    filled().save(path)
    with monkeypatch.context() as patched:
        patched.setattr(_kernels, "take_records", None)  # the way by Python's module
        direct = Memory.load(path).to_json()

    def hidden(_: Path) -> sql.Run:
        def fail(_: str) -> Any:
            raise RuntimeError("no library")

        return fail

    monkeypatch.setattr(sql, "direct", hidden)
    assert Memory.load(path).to_json() == direct


def test_a_damaged_file_is_told_by_the_same_name_either_way(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    filled().save(path)
    data = path.read_bytes()
    at = data.index(b"note 77")
    path.write_bytes(data[:at] + b"nota" + data[at + 4 :])
    with pytest.raises(ValueError, match="record 'id77' at position 77 does not match its digest"):
        Memory.load(path)
    path.write_bytes(data[:at] + b"\xff" + data[at + 1 :])
    with pytest.raises(ValueError, match=r"not a readable memory store .*decode"):
        Memory.load(path)


def test_locks_that_this_process_has_on_a_file_stay(tmp_path: Path) -> None:
    """Closing a file drops the process's locks on it; SQLite sees to that, where it is one library that opens it."""
    path = tmp_path / "m.db"
    filled().save(path)
    write = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert len(Memory.load(path)) == 700
        found = subprocess.run([sys.executable, "-c", write], capture_output=True, text=True, check=False)
    assert "locked" in found.stderr
