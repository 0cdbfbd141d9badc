from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import pickle
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import HashingEmbedder
from poincare_memory.embed import CachedEmbedder
from poincare_memory.embed.identity import FINGERPRINT_TEXT


class Counting:
    """A hashing embedder that tells what it was asked, and can be down."""

    def __init__(self, seed: int = 0, dtype: Any = np.float64, name: str = "model") -> None:
        self.inner, self.dtype, self.dim, self.model_name = HashingEmbedder(16, seed=seed), dtype, 16, name
        self.asked: list[str] = []
        self.down = False

    def embed(self, texts: Sequence[str]) -> Any:
        if self.down:
            raise ConnectionError("down")
        self.asked += texts
        return self.inner.embed(texts).astype(self.dtype)

    def texts(self) -> list[str]:
        return [text for text in self.asked if text != FINGERPRINT_TEXT]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_text_is_embedded_once(tmp_path: Path, dtype: Any) -> None:
    inner = Counting(dtype=dtype)
    cached = CachedEmbedder(inner, tmp_path / "v.db")
    first = cached.embed(["a", "b", "a", "c"])
    assert inner.texts() == ["a", "b", "c"]
    later = Counting(dtype=dtype)
    again = CachedEmbedder(later, tmp_path / "v.db")
    assert np.array_equal(again.embed(["c", "a", "new"])[:2], first[[3, 0]])
    assert later.texts() == ["new"]
    assert (again.hits, again.misses, len(again)) == (2, 1, 4)
    assert first.dtype == again.embed(["a"]).dtype == dtype
    cached.close()
    again.close()


def test_models_do_not_share_vectors(tmp_path: Path) -> None:
    """Neither under other names, nor under one name: the fingerprint tells."""
    path = tmp_path / "v.db"
    for i, inner in enumerate([Counting(), Counting(name="other"), Counting(seed=1)]):
        cached = CachedEmbedder(inner, path)
        assert np.array_equal(cached.embed(["a"]), inner.inner.embed(["a"]))
        assert inner.texts() == ["a"], i
        assert len(cached) == 1
        cached.close()
    third = CachedEmbedder(Counting(seed=1), path)
    third.clear()
    first = CachedEmbedder(Counting(), path)
    assert (len(third), len(first)) == (0, 1)
    third.close()
    first.close()


def test_a_server_that_is_down_is_not_missed_for_known_texts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cached = CachedEmbedder(Counting(), tmp_path / "v.db")
    expected = cached.embed(["a"])
    cached.close()
    inner = Counting()
    inner.down = True
    offline = CachedEmbedder(inner, tmp_path / "v.db")
    assert np.array_equal(offline.embed(["a"]), expected)
    assert "could not embed a text to be known again by" in caplog.text
    with pytest.raises(ConnectionError):
        offline.embed(["a", "b"])
    offline.close()


def test_what_a_broken_run_had_is_kept(tmp_path: Path) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, tmp_path / "v.db", batch_size=2)
    real = inner.embed

    def failing(texts: Sequence[str]) -> Any:
        if "4" in texts:
            raise ConnectionError("down")
        return real(texts)

    inner.embed = failing  # type: ignore[method-assign]
    with pytest.raises(ConnectionError):
        cached.embed([str(i) for i in range(10)])
    assert len(cached) == 4
    inner.embed = real  # type: ignore[method-assign]
    cached.embed([str(i) for i in range(10)])
    assert inner.texts() == [str(i) for i in range(10)]
    cached.close()


