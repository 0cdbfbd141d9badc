"""``progress=`` has one form wherever it is taken, and changes no result."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import (
    HashingEmbedder,
    Memory,
    PoincareBall,
    fit_euclidean_embeddings,
    fit_poincare_embeddings,
    reconstruction,
)
from poincare_memory.progress import metered

PAIRS = [("a", "b"), ("a", "c"), ("b", "d"), ("a", "d")]
POINTS = {name: np.array([0.1 * i, 0.2]) for i, name in enumerate("abcd")}


def memory() -> Memory:
    return Memory(embedder=HashingEmbedder(dim=16))


def filled(count: int = 2100) -> Memory:
    mem = memory()
    mem.add_many([{"text": f"memory {i}", "id": str(i)} for i in range(count)])
    return mem


def add_many(folder: Path, progress: Any) -> Any:
    mem = memory()
    mem.add_many([{"text": f"memory {i}", "id": str(i)} for i in range(300)], progress=progress)
    return mem.points.tolist()


def upsert(folder: Path, progress: Any) -> Any:
    mem = filled(10)
    items = [{"text": f"other {i}", "id": str(i)} for i in range(300)]
    mem.add_many(items, on_duplicate="update", progress=progress)
    return mem.points.tolist()


def import_file(folder: Path, progress: Any) -> Any:
    filled(50).export_file(folder / "m.csv")
    mem = memory()
    mem.import_file(folder / "m.csv", progress=progress)
    return mem.ids


def export_file(folder: Path, progress: Any) -> Any:
    mem = memory()
    mem.add("a", id="a")
    mem.export_file(folder / "m.md", bare=True, progress=progress)
    return (folder / "m.md").read_text()


def build_index(folder: Path, progress: Any) -> Any:
    mem = filled()
    mem.build_index("hnsw", progress=progress)
    return [hit.id for hit in mem.search("memory 7", use_index=True)]


def reembed(folder: Path, progress: Any) -> Any:
    (folder / "m.db").unlink(missing_ok=True)
    with Memory.open(folder / "m.db", embedder=HashingEmbedder(dim=8)) as mem:
        mem.add_many([{"text": f"memory {i}"} for i in range(300)])
    with Memory.open(
        folder / "m.db", embedder=HashingEmbedder(dim=16), reembed=True, progress=progress
    ) as mem:
        return mem.points.tolist()


def evaluate(folder: Path, progress: Any) -> Any:
    return reconstruction(POINTS, PAIRS, PoincareBall().distance, progress=progress)


def evaluate_in_python(folder: Path, progress: Any) -> Any:
    return reconstruction(POINTS, PAIRS, lambda x, y: np.abs(x - y).sum(axis=-1), progress=progress)


def fit(folder: Path, progress: Any) -> Any:
    return fit_poincare_embeddings(PAIRS, dim=2, epochs=5, progress=progress)[1].losses


def fit_flat(folder: Path, progress: Any) -> Any:
    return fit_euclidean_embeddings(PAIRS, dim=2, epochs=5, progress=progress)[1].losses


WORK = [
    add_many, upsert, import_file, export_file, build_index, reembed, evaluate, evaluate_in_python, fit, fit_flat,
]  # fmt: skip


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_a_function_is_told_and_nothing_else_changes(
    work: Callable[[Path, Any], Any], tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []
    with_it = work(tmp_path, lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len({total for _, total in told}) == 1
    for silent in (None, False):
        assert work(tmp_path, silent) == with_it


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_true_is_a_bar(
    work: Callable[[Path, Any], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tqdm", reason="an extra")
    work(tmp_path, True)
    assert "100%" in capsys.readouterr().err


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_anything_else_is_refused(work: Callable[[Path, Any], Any], tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="progress: expected True, False, None or a function"):
        work(tmp_path, "yes")


def test_without_tqdm_a_bar_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with (
        pytest.raises(ImportError, match=r"poincare-memory\[progress\]"),
        metered(True, 3, "working", "piece"),
    ):
        pass


def test_an_error_of_the_function_changes_nothing() -> None:
    mem = filled(3)

    def stop(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        mem.add_many([{"text": f"more {i}"} for i in range(600)], progress=stop)
    assert len(mem) == 3
