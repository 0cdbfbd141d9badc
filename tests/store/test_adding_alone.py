"""One memory at a time goes another way into the columns than many: it must leave the same there."""

from __future__ import annotations

import sqlite3
import tempfile
import weakref
from collections import deque
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.store.arrays import SCALARS
from poincare_memory.store.columns import Columns
from store.snapshots import everything

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def memory() -> Memory:
    return Memory(embedder=HashingEmbedder(dim=8), clock=lambda: NOW, cone_constrained=True)


@st.composite
def steps(draw: st.DrawFn) -> list[Any]:
    """Items to add, and ids whose subtrees are removed."""
    made: list[Any] = []
    for i in range(draw(st.integers(1, 30))):
        known = [step["id"] for step in made if isinstance(step, dict)]
        if known and draw(st.integers(0, 4)) == 0:
            made.append(draw(st.sampled_from(known)))
            continue
        item: dict[str, Any] = {"text": f"note {i}", "id": f"id {i}"}
        if known and draw(st.booleans()):
            item["parent"] = draw(st.sampled_from(known))
        if draw(st.booleans()):
            item["t"] = NOW - timedelta(hours=i)
        if draw(st.booleans()):
            item |= {"valid_from": NOW, "valid_until": NOW + timedelta(days=1), "meta": {"n": [i]}}
        if draw(st.booleans()):
            item["pin"] = draw(st.booleans())
        made.append(item)
    return made


@settings(max_examples=60, deadline=None)
@given(steps())
def test_one_at_a_time_leaves_what_a_batch_leaves(made: list[Any]) -> None:
    alone, batches = memory(), memory()
    for step in made:
        if not isinstance(step, dict):
            if step in alone:
                alone.remove(step, cascade=True)
                batches.remove(step, cascade=True)
        elif step.get("parent", step["id"]) in alone or "parent" not in step:
            alone.add(**step)
            batches.add_many([step])
    first, second = alone._store.columns, batches._store.columns
    assert (first.ids, first.texts, first.metas, first.row_of) == (
        second.ids, second.texts, second.metas, second.row_of
    )  # fmt: skip
    used = slice(0, first.high_water)
    rows = np.arange(first.high_water, dtype=np.int32)
    np.testing.assert_array_equal(first.embeddings(rows), second.embeddings(rows))
    for name in (*SCALARS, "direction"):
        np.testing.assert_array_equal(getattr(first, name)[used], getattr(second, name)[used], name)
    assert first.live_rows().tolist() == second.live_rows().tolist()
    assert first.n == second.n and first.dense() == second.dense()
    assert first.structure_version == second.structure_version
    np.testing.assert_array_equal(first.changed_rows(0), second.changed_rows(0))


@settings(max_examples=6, deadline=None)
@given(steps())
def test_one_at_a_time_leaves_in_a_file_what_a_batch_leaves(made: list[Any]) -> None:
    items = [step for step in made if isinstance(step, dict)]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "alone.db", Path(folder) / "batch.db"]
        alone, batch = (
            Memory.open(file, embedder=HashingEmbedder(dim=8), clock=lambda: NOW) for file in files
        )
        with alone, batch:
            for item in items:
                alone.add(**item)
            batch.add_many(items)
        first, second = map(contents, files)
    assert first == second
    assert len(first["records"]) == len(first["pm_digest"]) == len(first["pm_change"]) == len(items)


def contents(file: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(file)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


def test_what_a_transaction_takes_back_of_single_memories() -> None:
    mem = memory()
    mem.add("a root", id="root")
    mem.add("first", parent="root", id="first")

    def broken() -> None:
        with mem.transaction():
            mem.add("second", parent="root", id="second")
            mem.add("below", parent="second", id="below")
            mem.add("below the first", parent="first")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert mem.ids == ["root", "first"] and mem.children("root") == ["first"] and mem.children("first") == []
    mem.add("second", parent="root", id="second")
    assert mem.children("root") == ["first", "second"]


def test_ids_of_its_own_are_twelve_hex_digits_and_new() -> None:
    mem = memory()
    ids = {mem.add("a note") for _ in range(50)}
    assert len(ids) == 50 and all(len(id) == 12 and int(id, 16) >= 0 for id in ids)


class Breaking:
    """A writer of rows after which, or before which, an error is raised."""

    def __init__(self, columns: Columns, error: type[BaseException], writes: bool) -> None:
        self.inner, self.error, self.writes = columns.writer, error, writes

    def append(self, *given: Any) -> int:
        if self.writes:
            self.inner.append(*given)
        raise self.error


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_what_fails_half_way_leaves_nothing_in_a_transaction(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException], writes: bool
) -> None:
    mem = memory()
    root = mem.add("a root", id="root")
    columns = mem._store.columns
    with monkeypatch.context() as patched:
        patched.setattr(columns, "writer", Breaking(columns, error, writes))
        with mem.transaction(), pytest.raises(error):
            mem.add("a child", parent=root, id="child")
    assert mem.ids == ["root"] and mem.children("root") == []
    assert mem.add("a child", parent=root, id="child") == "child"
    assert mem.children("root") == ["child"]
    assert [hit.id for hit in mem.search("a child", k=1)] == ["child"]


class Unwilling(deque[Any]):
    """The last thing of a store that is asked for memory where a row is written, and gets none."""

    def append(self, value: Any) -> None:
        raise MemoryError


@pytest.mark.parametrize("reused", [False, True])
def test_memory_that_runs_out_in_the_midst_of_a_row_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, reused: bool
) -> None:
    mem = memory()
    root = mem.add("a root", id="root")
    mem.add("another", parent=root, id="other")
    if reused:
        mem.remove("other")
    columns = mem._store.columns
    before = everything(mem)
    with monkeypatch.context() as patched:
        patched.setattr(columns, "_journal", Unwilling())
        with pytest.raises(MemoryError):
            mem.add("a child", parent=root, id="child")
    assert everything(mem) == before
    assert mem.add("a child", parent=root, id="child") == "child"
    assert mem.children("root") == (["child"] if reused else ["other", "child"])
    twin = memory()
    twin.add("a root", id="root")
    if not reused:
        twin.add("another", parent="root", id="other")
    twin.add("a child", parent="root", id="child")
    assert mem.point("child").tolist() == twin.point("child").tolist()


def test_rows_are_written_where_there_is_room_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = Columns(dim=4)
    monkeypatch.setattr(columns, "make_room_for_one", lambda dtype: None)
    rule = (1.0, 0.5, 0.25, 1.0, False, 0.1)

    def add(embedding: Any, room: int = 1) -> None:
        columns.reserve(room, np.dtype(np.float32))
        columns._grow_live(room)
        columns.writer.append(columns, "a", "a", None, None, 0, 0, 0, 0, False, embedding, rule)

    with pytest.raises(ValueError, match="radius: no room for row 0"):
        columns.writer.append(
            columns, "a", "a", None, None, 0, 0, 0, 0, False, np.ones((1, 4), np.float32), rule
        )
    for shape in ((1, 3), (2, 4), (4,)):
        with pytest.raises(ValueError, match="expected shape"):
            add(np.ones(shape, np.float32))
    with pytest.raises(ValueError, match="expected float32, as all others are"):
        add(np.ones((1, 4)))
    assert columns.n == 0 and not columns.row_of and columns.ids == []


def test_a_store_lets_go_of_arrays_that_were_replaced() -> None:
    mem = memory()
    mem.add("a note", id="note")
    for change in (mem.compact, lambda: [mem.add(f"note {i}") for i in range(40)]):
        old = weakref.ref(mem._store.columns.direction)
        change()
        assert old() is None
