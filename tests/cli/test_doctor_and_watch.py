"""``doctor`` and ``watch``."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run, assert_one_line_error
from poincare_memory import HashingEmbedder, Memory


def test_doctor_takes_the_past_over(folder: Path, command: Run) -> None:
    with Memory.open(folder / "live.db", history=True) as mem:
        mem.add("Lives in Lisbon", id="home")
        mem.update("home", text="Lives in Porto")
    whole = "live.db is whole (1 memory, 1 past version)\n"
    assert command("doctor", "live.db") == (0, whole, "")
    output = command("doctor", "live.db", "--repair", "new.db")[1]
    assert output == f"{whole}wrote new.db (1 memory, 1 past version)\n"
    with Memory.open(folder / "new.db") as mem:
        assert [version.record.text for version in mem.history("home")] == [
            "Lives in Lisbon",
            "Lives in Porto",
        ]


# --- doctor -------------------------------------------------------------------------------------------


def damage(path: Path, statement: str = "UPDATE records SET t = 'soon' WHERE id = 'bf'") -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_whole_file(folder: Path, command: Run) -> None:
    assert command("doctor", "demo.db") == (0, "demo.db is whole (32 memories)\n", "")
    assert command("doctor", "demo.db", "--in-place")[0] == 0
    assert json.loads(command("doctor", "demo.db", "--json")[1]) == {
        "count": 32,
        "versions": 0,
        "findings": [],
    }
    assert [path.name for path in folder.iterdir()] == ["demo.db"]


def test_findings_are_told_and_change_nothing(folder: Path, command: Run) -> None:
    damage(folder / "demo.db")
    before = (folder / "demo.db").read_bytes()
    code, output, errors = command("doctor", "demo.db")
    assert (code, errors) == (1, "")
    assert "record 'bf'" in output and "t is 'soon'" in output and output.endswith("1 finding\n")
    assert len(json.loads(command("doctor", "demo.db", "--json")[1])["findings"]) == 1
    assert (folder / "demo.db").read_bytes() == before


def test_a_repaired_copy(folder: Path, command: Run) -> None:
    damage(folder / "demo.db")
    before = (folder / "demo.db").read_bytes()
    code, output, _ = command("doctor", "demo.db", "--repair", "new.db")
    assert code == 0 and "wrote new.db (32 memories)" in output
    assert command("doctor", "new.db")[0] == 0
    assert (folder / "demo.db").read_bytes() == before
    assert_one_line_error(command("doctor", "demo.db", "--repair", "new.db"), "exists already")
    assert_one_line_error(command("doctor", "demo.db", "--repair", "demo.db"), "exists already")


def test_in_place_never_without_a_backup(folder: Path, command: Run) -> None:
    damage(folder / "demo.db")
    before = (folder / "demo.db").read_bytes()
    code, output, _ = command("doctor", "demo.db", "--in-place")
    assert code == 0, output
    (backup,) = folder.glob("demo.db.backup-*")
    assert backup.read_bytes() == before
    assert backup.name in output
    assert command("doctor", "demo.db") == (0, "demo.db is whole (32 memories)\n", "")
    assert len(list(folder.iterdir())) == 2


def test_what_cannot_be_saved_is_left_alone(folder: Path, command: Run) -> None:
    (folder / "x.db").write_bytes(b"hello")
    assert command("doctor", "x.db")[0] == 1
    for options in (["--repair", "new.db"], ["--in-place"]):
        assert_one_line_error(command("doctor", "x.db", *options), "nothing can be saved")
    assert sorted(path.name for path in folder.iterdir()) == ["demo.db", "x.db"]
    assert (folder / "x.db").read_bytes() == b"hello"


# --- watch --------------------------------------------------------------------------------------------


def test_watching_what_others_do(folder: Path, monkeypatch: pytest.MonkeyPatch, command: Run) -> None:
    with Memory.open("live.db", embedder=HashingEmbedder(dim=8)) as mem:
        mem.add("before", id="before")
        edits: Any = iter(
            [
                lambda: mem.add("Drinks", id="drinks"),
                lambda: mem.update("drinks", text="Warm drinks"),
                lambda: None,
                lambda: mem.remove("drinks"),
            ]
        )
        monkeypatch.setattr("time.sleep", lambda _: next(edits)())
        code, output, errors = command("watch", "live.db", "--count", "3", "--json")
    assert (code, errors) == (0, "")
    told = [json.loads(line) for line in output.splitlines()]
    assert [(event["kind"], event["id"], event["text"]) for event in told] == [
        ("added", "drinks", "Drinks"), ("changed", "drinks", "Warm drinks"), ("removed", "drinks", None),
    ]  # fmt: skip


def test_watching_what_cannot_be_watched(folder: Path, command: Run) -> None:
    assert_one_line_error(command("watch", "demo.db"), "no live store")
    assert_one_line_error(command("watch", "none.db"), "none.db")
    (folder / "x.db").write_bytes(b"hello")
    assert_one_line_error(command("watch", "x.db"), "not a readable memory store")
    assert_one_line_error(command("watch", "demo.db", "--interval", "0"), "seconds", code=2)
