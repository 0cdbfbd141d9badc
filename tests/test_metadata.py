"""One version, one list of requirements, and documents that agree with them."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import poincare_memory

REPOSITORY = Path(__file__).parents[1]


def test_the_version_is_the_same_everywhere() -> None:
    version = poincare_memory.__version__
    assert metadata.version("poincare-memory") == version
    assert f"\nversion: {version}\n" in (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{version}]" in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")


def test_it_satisfies_what_clients_of_the_reference_require() -> None:
    major, minor, *_ = (int(part) for part in poincare_memory.__version__.split("."))
    assert (major, minor) > (0, 1), "poincare-memory>=0.1 must accept it; a pre-release would not be"


def test_numpy_is_the_only_run_time_requirement() -> None:
    required = metadata.requires("poincare-memory") or []
    assert [name for name in required if "extra ==" not in name] == ["numpy>=1.26"]


def test_every_extra_named_in_an_error_message_exists() -> None:
    extras = set(metadata.metadata("poincare-memory").get_all("Provides-Extra"))
    source = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "src").rglob("*.py"))
    named = {
        extra for group in re.findall(r"poincare-memory\[([\w,-]+)\]", source) for extra in group.split(",")
    }
    assert named
    assert named <= extras


def test_requirements_come_from_pyproject() -> None:
    script = REPOSITORY / "tools" / "requirements.py"
    command = [sys.executable, str(script), "build", "test"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert any(line.startswith("scikit-build-core") for line in printed)
    assert any(line.startswith("pytest>") for line in printed)
