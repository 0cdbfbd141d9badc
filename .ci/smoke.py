"""The installed wheel does its main job: remember, search, inspect, save, load."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import poincare_memory
from poincare_memory import HalfLife, Memory

EXPECTED_VERSION = "0.9.0"


def remember_search_save_load(folder: Path) -> None:
    memory = Memory(decay=HalfLife(hours=24 * 30))
    body = memory.add("Human musculoskeletal system")
    lower = memory.add("Lower limb musculature", parent=body)
    memory.add("Hamstring group: knee flexion and hip extension", parent=lower)
    memory.add("Rotator cuff", parent=body)
    found = [hit.text for hit in memory.search("hamstring tightness", k=2)]
    assert found[0].startswith("Hamstring group"), found
    memory.inspect(folder / "memory.html")
    memory.save(folder / "memory.db")
    again = Memory.load(folder / "memory.db")
    assert [hit.text for hit in again.search("hamstring tightness", k=2)] == found
    assert (folder / "memory.html").stat().st_size > 1000


def command_line(folder: Path) -> None:
    command = Path(sys.executable).with_name("poincare-memory")
    done = subprocess.run([command, "tree", folder / "memory.db"], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "Rotator cuff" in done.stdout, done.stdout


def with_orchestra() -> None:
    from importlib.metadata import version

    import poincare_orchestra

    assert version("poincare-memory") == EXPECTED_VERSION, "installing the client replaced our package"
    assert Path(poincare_orchestra.__file__).is_relative_to(sys.prefix)


if __name__ == "__main__":
    assert shutil.which("g++") is None, "this check is about machines without a compiler"
    assert poincare_memory.__version__ == EXPECTED_VERSION, poincare_memory.__version__
    assert Path(poincare_memory.__file__).is_relative_to(sys.prefix), poincare_memory.__file__
    with tempfile.TemporaryDirectory() as name:
        remember_search_save_load(Path(name))
        command_line(Path(name))
    if "--with-orchestra" in sys.argv:
        with_orchestra()
