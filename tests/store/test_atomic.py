"""Replacing a file in one step: what reaches the disk when, whose the new file is, and what is swept away."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from poincare_memory import Memory
from poincare_memory.store import atomic


def filled(count: int) -> Memory:
    memory = Memory()
    memory.add_many({"text": f"note {i}", "id": str(i)} for i in range(count))
    return memory


WRITES: dict[str, Any] = {
    "save": lambda memory, path: memory.save(path),
    "to_json": lambda memory, path: memory.to_json(path),
    "backup": lambda memory, path: memory.backup(path),
}


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be flushed there")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("live", [False, True])
def test_bytes_are_flushed_before_the_rename_and_the_folder_after_it(tmp_path, monkeypatch, write, live):
    path = tmp_path / "m.out"
    memory = Memory.open(tmp_path / "live.db") if live else filled(0)
    memory.add("note", id="a")
    steps: list[tuple[str, bool]] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        steps.append(("fsync", stat.S_ISDIR(os.fstat(descriptor).st_mode)))
        fsync(descriptor)

    def noted_replace(source: Path, target: Path) -> None:
        steps.append(("replace", False))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    WRITES[write](memory, path)
    assert steps == [("fsync", False), ("replace", False), ("fsync", True)]
    memory.close()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files to somebody else"
)
@pytest.mark.parametrize("write", WRITES)
def test_the_owner_and_the_mode_stay(tmp_path, write):
    path = tmp_path / "m.out"
    memory = filled(2)
    WRITES["to_json" if write == "to_json" else "save"](memory, path)
    os.chown(path, 1234, 2345)
    os.chmod(path, 0o640)
    WRITES[write](filled(5), path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 2345, 0o640)


def test_a_new_file_is_never_open_to_more_than_the_old_one_was(tmp_path, monkeypatch):
    path = tmp_path / "m.db"
    filled(2).save(path)
    os.chmod(path, 0o600)
    modes = []
    create = atomic._create

    def noted(temporary: Path, target: Path) -> None:
        create(temporary, target)
        modes.append(stat.S_IMODE(temporary.stat().st_mode))

    monkeypatch.setattr(atomic, "_create", noted)
    filled(3).save(path)
    assert modes == [0o600] or os.name == "nt"


def test_what_killed_writers_left_is_swept_away_a_day_later(tmp_path):
    ages = {
        ".m.db.0123456789ab.tmp": 2,
        ".m.db.0123456789ab.tmp-journal": 2,
        ".m.db.abcdefabcdef.tmp": 0,  # somebody may be writing it
        ".other.db.0123456789ab.tmp": 2,
        ".m.db.notes.tmp": 2,
        "m.db.0123456789ab.tmp": 2,
    }
    for name, days in ages.items():
        file = tmp_path / name
        file.write_text("x")
        then = time.time() - days * 24 * 3600 - 60
        os.utime(file, (then, then))
    filled(1).save(tmp_path / "m.db")
    assert sorted(os.listdir(tmp_path)) == sorted({"m.db", *list(ages)[2:]})


def test_the_disk_begins_while_a_file_grows_and_the_pieces_come_through(tmp_path, monkeypatch):
    path = tmp_path / "growing"
    path.write_bytes(b"")
    begun: list[int] = []  # how long the file was

    def start(descriptor: int) -> None:
        assert os.path.samestat(os.fstat(descriptor), path.stat())
        begun.append(path.stat().st_size)

    monkeypatch.setattr(atomic._kernels, "start_writeback", start)
    monkeypatch.setattr(atomic, "WRITTEN_AT_ONCE", 10)
    with atomic.EarlyWriting(path) as disk, path.open("wb", buffering=0) as file:
        for piece in disk.along([b"12345", b"6789", b"0", b"12345678901", b"1"], len):
            file.write(piece)
    assert path.read_bytes() == b"1234567890123456789011"
    assert begun == [10, 21]


def test_the_disk_that_cannot_begin_is_no_error_of_its_own(tmp_path):
    reading, writing = os.pipe()
    for descriptor in (reading, writing):
        atomic._kernels.start_writeback(descriptor)  # no file
        os.close(descriptor)
    atomic._kernels.start_writeback(writing)  # closed


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nothing lists the files that are open")
def test_a_save_leaves_no_file_open_whether_it_succeeds_or_not(tmp_path, monkeypatch):
    memory = filled(300)
    memory.save(tmp_path / "a.db")
    before = os.listdir("/proc/self/fd")
    memory.save(tmp_path / "a.db")
    assert os.listdir("/proc/self/fd") == before

    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("poincare_memory.store.sql.commit", full)
    with pytest.raises(MemoryError):
        memory.save(tmp_path / "a.db")
    assert os.listdir("/proc/self/fd") == before