def test_a_file_that_cannot_be_written_costs_no_embedding(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cached = CachedEmbedder(Counting(), tmp_path / "v.db")
    cached.embed(["a"])
    assert cached._opened is not None
    cached._opened[1].execute("PRAGMA query_only = ON")
    with caplog.at_level(logging.WARNING, "poincare_memory"):
        assert cached.embed(["a", "b"]).shape == (2, 16)
    assert "1 embeddings could not be kept" in caplog.text
    cached.close()


def test_damaged_vectors_are_embedded_again(tmp_path: Path) -> None:
    cached = CachedEmbedder(Counting(), tmp_path / "v.db")
    expected = cached.embed(["a", "b", "c"])
    cached.close()
    with sqlite3.connect(tmp_path / "v.db") as connection:
        rows = [row[0] for row in connection.execute("SELECT text FROM embedding")]
        for text, damage in zip(rows, (b"", b"f" + b"\xff" * 64, b"x" * 129), strict=True):
            connection.execute("UPDATE embedding SET vector = ? WHERE text = ?", (damage, text))
    connection.close()
    again = CachedEmbedder(Counting(), tmp_path / "v.db")
    assert np.array_equal(again.embed(["a", "b", "c"]), expected)
    assert again.misses == 3
    again.close()


def test_a_file_that_is_damaged_meanwhile_costs_no_embedding(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "v.db"
    cached = CachedEmbedder(Counting(), path)
    texts = [f"text {i}" for i in range(300)]
    expected = cached.embed(texts)
    cached.close()
    whole = path.read_bytes()
    for begin in (4096, 8192, len(whole) // 2):
        path.write_bytes(whole[:begin] + b"\xa5" * (len(whole) - begin))
        for leftover in tmp_path.glob("v.db-*"):
            leftover.unlink()
        try:
            again = CachedEmbedder(Counting(), path)
        except ValueError:  # the damage is in what opening reads
            continue
        with caplog.at_level(logging.WARNING, "poincare_memory"):
            assert np.array_equal(again.embed(texts), expected)
        assert "could not be" in caplog.text
        again.close()


def test_texts_where_vectors_should_be_are_embedded_again(tmp_path: Path) -> None:
    cached = CachedEmbedder(Counting(), tmp_path / "v.db")
    expected = cached.embed(["a"])
    with sqlite3.connect(tmp_path / "v.db") as connection:
        connection.execute("UPDATE embedding SET vector = 'a text'")
    connection.close()
    assert np.array_equal(cached.embed(["a"]), expected)
    cached.close()


@pytest.mark.parametrize(
    "rows",
    [np.zeros((1, 16)), np.full((2, 16), np.nan), np.zeros((2, 15)), np.zeros(16), None, [["x"] * 16] * 2],
)
def test_what_an_asynchronous_embedder_gets_wrong_is_not_kept(tmp_path: Path, rows: Any) -> None:
    class Wrong(Counting):
        async def aembed(self, texts: Sequence[str]) -> Any:
            return rows

    cached = CachedEmbedder(Wrong(), tmp_path / "v.db")
    with pytest.raises(ValueError, match=r"Wrong\.aembed returned"):
        asyncio.run(cached.aembed(["a", "b"]))
    assert len(cached) == 0
    cached.close()


def test_one_that_is_dropped_lets_its_file_go(tmp_path: Path) -> None:
    cached = CachedEmbedder(Counting(), tmp_path / "v.db")
    connection = cached._connection()
    del cached
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    for content in (b"nothing of the kind, and longer than a header of SQLite", b"x", b"\0"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="no file of embeddings"):
            CachedEmbedder(Counting(), path)
        assert path.read_bytes() == content
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE embedding (id)")
    connection.close()
    with pytest.raises(ValueError, match="no file of embeddings"):
        CachedEmbedder(Counting(), other)
    with pytest.raises(sqlite3.OperationalError):
        CachedEmbedder(Counting(), tmp_path / "missing" / "v.db")


def test_threads_share_one(tmp_path: Path) -> None:
    cached = CachedEmbedder(Counting(), tmp_path / "v.db", batch_size=3)
    expected = HashingEmbedder(16).embed([str(i) for i in range(40)])
    wrong: list[int] = []

    def work(start: int) -> None:
        found = [np.array_equal(cached.embed([str(i)])[0], expected[i]) for i in range(start, 40)]
        wrong.append(found.count(False))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [0] * 6
    assert len(cached) == 40
    cached.close()


def _fill(path: Path, start: int) -> None:
    cached = CachedEmbedder(HashingEmbedder(16), path, batch_size=2)
    cached.embed([str(i) for i in range(start, start + 20)])
    cached.close()


def test_processes_share_one_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path / "v.db", start)) for start in (0, 10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    cached = CachedEmbedder(HashingEmbedder(16), tmp_path / "v.db")
    assert len(cached) == 30
    copy = pickle.loads(pickle.dumps(cached))
    assert np.array_equal(copy.embed(["7"]), HashingEmbedder(16).embed(["7"]))
    assert copy.hits == 1
    cached.close()
    copy.close()


def test_asynchronously_through_the_embedders_own_way(tmp_path: Path) -> None:
    class Async(Counting):
        async def aembed(self, texts: Sequence[str]) -> Any:
            await asyncio.sleep(0)
            self.asked.append("aembed")
            return self.inner.embed(texts)

    inner = Async()
    cached = CachedEmbedder(inner, tmp_path / "v.db")
    assert np.array_equal(asyncio.run(cached.aembed(["a", "b"])), inner.inner.embed(["a", "b"]))
    assert inner.texts() == ["aembed"]
    assert np.array_equal(asyncio.run(cached.aembed(["b", "a"])), inner.inner.embed(["b", "a"]))
    assert inner.texts() == ["aembed"]
    plain = CachedEmbedder(Counting(), tmp_path / "w.db")
    assert asyncio.run(plain.aembed(["a"])).shape == (1, 16)
    cached.close()
    plain.close()


def test_the_texts_are_not_in_the_file(tmp_path: Path) -> None:
    cached = CachedEmbedder(Counting(), tmp_path / "v.db")
    cached.embed(["very private words"])
    cached.close()
    assert b"private" not in (tmp_path / "v.db").read_bytes()
