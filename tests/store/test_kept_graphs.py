"""The index of a live store is kept beside it and taken up again, whatever happened to the store or to the file."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import Memory
from poincare_memory.store import ranking
from poincare_memory.store.shell_index import ShellIndex

N = 600


class Table:
    """Text "i" is row i of a fixed matrix."""

    dim = 8
    matrix = np.random.default_rng(0).normal(size=(2 * N, 8))

    def embed(self, texts: Sequence[str]) -> Any:
        return self.matrix[[int(text) if text.isdigit() else 0 for text in texts]]


@pytest.fixture(autouse=True)
def graphs_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "SCANNED_MEANWHILE", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with an index, closed."""
    rng = np.random.default_rng(1)
    with Memory.open(tmp_path / "memory.db", embedder=Table()) as mem:
        mem.add_many(
            {"text": str(i), "id": str(i), "parent": str(rng.integers(0, i)) if i % 4 else None}
            for i in range(N)
        )
        remove_leaves(mem, 12)
        mem.build_index("hnsw")
        search(mem)
    return tmp_path / "memory.db"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Which graphs were built from nothing."""
    calls: list[list[str]] = []
    original = ShellIndex._new_graphs

    def counted(self: ShellIndex, metrics: Any) -> Any:
        calls.append(list(metrics))
        return original(self, metrics)

    monkeypatch.setattr(ShellIndex, "_new_graphs", counted)
    return calls


def remove_leaves(mem: Memory, count: int) -> None:
    for id in [id for id in mem.ids if not mem.children(id)][:count]:
        mem.remove(id)


def search(mem: Memory, use_index: bool = True) -> list[Any]:
    return [
        [
            (hit.id, hit.score)
            for hit in mem.search(str(q), k=5, metric=metric, touch=False, use_index=use_index)
        ]
        for q in range(N, N + 20)
        for metric in ("shell", "hyperbolic")
    ]


def check(mem: Memory) -> None:
    """Searches go through the graphs and find what the scan finds."""
    assert search(mem) == search(mem, use_index=False)
    index = mem._store.index
    assert isinstance(index, ShellIndex)
    assert {len(graph) for graph in index._graphs.values()} == {len(mem)}


def graph_file(path: Path) -> Path:
    return path.with_name(path.name + ".graph")


def test_the_index_is_there_again(path: Path, built: list[list[str]]) -> None:
    written = graph_file(path).read_bytes()
    with Memory.open(path, embedder=Table()) as mem:
        check(mem)
    assert built == []
    assert graph_file(path).read_bytes() == written  # nothing changed: nothing written
    with Memory.open(path, embedder=Table()) as mem:
        assert mem._store.index._graphs == {}  # not read before it is asked


def test_every_write_is_taken_in_and_kept(path: Path, built: list[list[str]]) -> None:
    with Memory.open(path, embedder=Table()) as mem:
        search(mem)
        edit(mem)
        check(mem)
    for _ in range(2):
        with Memory.open(path, embedder=Table()) as mem:
            check(mem)
    assert built == []


def edit(mem: Memory) -> None:
    mem.add_many({"text": str(N + i), "id": f"new {i}"} for i in range(50))
    remove_leaves(mem, 20)
    mem.update("4", text=str(2 * N - 1))
    mem.link("8", "12")


def test_a_stale_file_is_brought_up_to_date(path: Path, built: list[list[str]]) -> None:
    """As after a crash, or after another process that had no index wrote."""
    before = graph_file(path).read_bytes()
    graph_file(path).unlink()
    with Memory.open(path, embedder=Table()) as mem:
        assert mem._store.index is None
        edit(mem)
    graph_file(path).write_bytes(before)
    with Memory.open(path, embedder=Table()) as mem:
        check(mem)
    assert built == []
    assert graph_file(path).read_bytes() != before


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX")
def test_a_killed_process_leaves_a_graph_that_is_brought_up_to_date(
    path: Path, built: list[list[str]]
) -> None:
    before = graph_file(path).read_bytes()
    process = multiprocessing.get_context("spawn").Process(target=edit_and_die, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert graph_file(path).read_bytes() == before  # it is written when a store is closed
    with Memory.open(path, embedder=Table()) as mem:
        assert "new 49" in mem
        check(mem)
    assert built == []  # not from nothing


def edit_and_die(path: Path) -> None:
    mem = Memory.open(path, embedder=Table())
    edit(mem)
    search(mem)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("damage", ["cut", "flipped", "other", "empty", "header", "backend"])
def test_a_damaged_file_is_built_again(path: Path, built: list[list[str]], damage: str, caplog: Any) -> None:
    data = graph_file(path).read_bytes()
    damaged = {
        "cut": data[: len(data) // 3],
        "flipped": data[:-500] + bytes([data[-500] ^ 16]) + data[-499:],
        "other": b"SQLite format 3\0" * 10,
        "empty": b"",
        "header": data[:30] + b"}" + data[31:],
        "backend": data.replace(b'"hnsw"', b'"what"'),
    }[damage]
    graph_file(path).write_bytes(damaged)
    with caplog.at_level(logging.WARNING, "poincare_memory"), Memory.open(path, embedder=Table()) as mem:
        found = search(mem)
        assert found == search(mem, use_index=False)
        if damage in ("cut", "flipped"):
            check(mem)
            assert built
    assert "built again" in caplog.text


def test_another_store_of_the_same_name_gets_no_graph_of_the_old_one(path: Path) -> None:
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        path.with_name(name).unlink(missing_ok=True)
    with Memory.open(path, embedder=Table()) as mem:
        mem.add_many({"text": str(N + i), "id": str(i)} for i in range(300))
        check(mem)


def test_a_small_store_has_no_graph(tmp_path: Path) -> None:
    path = tmp_path / "small.db"
    with Memory.open(path, embedder=Table()) as mem:
        mem.add("1")
        mem.build_index()
        assert not graph_file(path).exists()
    assert not graph_file(path).exists()
    with Memory.open(path, embedder=Table()) as mem:
        mem.build_index("hnsw")
        assert graph_file(path).exists()
        mem.build_index("numpy")
        assert not graph_file(path).exists()


def test_a_graph_that_cannot_be_written_loses_nothing_else(path: Path, caplog: Any) -> None:
    with caplog.at_level(logging.WARNING, "poincare_memory"), Memory.open(path, embedder=Table()) as mem:
        search(mem)
        mem.add("7", id="one more")
        graph_file(path).unlink()
        graph_file(path).mkdir()
    assert "not written" in caplog.text
    with Memory.open(path, embedder=Table()) as mem:
        assert "one more" in mem.ids
