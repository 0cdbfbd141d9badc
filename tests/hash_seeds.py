"""Runs programs under several seeds of Python's string hashes."""

from __future__ import annotations

import os
import subprocess
import sys


def answers_under_seeds(code: str, *seeds: str) -> set[str]:
    """What a program prints: one answer, if it depends on no order of hashes."""
    return {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in seeds
    }
