"""The number of threads that kernels use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from poincare_memory.threads import available_threads

PROGRAM = "from poincare_memory.threads import available_threads; print(available_threads())"
GRANTED = available_threads()


def started_with(limit: str | None, program: str = PROGRAM) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    if limit is not None:
        environment["OMP_NUM_THREADS"] = limit
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("limit", ["1", "1,4", " 1 "])
def test_the_environment_limits_threads(limit: str) -> None:
    assert started_with(limit) == "1"


@pytest.mark.parametrize("limit", ["", "0", "-3", "many", "99999999999999999999", "1000"])
def test_a_limit_that_is_none_changes_nothing(limit: str) -> None:
    assert started_with(limit) == started_with(None)


@pytest.mark.skipif(GRANTED < 2, reason="one processor has nothing to limit")
def test_kernels_keep_to_the_limit() -> None:
    program = (
        "import time, numpy as np; from poincare_memory import PoincareBall;"
        "x = np.random.default_rng(0).normal(size=(1500, 256)) / 40; ball = PoincareBall();"
        "ball.pairwise_distance(x, x);"
        "wall, used = time.perf_counter(), time.process_time();"
        "[ball.pairwise_distance(x, x) for _ in range(8)];"
        "print((time.process_time() - used) / (time.perf_counter() - wall))"
    )
    assert float(started_with("1", program)) < 1.15
