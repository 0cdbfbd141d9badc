"""Graphs as bytes: what comes back, what has changed meanwhile, and bytes that are no graph."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest

from poincare_memory._core import _hnsw

N, DIM = 1500, 12
METRICS = ["shell", "hyperbolic"]


class Rows:
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        directions = rng.normal(size=(N, DIM))
        directions[10:20] = directions[10]  # one node for ten labels
        self.directions = (directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype("f4")
        self.radii = rng.uniform(0.5, 6.0, N)
        self.keys = rng.permutation(N) + 5_000_000_000

    def put(self, graph: Any, labels: Any) -> None:
        graph.add(labels, self.directions[labels], self.radii[labels])

    def loaded(self, metric: Any, data: bytes, order: Any = None) -> Any:
        order = np.arange(N) if order is None else order
        graph = _hnsw.Graph(DIM, metric=metric, m=8)
        graph.load(
            data,
            labels=np.arange(len(order)),
            keys=self.keys[order],
            directions=self.directions[order],
            radii=self.radii[order],
        )
        return graph

    def recall(self, graph: Any, labels: Any, order: Any) -> float:
        """Share of labels that a search for their own row finds."""
        found = [
            label in graph.search(self.directions[row], self.radii[row], k=20, ef=64)[0]
            for label, row in zip(labels.tolist(), order[labels].tolist(), strict=True)
        ]
        return float(np.mean(found))


@pytest.fixture(scope="module")
def rows() -> Rows:
    return Rows()


@pytest.fixture(scope="module", params=METRICS)
def saved(request: pytest.FixtureRequest, rows: Rows) -> tuple[str, Any, bytes]:
    graph = _hnsw.Graph(DIM, metric=request.param, m=8)
    rows.put(graph, np.arange(N))
    graph.remove(np.arange(100, 250))
    return request.param, graph, graph.save(rows.keys)


def with_checksum(data: bytes) -> bytes:
    """The bytes with a checksum that fits, so that only the other checks are left."""
    body, mask = data[:-8], (1 << 64) - 1
    value = 0x9E3779B97F4A7C15 ^ len(body)
    padded = body + b"\0" * (-len(body) % 8)
    for (word,) in struct.iter_unpack("<Q", padded):
        value = ((value ^ word) * 0xFF51AFD7ED558CCD) & mask
        value ^= value >> 32
    return body + struct.pack("<Q", value)


def test_a_graph_comes_back_under_other_row_numbers(saved: tuple[str, Any, bytes], rows: Rows) -> None:
    metric, graph, data = saved
    order = np.random.default_rng(1).permutation(N)
    again = rows.loaded(metric, data, order)
    assert (len(again), again.nodes) == (len(graph), graph.nodes)
    assert sorted(order[again.missing(np.arange(N))]) == list(range(100, 250))
    for i in range(0, N, 25):
        before = graph.search(rows.directions[i], rows.radii[i], k=10, ef=50)[0]
        after = again.search(rows.directions[i], rows.radii[i], k=10, ef=50)[0]
        assert {*before.tolist()} == {*order[after].tolist()}
    assert len(again.save(rows.keys[order])) == len(data)


def test_the_same_graph_makes_the_same_bytes(rows: Rows) -> None:
    made = []
    for _ in range(2):
        graph = _hnsw.Graph(DIM, metric="hyperbolic", m=8)
        rows.put(graph, np.arange(300))
        made.append(graph.save(rows.keys))
    assert made[0] == made[1]
    assert made[0] == with_checksum(made[0])


def test_what_changed_meanwhile_is_left_out(saved: tuple[str, Any, bytes], rows: Rows) -> None:
    metric, _, data = saved
    now = Rows()
    gone = np.arange(300, 380)  # removed since
    moved = np.arange(400, 430)
    now.directions[moved] = now.directions[moved][:, ::-1]
    order = np.setdiff1d(np.arange(N), gone)
    graph = now.loaded(metric, data, order)
    missing = graph.missing(np.arange(len(order)))
    assert sorted(order[missing]) == [*range(100, 250), *moved]
    graph.add(missing, now.directions[order[missing]], now.radii[order[missing]])
    assert len(graph) == len(order)
    assert now.recall(graph, np.arange(len(order)), order) >= 0.99


def test_a_graph_of_something_else_is_refused(saved: tuple[str, Any, bytes], rows: Rows) -> None:
    metric, _, data = saved
    other = Rows()
    other.directions = np.ascontiguousarray(other.directions[:, ::-1])
    with pytest.raises(_hnsw.DamagedGraphError, match="another state"):
        other.loaded(metric, data)
    for settings in ({"m": 9}, {"seed": 1}, {"metric": METRICS[metric == "shell"]}):
        graph = _hnsw.Graph(DIM, **{"m": 8, "metric": metric, **settings})
        with pytest.raises(_hnsw.DamagedGraphError, match="other settings"):
            graph.load(
                data, labels=np.arange(N), keys=rows.keys, directions=rows.directions, radii=rows.radii
            )
        assert len(graph) == 0
        rows.put(graph, np.arange(50))  # it is an empty graph still
        assert rows.recall(graph, np.arange(50), np.arange(N)) == 1.0


@pytest.mark.parametrize("checksum", ["as it was", "made to fit"])
def test_damaged_bytes_are_refused_or_make_a_usable_graph(
    saved: tuple[str, Any, bytes], rows: Rows, checksum: str
) -> None:
    metric, _, data = saved
    chance = random.Random(3)
    refused = 0
    for attempt in range(60):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            near = 100 if attempt % 2 else len(damaged)
            damaged[chance.randrange(near)] = chance.choice([0, 1, 127, 255, chance.randrange(256)])
        if attempt % 3 == 0:
            damaged = damaged[: chance.randrange(len(damaged))]
        if checksum == "made to fit" and len(damaged) > 8:
            damaged = bytearray(with_checksum(bytes(damaged)))
        try:
            graph = rows.loaded(metric, bytes(damaged))
        except _hnsw.DamagedGraphError:
            refused += 1
            continue
        assert checksum == "made to fit" or damaged == data
        for i in range(0, N, 100):
            assert {*graph.search(rows.directions[i], rows.radii[i], k=10, ef=50)[0].tolist()} <= {*range(N)}
        graph.remove(np.arange(0, N, 2))
        rows.put(graph, np.arange(N))
        assert len(graph) == N
    assert refused >= 20


def test_wrong_calls_are_refused(rows: Rows) -> None:
    graph = _hnsw.Graph(DIM, metric="shell", m=8)
    rows.put(graph, np.arange(5))
    with pytest.raises(ValueError, match="keys"):
        graph.save(rows.keys[:3])
    with pytest.raises(ValueError, match="not empty"):
        graph.load(
            b"", labels=np.arange(1), keys=rows.keys[:1], directions=rows.directions[:1], radii=np.ones(1)
        )
    with pytest.raises(ValueError, match="expected labels"):
        _hnsw.Graph(DIM, metric="shell").load(
            b"", labels=np.arange(2), keys=rows.keys[:1], directions=rows.directions[:1], radii=np.ones(1)
        )
    with pytest.raises(_hnsw.DamagedGraphError, match="too short"):
        rows.loaded("shell", b"")
