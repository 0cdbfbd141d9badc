"""Kernels of the ball beside their bounds: reading or writing the same rows once, and products by BLAS.

    python benchmarks/bandwidth.py [--size 100000] [--dim 384] [--pairs 1000] [--depth 3] [--repeats 15]

One thread, float64, in turns; each figure is a median. Reading once is NumPy's matrix-vector product (BLAS), reading
and writing once its product with a number, into new memory as ours. The distances of `pairs` points from as many others
stand beside the same by BLAS, |x|² + |y|² − 2x·y, which loses the digits of near points. Prints the table of
docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any


def jobs(size: int, pairs: int, dim: int, depth: float) -> dict[str, tuple[str, Callable[[], Any]]]:
    import numpy as np

    from poincare_memory import PoincareBall, cone_energy

    ball = PoincareBall()
    rows = ball.random_points(size, dim, depth, seed=1)
    one = rows[:1].copy()
    column = rows[0].copy()
    others = ball.random_points(pairs, dim, depth, seed=2)

    def by_blas() -> Any:
        x, y = rows[:pairs], others
        xx, yy = (x * x).sum(1), (y * y).sum(1)
        gaps = np.maximum(xx[:, None] + yy - 2 * (x @ y.T), 0)
        return np.arccosh(1 + 2 * gaps / ((1 - xx)[:, None] * (1 - yy)))

    return {
        "reading once": ("", lambda: rows @ column),
        "one to many distances": ("reading once", lambda: ball.distance(one, rows)),
        "`cone_energy`": ("reading once", lambda: cone_energy(one, rows, ball)),
        "reading and writing once": ("", lambda: np.multiply(rows, 0.5)),
        "`set_depth`": ("reading and writing once", lambda: ball.set_depth(rows, 1.0)),
        "`to_lorentz`": ("reading and writing once", lambda: ball.to_lorentz(rows)),
        f"{pairs:,} × {pairs:,} distances by BLAS": ("", by_blas),
        "`pairwise_distance`": (
            f"{pairs:,} × {pairs:,} distances by BLAS",
            lambda: ball.pairwise_distance(rows[:pairs], others),
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--depth", type=float, default=3.0, help="hyperbolic radius that points stay within")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # before NumPy is imported
    asked = jobs(options.size, options.pairs, options.dim, options.depth)
    took: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(options.repeats + 1):
        for name, (_, run) in asked.items():
            started = time.perf_counter()
            run()
            took[name].append(time.perf_counter() - started)
    median = {name: statistics.median(seconds[1:]) for name, seconds in took.items()}
    print(f"| {options.size:,} × {options.dim}, float64 | ms | times the bound |\n|---|---|---|")
    for name, (bound, _) in asked.items():
        ratio = f"{median[name] / median[bound]:.2f}" if bound else ""
        print(f"| {name} | {1e3 * median[name]:.1f} | {ratio} |")


if __name__ == "__main__":
    main()
