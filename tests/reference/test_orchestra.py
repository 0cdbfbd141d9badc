"""A real client, ``poincare-orchestra`` 0.1.0, answers on ours as it does on the reference."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import poincare_memory
from reference.harness import Reference, install

PROGRAM = Path(__file__).with_name("orchestra_scenarios.py")
TOLERANCE = 1e-7


@pytest.fixture(scope="module")
def client() -> list[Path]:
    """Folders of the client and of what it needs besides a ``poincare_memory``."""
    return [install("poincare-orchestra==0.1.0"), install("pydantic>=2.5,<3", dependencies=True)]


def run_on_ours(client: list[Path], *argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, client))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, *argv]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", env=environment, cwd=cwd, timeout=240
    )


@pytest.fixture(scope="module")
def ours(client: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("ours")
    done = run_on_ours(client, str(PROGRAM), "out.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "out.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def theirs(
    client: list[Path], reference: Reference, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("theirs")
    done = reference.python(str(PROGRAM), "out.json", cwd=folder, also=client)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "out.json").read_text(encoding="utf-8"))


def test_each_side_imported_its_own(
    ours: dict[str, Any], theirs: dict[str, Any], reference: Reference
) -> None:
    assert (ours["version"], ours["file"]) == (poincare_memory.__version__, poincare_memory.__file__)
    assert theirs["version"] == "0.1.4"
    assert Path(theirs["file"]).is_relative_to(reference.folder)
    assert ours["client"] == theirs["client"]


def differences(ours: Any, theirs: Any, where: str = "") -> list[str]:
    """Where two JSON values differ by more than the tolerance of the drop-in."""
    waiting, found = [(where, ours, theirs)], []
    while waiting:
        where, mine, other = waiting.pop()
        if isinstance(mine, dict) and isinstance(other, dict) and mine.keys() == other.keys():
            waiting += [(f"{where}.{key}", mine[key], other[key]) for key in mine]
        elif isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
            waiting += [(f"{where}[{i}]", a, b) for i, (a, b) in enumerate(zip(mine, other, strict=True))]
        elif isinstance(mine, float) and isinstance(other, float):
            if not math.isclose(mine, other, rel_tol=0, abs_tol=TOLERANCE):
                found.append(f"{where}: {mine} instead of {other}")
        elif mine != other:
            found.append(f"{where}: {mine!r} instead of {other!r}")
    return found


@pytest.mark.parametrize("name", ["clinical_anatomy", "sprint_coaching", "support_kb"])
def test_scenarios_have_the_same_answers(name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert set(ours["scenarios"]) == set(theirs["scenarios"])
    assert len(theirs["scenarios"][name]["answers"]) >= 1
    assert differences(ours["scenarios"][name], theirs["scenarios"][name]) == []


def test_the_command_line_of_the_client(client: list[Path], tmp_path: Path) -> None:
    code = "import sys; from poincare_orchestra.cli import main; sys.exit(main(sys.argv[1:]))"
    for argv in (["list"], ["eval", "support_kb"], ["inspect", "sprint_coaching", "-o", "page.html"]):
        done = run_on_ours(client, "-c", code, *argv, cwd=tmp_path)
        assert done.returncode == 0, (argv, done.stderr)
    assert (tmp_path / "page.html").stat().st_size > 1000
