"""Packages that the test extra lists and some tests need: where one is missing, those are skipped, but never in CI."""

from __future__ import annotations

import importlib.util
import os

import pytest


def needs(*packages: str) -> None:
    """Skip the module (or test) that says so, unless all packages are there."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if not missing:
        return
    if os.environ.get("CI"):
        raise ModuleNotFoundError(f"{', '.join(missing)}: in the test extra, and not installed")
    pytest.skip(f'needs {", ".join(missing)}: pip install "poincare-memory[test]"', allow_module_level=True)
