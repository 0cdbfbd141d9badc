"""The command line says what the reference's says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from poincare_memory import HalfLife, Memory
from reference.comparison import differences
from reference.harness import Reference

RANDOM_ID = re.compile(r"\b[0-9a-f]{12}\b")


def our_command(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "poincare_memory.cli", *argv]
    return subprocess.run(command, capture_output=True, encoding="utf-8", cwd=cwd, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``memory.db``, written by ours."""
    folder = tmp_path_factory.mktemp("command_line")
    memory = Memory(decay=HalfLife(hours=24 * 30))
    # Half a minute off the edges of rounding: the two sides run at different moments.
    then = datetime.now(timezone.utc) - timedelta(days=9, seconds=30)
    memory.add("Human musculoskeletal system", id="body", t=then)
    memory.add("Lower limb: calf, hamstring and knee", id="lower", parent="body", t=then)
    memory.add(
        "Calf strain after sprints, grade one – Größe 膝", id="calf", parent="lower", t=then, meta={"n": 1}
    )
    memory.add("Upper limb " + "and shoulder " * 9, id="upper", parent="body", t=then)
    memory.add("Sleep and recovery", id="sleep", t=then)
    memory.save(folder / "memory.db")
    return folder


COMMANDS = [
    ["tree", "memory.db"],
    ["search", "memory.db", "calf strain", "-k", "4"],
    ["search", "memory.db", "calf strain", "--mode", "subtree", "--root", "lower"],
    ["search", "memory.db", "knee", "--mode", "ancestors", "--root", "calf", "-k", "1"],
]


@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_same_output(argv: list[str], folder: Path, reference: Reference) -> None:
    theirs = reference.command(*argv, cwd=folder)
    ours = our_command(*argv, cwd=folder)
    assert theirs.returncode == 0, theirs.stderr
    assert (ours.returncode, ours.stdout) == (0, theirs.stdout)


def test_same_statistics(folder: Path, reference: Reference) -> None:
    theirs = json.loads(reference.command("stats", "memory.db", cwd=folder).stdout)
    ours = json.loads(our_command("stats", "memory.db", cwd=folder).stdout)
    for stats in (ours, theirs):
        stats["mean_time_weight"] = round(stats["mean_time_weight"], 3)  # some milliseconds lie between
    assert differences(ours, theirs) == []


def test_export_and_import_both_ways(folder: Path, reference: Reference) -> None:
    for argv in (["export", "memory.db", "{}.json"], ["import", "{}.json", "{}.db"]):
        for name, command in (("ours", our_command), ("theirs", reference.command)):
            done = command(*[part.format(name) for part in argv], cwd=folder)
            assert done.returncode == 0, done.stderr
    ours, theirs = (json.loads((folder / f"{name}.json").read_text()) for name in ("ours", "theirs"))
    assert differences(ours, theirs) == []
    trees = {
        (command, name): command("tree", f"{name}.db", cwd=folder).stdout
        for command in (our_command, reference.command)
        for name in ("ours", "theirs")
    }
    assert len(set(trees.values())) == 1


def test_the_demo_prints_the_same_tree(tmp_path: Path, reference: Reference) -> None:
    printed = {}
    for name, command in (("ours", our_command), ("theirs", reference.command)):
        (tmp_path / name).mkdir()
        done = command("demo", "-o", "demo", cwd=tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert {"demo.db", "demo.html"} <= {path.name for path in (tmp_path / name).iterdir()}
        printed[name] = RANDOM_ID.sub("<id>", done.stdout)
    assert "Human musculoskeletal system" in printed["theirs"]
    assert printed["ours"] == printed["theirs"]
