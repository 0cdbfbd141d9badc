"""The same answers on every machine: portable flags, plain IEEE arithmetic, SIMD levels that agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
BUILD_FILES = [
    REPOSITORY / "CMakeLists.txt",
    REPOSITORY / "pyproject.toml",
    REPOSITORY / "Makefile",
    *sorted((REPOSITORY / "cmake").iterdir()),
]
UNPORTABLE = re.compile(
    r"-march=|-mcpu=|-mtune=|-mavx|-mfma|-ffast-math|-Ofast|-funsafe-math|/fp:fast|/arch:"
)


def run(code: str, **environment: str) -> str:
    """Output of ``code`` in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", BUILD_FILES, ids=lambda path: path.name)
def test_no_flag_ties_the_build_to_a_machine_or_loosens_arithmetic(path: Path) -> None:
    assert UNPORTABLE.findall(path.read_text(encoding="utf-8")) == []


def test_the_commands_that_compiled_it_are_portable() -> None:
    databases = sorted(REPOSITORY.glob("build/**/build.ninja"))
    if not databases:
        pytest.skip("this install was not built in the tree (build/**/build.ninja); CI's is")
    flags = [line for path in databases for line in path.read_text().splitlines() if "FLAGS =" in line]
    assert flags
    assert [line for line in flags if UNPORTABLE.search(line)] == []


def test_subnormals_survive_the_import() -> None:
    code = """
import numpy as np
from poincare_memory._core import _kernels, _hnsw
smallest = np.float64(5e-324)
single = np.float32(1e-45)
print(float(smallest * 1.0) > 0, float(single * np.float32(1)) > 0, float(np.float64(2.3e-308) / 4) > 0)
"""
    assert run(code).split() == ["True"] * 3


WORK = """
import json
import numpy as np
from poincare_memory import HalfLife, HashingEmbedder, Memory, MIPSIndex, PoincareBall, sarkar_layout
from poincare_memory._core import _kernels

rng = np.random.default_rng(7)
result = {"level": _kernels.simd_level()}
for dtype in (np.float32, np.float64):
    ball = PoincareBall(0.7)
    x = ball.random_points(40, 19, 3.0, seed=1).astype(dtype)
    y = ball.random_points(33, 19, 3.0, seed=2).astype(dtype)
    result[f"pairwise {dtype.__name__}"] = ball.pairwise_distance(x, y).astype(float).tolist()
    index = MIPSIndex(ball, backend="numpy").build(x)
    result[f"neighbours {dtype.__name__}"] = [index.query(point, 7)[0].tolist() for point in y]

tree = [(0, i) for i in range(1, 40)] + [(i // 3, i) for i in range(40, 200)]
result["layout"] = [point.tolist() for point in sarkar_layout(tree, dim=5).values()]

words = [f"word{i}" for i in range(50)]
from datetime import datetime, timezone
now = datetime(2026, 1, 1, tzinfo=timezone.utc)
memory = Memory(embedder=HashingEmbedder(dim=101), decay=HalfLife(100), clock=lambda: now)
parent = None
for i in range(300):
    parent = memory.add(" ".join(rng.choice(words, 6)), id=str(i), parent=parent if i % 7 else None)
result["search"] = [
    [hit.id for hit in memory.search(" ".join(rng.choice(words, 3)), k=20, metric=metric)]
    for metric in ("shell", "hyperbolic")
    for _ in range(10)
]
print(json.dumps(result))
"""


def test_every_simd_level_gives_the_same_results() -> None:
    best = json.loads(run(WORK))
    levels = ["baseline", "avx2", "avx512"]
    for level in levels:
        forced = json.loads(run(WORK, POINCARE_MEMORY_SIMD=level))
        assert levels.index(forced["level"]) <= levels.index(level), "a level may be lowered, never raised"
        for name in best.keys() - {"level"}:
            assert forced[name] == best[name], f"{name} at level {level}"
