"""`Memory.open` looks before it touches: what is no good store, or another than was asked for, stays as it is."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from poincare_memory import HashingEmbedder, Memory
from store.table_embedder import CheapEmbedder


def saved(path: Path) -> Path:
    mem = Memory(CheapEmbedder())
    mem.add("body", id="body")
    mem.add("leg", id="leg", parent="body", meta={"n": 1})
    mem.save(path)
    return path


def lived(path: Path) -> Path:
    with Memory.open(path, embedder=CheapEmbedder()) as mem:
        mem.add("body", id="body")
        mem.add("leg", id="leg", parent="body", meta={"n": 1})
    return path


def spoil(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


FAULTS = [
    ("UPDATE records SET parent_id = 'leg' WHERE id = 'body'", "cycle|comes back"),
    ("UPDATE records SET parent_id = 'nobody' WHERE id = 'leg'", "nobody"),
    ("UPDATE records SET embedding = x'0102'", "expected 64 bytes"),
    ("UPDATE records SET meta = '[1]' WHERE id = 'leg'", "JSON object"),
    ("UPDATE records SET t = 'soon' WHERE id = 'leg'", "ISO 8601"),
    ("UPDATE config SET value = '2' WHERE key = 'format'", "unsupported file format 2"),
    ("UPDATE config SET value = '-1' WHERE key = 'curvature'", "curvature"),
    ("DELETE FROM config WHERE key = 'inherit'", "inherit"),
    ("INSERT INTO pm_digest VALUES (99, 1, 0, NULL)", "position 99 is missing"),
    ("CREATE TRIGGER evil AFTER INSERT ON records BEGIN DELETE FROM records; END", "not of our making"),
]


@pytest.mark.parametrize(
    "options", [{}, {"history": True}, {"reembed": True}], ids=["plain", "history", "reembed"]
)
@pytest.mark.parametrize(("fault", "said"), FAULTS)
@pytest.mark.parametrize("make", [saved, lived])
def test_a_file_with_a_fault_is_left_alone(tmp_path, make, fault, said, options):
    path = make(tmp_path / "m.db")
    spoil(path, fault)
    before = path.read_bytes()
    embedder = HashingEmbedder(dim=16) if options.get("reembed") else CheapEmbedder()
    with pytest.raises(ValueError, match=said):
        Memory.open(path, embedder=embedder, **options)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.db"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"embedder": HashingEmbedder(dim=8)}, "another embedder"),
        ({"embedder": CheapEmbedder(), "inherit": 0.75}, "inherit"),
        ({"embedder": CheapEmbedder(), "metric": "hyperbolic", "history": True}, "metric"),
        ({"embedder": HashingEmbedder(dim=16), "curvature": 2.0, "reembed": True}, "curvature"),
    ],
)
@pytest.mark.parametrize("make", [saved, lived])
def test_a_file_that_is_another_than_was_asked_for_is_left_alone(
    tmp_path, make, options: dict[str, Any], said
):
    path = make(tmp_path / "m.db")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=said):
        Memory.open(path, **options)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.db"]


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    "content", [b"x", b"S", b"\n", b"\0", b"ab", b"my notes", b"x" * 5000, b"SQLite format 3", b"\0" * 512]
)
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content, create):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a readable memory store"):
        Memory.open(path, create=create)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_a_live_file_opens_while_another_process_has_the_turn_to_write(tmp_path):
    path = lived(tmp_path / "m.db")
    with Memory.open(path, embedder=CheapEmbedder()) as mem, mem.transaction():
        mem.add("arm", id="arm")
        with Memory.open(path, embedder=CheapEmbedder(), busy_timeout=0.0) as other:
            assert other.ids == ["body", "leg"]
