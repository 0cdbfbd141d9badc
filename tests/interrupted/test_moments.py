"""Ctrl-C at random moments of long public operations: it arrives soon, and everything is whole afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 0.2
# Where more want to run than can, threads wait for each other, and for their turn.
SECONDS_OF_A_BUSY_MACHINE = 5.0
SCRIPT = Path(__file__).with_name("moments.py")


def bound(seconds: float) -> float:
    busy = os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)
    return SECONDS_OF_A_BUSY_MACHINE if busy else seconds


@pytest.mark.skipif(sys.platform == "win32", reason="there are no alarms")
@pytest.mark.parametrize(
    ("memories", "seconds"),
    [
        (12_000, SECONDS),
        # What was built by then is let go of first: millions of Python's objects.
        pytest.param(300_000, 3 * SECONDS, marks=pytest.mark.long),
    ],
)
def test_ctrl_c_arrives_soon(memories: int, seconds: float) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, str(memories), "0"], capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == 0, done.stderr
    longest = dict(map(json.loads, done.stdout.splitlines()))
    assert len(longest) > 25
    assert {name: took for name, took in longest.items() if took > bound(seconds)} == {}
