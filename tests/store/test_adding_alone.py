"""One memory at a time goes another way into the columns than many: it must leave the same there."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.store import editing
from poincare_memory.store.arrays import SCALARS

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


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_what_fails_half_way_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    mem = memory()
    root = mem.add("a root", id="root")

    def fails(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(editing, "place", fails)
        with pytest.raises(error):
            mem.add("a child", parent=root, id="child")
    assert mem.ids == ["root"] and mem.children("root") == []
    assert mem.add("a child", parent=root, id="child") == "child"
    assert mem.children("root") == ["child"]
    assert [hit.id for hit in mem.search("a child", k=1)] == ["child"]
