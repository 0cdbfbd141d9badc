"""Unrelated nodes that are nearer than the farthest related one, against a search by hand."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from poincare_memory._core import _kernels


def task(nodes, dim, seed, most_related=6):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-0.5, 0.5, (nodes, dim)) / np.sqrt(dim)
    query = np.sort(rng.choice(nodes, nodes * 2 // 3, replace=False)).astype(np.int32)
    lists = []
    for q in query:
        others = np.setdiff1d(np.arange(nodes), q)
        count = rng.integers(1, min(most_related, len(others)) + 1)
        lists.append(np.sort(rng.choice(others, count, replace=False)))
    start = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return points, query, start, np.concatenate(lists).astype(np.int32)


def search(points, query, start, related, most, seed=1, threads=1):
    nodes, found = np.full((len(points), most), -1, np.int32), np.zeros(len(points), np.int32)
    scale = 1 - (points * points).sum(axis=1)
    _kernels.find_intruders(points, scale, query, start, related, seed, threads, nodes, found)
    return nodes, found


def expected(points, query, start, related):
    scale = 1 - (points * points).sum(axis=1)
    for i, u in enumerate(query):
        key = ((points - points[u]) ** 2).sum(axis=1) / scale
        mine = related[start[i] : start[i + 1]]
        near = key <= key[mine].max()
        near[mine] = near[u] = False
        yield u, set(np.flatnonzero(near))


@pytest.mark.parametrize(("nodes", "dim"), [(3, 1), (63, 2), (64, 3), (200, 10), (333, 5)])
def test_all_intruders_are_found_where_there_is_room(nodes, dim):
    work = task(nodes, dim, nodes)
    got, found = search(*work, most=nodes)
    asked = set()
    for u, intruders in expected(*work):
        asked.add(u)
        assert set(got[u, : found[u]]) == intruders
        assert len(intruders) == found[u]
    others = sorted(set(range(nodes)) - asked)
    assert not found[others].any()
    assert (got[others] == -1).all()


def test_a_sample_is_drawn_where_there_is_not():
    work = task(300, 4, 0)
    drawn = {seed: search(*work, most=5, seed=seed) for seed in range(40)}
    times = np.zeros((300, 300))
    for got, found in drawn.values():
        for u in range(300):
            assert len(set(got[u, : found[u]])) == found[u]
            times[u, got[u, : found[u]]] += 1
    for u, intruders in expected(*work):
        assert found[u] == min(5, len(intruders))
        assert set(np.flatnonzero(times[u])) <= intruders
        if len(intruders) >= 50:  # uniform: 200 draws, none of the nodes is left out or preferred
            share = times[u, sorted(intruders)]
            assert share.max() <= 6 * share.sum() / len(intruders) + 6
    assert not np.array_equal(drawn[0][0], drawn[1][0])


def test_no_result_depends_on_threads():
    work = task(3000, 10, 2)
    one, two = search(*work, most=4, threads=1), search(*work, most=4, threads=2)
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])


def test_no_result_depends_on_the_simd_level():
    code = f"""
import numpy as np, hashlib, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_intruders import search, task
got, found = search(*task(500, 7, 3), most=4)
print(hashlib.sha256(got.tobytes() + found.tobytes()).hexdigest())
"""
    digests = set()
    for level in ("baseline", "avx2", "avx512"):
        env = {**os.environ, "POINCARE_MEMORY_SIMD": level}
        digests.add(
            subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout
        )
    assert len(digests) == 1


def test_what_would_leave_the_arrays_is_refused():
    points, query, start, related = task(20, 2, 4)
    scale = np.ones(20)
    nodes, found = np.zeros((20, 3), np.int32), np.zeros(20, np.int32)
    _kernels.find_intruders(points, scale, query, start, related, 1, 1, nodes, found)
    for change, says in [
        ({1: np.ones(19)}, "scale must"),
        ({2: query + np.int32(20)}, "must be a node"),
        ({3: start + 1}, "start must run"),
        ({4: related - np.int32(20)}, "must be a row"),
        ({7: np.zeros((19, 3), np.int32)}, "a row a point"),
        ({7: np.zeros((20, 0), np.int32)}, "a row a point"),
        ({8: np.zeros(19, np.int32)}, "a row a point"),
    ]:
        arguments = [points, scale, query, start, related, 1, 1, nodes, found]
        for place, value in change.items():
            arguments[place] = value
        with pytest.raises(ValueError, match=says):
            _kernels.find_intruders(*arguments)
