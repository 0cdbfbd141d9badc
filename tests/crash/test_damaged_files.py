"""Damaged files: a clear error or exactly what was saved; never a crash, a hang, exhausted memory or a false record."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from crash.damage import Outcome, damages, read_all
from poincare_memory import HalfLife, HashingEmbedder, Memory

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc and RLIMIT_AS"),
    pytest.mark.skipif("POINCARE_SANITIZED" in os.environ, reason="AddressSanitizer maps terabytes"),
]

COUNTS = [pytest.param(160, id="some"), pytest.param(2000, id="many", marks=pytest.mark.long)]
SEEDS = {160: (1,), 1000: tuple(range(20, 24)), 2000: tuple(range(10, 18))}


def filled(count: int = 24) -> Memory:
    memory = Memory(
        embedder=HashingEmbedder(dim=12),
        decay=HalfLife(24),
        clock=lambda: datetime(2026, 3, 1, tzinfo=timezone.utc),
    )
    for i in range(count):
        memory.add(
            f"node {i} says été {'and more ' * (i % 5)}",
            id=f"n{i}",
            parent=f"n{i // 2}" if i else None,
            meta={"i": i, "tags": ["a", "b"]} if i % 2 else None,
        )
    memory.search("node 3", k=4)
    return memory


def outcomes_of(good: bytes, kind: str, count: int, folder: Path) -> list[Outcome]:
    share = count // len(SEEDS[count])
    outcomes = [
        outcome for seed in SEEDS[count] for outcome in read_all(damages(good, share, seed), kind, folder)
    ]
    assert len(outcomes) > count // 2  # a blank block blanked is no damage
    return outcomes


def assert_clear(outcome: Outcome) -> None:
    assert {"ValueError", "OSError"} & set(outcome.error), (outcome.damage, outcome.error, outcome.message)
    assert len(outcome.message) > 10, outcome


def small_pages(path: Path) -> None:
    """The same file in pages of 512 bytes: more structure for the damage to hit."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA page_size = 512")
        connection.execute("VACUUM")
    connection.close()


@pytest.mark.parametrize("page_size", [512, 32768])
@pytest.mark.parametrize("count", COUNTS)
def test_a_damaged_store_is_refused_or_loads_as_it_was_saved(tmp_path, count, page_size):
    memory = filled()
    path = tmp_path / "good.db"
    memory.save(path)
    if page_size == 512:
        small_pages(path)
    saved = Memory.load(path).to_json()
    outcomes = outcomes_of(path.read_bytes(), "load", count // 2 if count > 1000 else count, tmp_path)
    for outcome in outcomes:
        if outcome.loaded is None:
            assert_clear(outcome)
        else:
            assert outcome.loaded == saved, outcome.damage
    assert any(outcome.loaded is None for outcome in outcomes)


@pytest.mark.parametrize("made", ["saved", "live"])
@pytest.mark.parametrize("count", COUNTS)
def test_a_damaged_file_is_not_opened_and_left_alone_or_opens_as_it_was(tmp_path, count, made):
    path = tmp_path / "good.db"
    filled().save(path)
    if made == "live":
        with Memory.open(path, history=True) as memory:
            memory.update("n3", text="node 3 says more")
    saved = Memory.load(path).to_json()
    outcomes = outcomes_of(path.read_bytes(), "open", count // 2 if count > 1000 else count, tmp_path)
    for outcome in outcomes:
        if outcome.loaded is None:
            assert_clear(outcome)
        else:
            assert outcome.loaded == saved, outcome.damage
    assert any(outcome.loaded is None for outcome in outcomes)


@pytest.mark.parametrize("count", COUNTS)
def test_damaged_json_is_refused_or_loads_as_it_reads(tmp_path, count):
    """JSON carries no digest, for people edit it: what it says, if valid, is what is loaded, and all of that."""
    good = filled().to_json().encode()
    outcomes = outcomes_of(good, "json", count, tmp_path)
    for outcome in outcomes:
        if outcome.loaded is None:
            assert_clear(outcome)
            continue
        said, loaded = json.loads(outcome.data), json.loads(outcome.loaded)
        assert len(loaded["records"]) == len(said["records"]), outcome.damage
        for record, back in zip(said["records"], loaded["records"], strict=True):
            for name in ("id", "text", "parent", "meta", "access_count", "embedding"):
                assert record[name] == back[name], (outcome.damage, name)
    assert any(outcome.loaded is None for outcome in outcomes)
