"""``precision="compact"``: vectors in a file, and the same answers."""

from __future__ import annotations

import contextlib
import copy
import errno
import gc
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import HalfLife, Memory
from poincare_memory.store import room
from poincare_memory.store.errors import StoreWriteError
from poincare_memory.store.lock import SharedLock
from store.drawn_changes import Float32Embedder, do, steps

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def now() -> datetime:
    return NOW


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go; empty, whatever a test does."""
    place = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def items(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [
        {"id": str(i), "text": f"t {i}", "parent": str(i % 8 if i >= 8 else i // 2 - 1) if i > 1 else None}
        for i in range(first, first + count)
    ]


def pair(**options: Any) -> tuple[Memory, Memory]:
    options = {"clock": now} | options
    return Memory(Float32Embedder(), **options), Memory(Float32Embedder(), precision="compact", **options)


def answers(mem: Memory, **options: Any) -> Any:
    return [
        [(hit.id, hit.score, hit.distance) for hit in mem.search(query, k=k, touch=False, **options)]
        for query in ("t 3", "t 4", "t 501")
        for k in (1, 7, 200)
    ]


def assert_alike(full: Memory, compact: Memory) -> None:
    assert compact.precision == "compact" and full.precision == "full"
    assert full.ids == compact.ids
    assert full.points.tobytes() == compact.points.tobytes()
    assert answers(full) == answers(compact)
    assert full.to_json() == compact.to_json()


@settings(max_examples=80, deadline=None)
@given(
    st.lists(steps, max_size=20), st.sampled_from([{}, {"metric": "hyperbolic"}, {"cone_constrained": True}])
)
def test_any_changes_leave_the_same_memory(changes: list[Any], options: dict[str, Any]) -> None:
    memories = list(pair(**options))
    for mem in memories:
        mem.add_many(items(8))
    for change in changes:
        for at, mem in enumerate(memories):
            with contextlib.suppress(KeyError, ValueError):
                memories[at] = do(mem, *change)
    assert_alike(*memories)


def test_many_memories_and_every_way_to_search_them() -> None:
    full, compact = pair(decay=HalfLife(hours=1))
    for mem in (full, compact):
        for first in range(0, 3000, 500):  # grows
            mem.add_many(items(500, first))
        mem.remove("9", cascade=True)
        mem.add_many(items(300, 3000 * 4))  # in freed rows
    assert_alike(full, compact)
    for options in (
        {"metric": "hyperbolic"}, {"mode": "cone", "root": "0"}, {"mode": "subtree", "root": "2"},
        {"filters": {"x": 1}}, {"lexical_coef": 0.5}, {"diversity": 0.5},
    ):  # fmt: skip
        assert answers(full, **options) == answers(compact, **options)
    queries = [f"t {i}" for i in range(40)]
    many = [
        [[(hit.id, hit.score) for hit in hits] for hits in mem.search_many(queries, k=9, touch=False)]
        for mem in (full, compact)
    ]
    assert many[0] == many[1]
    for mem in (full, compact):
        mem.build_index("hnsw")
        mem.compact()
    assert_alike(full, compact)


def test_copies_and_pickles_are_compact_and_apart() -> None:
    full, compact = pair()
    for mem in (full, compact):
        mem.add_many(items(600))
    for twin in (copy.copy(compact), pickle.loads(pickle.dumps(compact))):
        assert_alike(full, twin)
        twin.update("3", text="t 1000")
        twin.add("t 1001", id="new")
        assert_alike(full, compact)
    assert_alike(full, compact)


def test_files(tmp_path: Path, folder: Path) -> None:
    full, compact = pair()
    for mem in (full, compact):
        mem.add_many(items(300))
    compact.save(tmp_path / "m.db")
    made = {"embedder": Float32Embedder()}
    assert_alike(
        Memory.load(tmp_path / "m.db", **made), Memory.load(tmp_path / "m.db", **made, precision="compact")
    )
    assert_alike(
        Memory.from_json(full.to_json(), **made),
        Memory.from_json(full.to_json(), **made, precision="compact"),
    )
    with (
        Memory.open(tmp_path / "m.db", **made, precision="compact", history=True) as one,
        Memory.open(tmp_path / "m.db", **made) as other,
    ):
        one.add_many(items(200, 300))
        other.update("3", text="t 77")
        other.link("4", "2")
        one.remove("5", cascade=True)
        assert one.ids == other.ids and one.tree() == other.tree()
        before = [[hit.id for hit in mem.search("t 3", as_of=one.get("7").t, k=3)] for mem in (one, other)]
        assert before[0] == before[1]
        assert {name.name for name in tmp_path.iterdir()} <= {"m.db", "m.db-wal", "m.db-shm"}
    with (
        Memory.open(tmp_path / "m.db", **made, precision="compact") as one,
        Memory.open(tmp_path / "m.db", **made) as other,
    ):
        assert_alike(other, one)
    assert list(folder.iterdir()) == []


def test_float64_after_float32() -> None:
    class Changing(Float32Embedder):
        dtype: Any = np.float32

        def embed(self, texts: list[str]) -> Any:
            return super().embed(texts).astype(self.dtype)

    memories = [Memory(Changing(), clock=now, precision=name) for name in ("full", "compact")]
    for mem in memories:
        mem.add_many(items(30))
        mem.embedder.dtype = np.float64
        mem.update("4", text="t 1009")
        mem.add("t 31", id="31", parent="4")
    assert_alike(*memories)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_parent_and_child_part_at_a_fork(tmp_path: Path) -> None:
    full, compact = pair()
    for mem in (full, compact):
        mem.add_many(items(400))
    before = answers(full)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        code = 1
        try:
            os.close(writing)
            signal.alarm(30)
            os.read(reading, 1)  # the parent has written, or is gone
            same = answers(compact) == before
            for mem in (full, compact):
                mem.update("4", text="t 2000")
                mem.add_many(items(50, 1000 * 4))
            assert_alike(full, compact)
            code = 0 if same else 2
        finally:
            os._exit(code)
    for mem in (full, compact):
        mem.update("5", text="t 3000")
        mem.add_many(items(700, 2000 * 4))
    assert_alike(full, compact)
    os.write(writing, b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert_alike(full, compact)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_no_thread_writes_between_a_fork_and_the_word_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    mem = pair()[1]
    mem.add_many(items(20))
    told = []
    release = SharedLock.release_write

    def released(lock: SharedLock) -> None:  # from here on, who waits to write goes on
        told.append(mem._store.columns.room.shared)
        release(lock)

    monkeypatch.setattr(SharedLock, "release_write", released)
    child = os.fork()
    if child == 0:  # pragma: no cover
        os._exit(0 if told and all(told) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert told and all(told)


CRASHING = """
import os, sys, tempfile
sys.path.insert(0, {tests!r})
tempfile.tempdir = {folder!r}
from poincare_memory import Memory
from store.drawn_changes import Float32Embedder
mem = Memory(Float32Embedder(), precision="compact")
mem.add_many({{"text": f"t {{i}}"}} for i in range(300))
live = Memory.open({path!r}, embedder=Float32Embedder(), precision="compact")
live.add_many({{"text": f"t {{i}}"}} for i in range(300))
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills itself with a signal")
def test_nothing_is_left_behind(tmp_path: Path, folder: Path) -> None:
    mem = Memory(Float32Embedder(), precision="compact")
    mem.add_many(items(300))
    assert list(folder.iterdir()) == []  # the file has no name
    used = count_descriptors()
    del mem
    gc.collect()
    assert count_descriptors() < used
    tests = str(Path(__file__).parents[1])
    program = CRASHING.format(tests=tests, folder=str(folder), path=str(tmp_path / "m.db"))
    assert subprocess.run([sys.executable, "-c", program]).returncode == -9
    assert list(folder.iterdir()) == []
    assert {name.name for name in tmp_path.iterdir()} <= {"m.db", "m.db-wal", "m.db-shm"}


