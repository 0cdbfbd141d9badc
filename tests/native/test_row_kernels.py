"""Row kernels: the proven error bound, and the same bits from every SIMD level."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory._core import _kernels

LEVELS = ("baseline", "avx2", "avx512")

DIGEST = """
import hashlib, numpy as np
from poincare_memory._core import _kernels
from native.scan_columns import Scan, unit_rows
sha = hashlib.sha256()
rng = np.random.default_rng(0)
for dim in (1, 7, 16, 31, 32, 47, 48, 64, 100, 384):
    rows = unit_rows(rng.normal(size=(333, dim)))
    out = np.empty(333, np.float32)
    _kernels.row_dots(rows[5].astype(np.float32), rows.astype(np.float32), None, out)
    sha.update(out.tobytes())
    for metric in (_kernels.SCAN_SHELL, _kernels.SCAN_HYPERBOLIC):
        scan = Scan(rows, rng.uniform(0, 30, 333), rows[9].copy(), metric=metric, depth_bias=0.1)
        sha.update(repr(scan.top(20)).encode())
    scale = np.tanh(rng.uniform(0, 19, (333, 1)) / 2)
    for x in (rows * scale, np.array(rows * np.minimum(scale, 0.999), np.float32)):
        line, table = np.empty(333), np.empty((333, 333), x.dtype)
        pairs = (x[:1], x), (x, x[:1]), (x, np.ascontiguousarray(np.roll(x, 1, 0)))
        for one, other in pairs:
            for kernel in (_kernels.ball_distances, _kernels.cone_angles):
                assert kernel(one, other, 1.0, line, 1) == -1
                sha.update(line.tobytes())
        assert _kernels.half_apertures(x, 1.0, 0.2, line, 1) == -1
        sha.update(line.tobytes())
        assert _kernels.ball_pairwise(x, x, 1.0, table, 1) == -1
        sha.update(table.tobytes())
print(_kernels.simd_level(), sha.hexdigest())
"""


def unit(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return x / np.linalg.norm(x)


def error(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    out = np.empty(1, np.float32)
    _kernels.row_dots(x.astype(np.float32), y.astype(np.float32)[None], None, out)
    exact = np.dot(x.astype(np.longdouble), y.astype(np.longdouble))
    return abs(float(np.longdouble(out[0]) - exact))


@given(st.integers(0, 2**32), st.integers(1, 2000), st.floats(0.0, 4.0))
@settings(max_examples=200, deadline=None)
def test_the_error_bound_holds_on_random_vectors(seed: int, dim: int, skew: float) -> None:
    rng = np.random.default_rng(seed)
    x = unit(np.sign(rng.normal(size=dim)) * rng.random(dim) ** skew + 1e-300)
    y = unit(x + rng.random() * rng.normal(size=dim))
    assert error(x, y) <= _kernels.row_dots_error(dim)


@pytest.mark.parametrize("dim", [1, 2, 15, 16, 31, 33, 384, 1536, 4097])
def test_the_error_bound_holds_on_vectors_made_to_break_it(dim: int) -> None:
    """Every number just below the middle of two float32 neighbours, all errors of one sign."""
    worst = 0.0
    for tail in (0.499999, 0.500001, -0.499999, 0.3):
        grid = np.float64(np.float32(1 / np.sqrt(dim)))
        step = float(np.spacing(np.float32(grid)))
        x = np.full(dim, grid + tail * step)
        for y in (x, -x, x * np.where(np.arange(dim) % 2, 1, -1), np.eye(dim)[0]):
            worst = max(
                worst, error(unit(x), unit(y)), error(x, y) if abs(np.linalg.norm(x) - 1) < 1e-9 else 0
            )
    assert worst <= _kernels.row_dots_error(dim)


def test_sums_that_grow_stay_within_the_bound() -> None:
    """One large product first: all later ones are rounded at its scale, in one direction."""
    for dim in (64, 384, 3000):
        x = np.full(dim, 2.0**-13)
        x[0] = np.sqrt(1 - np.sum(x[1:] ** 2))
        for first in (1.0, -1.0):
            y = x.copy()
            y[0] *= first
            assert error(x, y) <= _kernels.row_dots_error(dim)


def test_rows_are_chosen_by_number() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(200, 40)).astype(np.float32)
    query, rows = matrix[3].copy(), rng.integers(0, 200, 150).astype(np.int32)
    every, chosen = np.empty(200, np.float32), np.empty(150, np.float32)
    _kernels.row_dots(query, matrix, None, every)
    _kernels.row_dots(query, matrix, rows, chosen)
    assert np.array_equal(chosen, every[rows])
    assert np.allclose(every, matrix.astype(float) @ query.astype(float), rtol=1e-5, atol=1e-4)


def test_every_level_returns_the_same_bits() -> None:
    digests = {}
    for level in LEVELS:
        environment = {**os.environ, "POINCARE_MEMORY_SIMD": level}
        environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(__file__))
        ran = subprocess.run(
            [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True
        )
        name, digest = ran.stdout.split()
        digests[name] = digest  # a level that the processor lacks runs as the best it has
    assert "baseline" in digests
    assert len(set(digests.values())) == 1, digests
