"""The float32 look before the float64 search never loses a near node, whatever the points are like."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from poincare_memory._core import _kernels


def ranks(points, scale, related_of):
    query = np.fromiter(related_of, np.int32)
    lists = [np.array(related_of[q], np.int32) for q in query]
    start = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    precision, total = np.empty(len(query)), np.empty(len(query), np.int64)
    _kernels.reconstruction_ranks(points, scale, query, start, np.concatenate(lists), 1, precision, total)
    return precision, total


def expected(points, scale, related_of):
    """By keys that are summed in the order of the kernel's, so that ties are the same."""
    for u, mine in related_of.items():
        sums = np.zeros(len(points))
        for c in range(points.shape[1]):
            sums += (points[:, c] - points[u, c]) ** 2
        key = sums / scale
        unrelated = np.delete(key, [u, *mine])
        at_most = np.array([(unrelated <= key[v]).sum() for v in sorted(mine, key=lambda v: key[v])])
        place = np.arange(1, len(mine) + 1)
        yield (place / (place + at_most)).mean(), (1 + at_most).sum()


def near_boundary(rng, count, dim):
    directions = rng.normal(size=(count, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * (1 - 10.0 ** rng.uniform(-14, -0.5, (count, 1)))


def with_margins(points):
    norms = np.linalg.norm(points, axis=1)
    return points, (1 - norms) * (1 + norms)


POINTS = {
    "in a ball": lambda rng: with_margins(rng.uniform(-0.2, 0.2, (700, 7))),
    "near the boundary": lambda rng: with_margins(near_boundary(rng, 700, 3)),
    "in clusters far smaller than float32 tells apart": lambda rng: with_margins(
        rng.uniform(-0.5, 0.5, (7, 3)).repeat(100, axis=0) + rng.normal(size=(700, 3)) * 1e-9
    ),
    "ties": lambda rng: with_margins(rng.integers(-2, 3, (700, 2)) / 4.0),
    "all in one place": lambda rng: with_margins(np.full((700, 2), 0.3)),
    "below what float32 holds": lambda rng: (rng.normal(size=(700, 4)) * 1e-30, np.ones(700)),
    "beyond what float32 holds": lambda rng: (rng.normal(size=(700, 4)) * 1e60, np.ones(700)),
    "of all sizes": lambda rng: (
        rng.normal(size=(700, 4)) * 10.0 ** rng.uniform(-40, 12, (700, 1)),
        np.ones(700),
    ),
    "far from the origin": lambda rng: (1e6 + rng.normal(size=(700, 4)), np.ones(700)),
    "scales that float32 cannot hold": lambda rng: (
        rng.normal(size=(700, 2)),
        10.0 ** rng.uniform(-60, 0, 700),
    ),
    "in many dimensions": lambda rng: with_margins(rng.uniform(-0.01, 0.01, (200, 900))),
    "more blocks than are looked at together": lambda rng: with_margins(rng.uniform(-0.3, 0.3, (9_000, 3))),
}


@pytest.mark.parametrize("kind", POINTS)
def test_ranks_are_those_of_float64(kind):
    rng = np.random.default_rng(5)
    points, scale = POINTS[kind](rng)
    related_of = {}
    for u in rng.choice(len(points), 45, replace=False):
        others = np.delete(np.arange(len(points)), u)
        related_of[int(u)] = [int(v) for v in rng.choice(others, rng.integers(1, 40), replace=False)]
        if rng.random() < 0.5:  # near ones only: most of the rest is passed over
            by_distance = others[np.argsort(((points[others] - points[u]) ** 2).sum(axis=1) / scale[others])]
            related_of[int(u)] = [int(v) for v in by_distance[rng.choice(12, 3, replace=False)]]
    precision, total = ranks(points, scale, related_of)
    for i, (expected_precision, expected_total) in enumerate(expected(points, scale, related_of)):
        assert total[i] == expected_total
        assert precision[i] == pytest.approx(expected_precision, rel=1e-12)


def digest_of_all_kinds():
    digest = hashlib.sha256()
    for make in POINTS.values():
        points, scale = make(np.random.default_rng(1))
        found = ranks(points, scale, {u: [u + 1, u + 2] for u in range(0, 100, 3)})
        for array in found:
            digest.update(array.tobytes())
    return digest.hexdigest()


def test_no_result_depends_on_the_simd_level():
    code = (
        f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); "
        "from test_near_screen import digest_of_all_kinds as found; print(found())"
    )
    digests = set()
    for level in ("baseline", "avx2", "avx512"):
        env = {**os.environ, "POINCARE_MEMORY_SIMD": level}
        digests.add(
            subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout
        )
    assert len(digests) == 1