def count_descriptors() -> int:
    folder = next(name for name in ("/proc/self/fd", "/dev/fd") if os.path.isdir(name))
    return len(os.listdir(folder))


def test_a_full_disk_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    full, compact = pair()
    for mem in (full, compact):
        mem.add_many(items(100))

    def no_space(self: Any, rows: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(room.MatrixFile, "_allocate", no_space)
        for attempt in (
            lambda: compact.add_many(items(500, 1000 * 4)),
            lambda: copy.copy(compact),
            lambda: compact.compact(),
            lambda: [compact.add("t 1") for _ in range(100)],
        ):
            known = compact.ids
            with pytest.raises(StoreWriteError, match="no room for the vectors"):
                attempt()
            for id in set(compact.ids) - set(known):
                compact.remove(id)
            assert_alike(full, compact)
        compact.update("4", text="t 2000")  # needs no room
    full.update("4", text="t 2000")
    for mem in (full, compact):
        mem.add_many(items(500, 1000 * 4))
    assert_alike(full, compact)


def test_without_allocation_by_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    full, compact = pair()
    for mem in (full, compact):
        mem.add_many(items(900))
        mem.add_many(items(900, 900))
    assert_alike(full, compact)


class NarrowFile:
    """A file whose disk takes at most a thousand bytes at once, and `room` in all."""

    def __init__(self, file: Any, room: int) -> None:
        self._file, self.room = file, room

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        taken = self._file.write(data[: min(1000, self.room)])
        self.room -= taken
        if taken == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(taken)


def test_bytes_that_the_disk_did_not_take_are_not_secured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    file = room.MatrixFile(None, 100, np.float64)
    file.stretched(50)
    narrow: Any = NarrowFile(file._file, room=16_500)
    file._file = narrow
    file.secure(20)
    assert narrow.tell() == 20 * 800
    with pytest.raises(StoreWriteError, match="no room for the vectors"):
        file.secure(40)
    narrow.room = 100_000
    file.secure(40)
    assert narrow.tell() == 40 * 800


def test_precision_is_checked(tmp_path: Path) -> None:
    for make in (
        lambda: Memory(precision="int4"),
        lambda: Memory.open(tmp_path / "m.db", precision=None),
        lambda: Memory.load(tmp_path / "m.db", precision=8),
        lambda: Memory.from_json("{}", precision="FULL"),
    ):
        with pytest.raises(ValueError, match="precision must be 'full' or 'compact'"):
            make()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif("POINCARE_SANITIZED" in os.environ, reason="AddressSanitizer holds back what is freed")
def test_memory_is_under_a_kilobyte() -> None:
    def anonymous() -> int:
        gc.collect()
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("RssAnon")).split()[1])

    class Random:
        dim = 384
        rng = np.random.default_rng(0)

        def embed(self, texts: list[str]) -> Any:
            return self.rng.standard_normal((len(texts), 384), dtype=np.float32)

    mem = Memory(Random(), precision="compact")
    mem.add("first")
    mem.search("a query")
    before = anonymous()
    for start in range(0, 20_000, 1000):
        mem.add_many({"id": f"m{i}", "text": f"short text {i}"} for i in range(start, start + 1000))
    mem.search("a query")
    assert (anonymous() - before) / 20_000 < 1200  # at 100,000, where arrays have less to spare: under 1,000
