"""The graph in Lorentz space: recall against a float64 scan, in every stage of its life."""

import threading

import numpy as np
import pytest

from poincare_memory._core import _hnsw


def clustered(n, dim, seed, clusters=60):
    centres = np.random.default_rng(99).normal(size=(clusters, dim))
    rng = np.random.default_rng(seed)
    points = centres[rng.integers(clusters, size=n)] + 0.5 * rng.normal(size=(n, dim))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def surrogates(metric, directions, radii, direction, radius):
    """Float64 oracle: monotone in the distance."""
    chord = ((directions - direction) ** 2).sum(axis=1)
    if metric == "shell":
        return chord
    return np.sinh((radii - radius) / 2) ** 2 + np.sinh(radii) * np.sinh(radius) * chord / 4


class Case:
    def __init__(self, metric, n=3000, dim=24):
        self.metric = metric
        self.directions = clustered(n, dim, 1)
        self.radii = np.random.default_rng(2).uniform(0.5, 6.0, n)
        self.queries = clustered(40, dim, 3)
        self.query_radii = np.random.default_rng(4).uniform(0.5, 6.0, 40)
        self.graph = _hnsw.Graph(dim, metric=metric)
        self.labels = np.arange(n)
        self.put(self.labels)

    def put(self, labels, threads=1):
        self.graph.add(labels, self.directions[labels].astype("f4"), self.radii[labels], threads=threads)

    def recall(self, live, allowed=None, k=10):
        found = 0
        for direction, radius in zip(self.queries, self.query_radii, strict=True):
            keys = surrogates(self.metric, self.directions[live], self.radii[live], direction, radius)
            want = set(live[np.argsort(keys)[:k]].tolist())
            got, _ = self.graph.search(direction.astype("f4"), radius, k=k, ef=100, allowed=allowed)
            assert len(got) >= min(k, len(live))
            assert set(got.tolist()) <= set(live.tolist())
            found += len(want & set(got[:k].tolist()))
        return found / (k * len(self.queries))


@pytest.fixture(scope="module", params=["shell", "hyperbolic"])
def case(request):
    return Case(request.param)


def test_recall_after_build(case):
    assert case.recall(case.labels) >= 0.97


def test_recall_under_filters(case):
    for share in (0.5, 0.1):
        allowed = (np.random.default_rng(5).random(len(case.labels)) < share).astype(np.uint8)
        assert case.recall(np.flatnonzero(allowed), allowed) >= 0.95


def test_recall_after_deletes_and_reuse():
    case = Case("hyperbolic")
    gone = np.random.default_rng(6).permutation(case.labels)[:600]
    case.graph.remove(gone)
    live = np.setdiff1d(case.labels, gone)
    assert len(case.graph) == len(live)
    assert case.recall(live) >= 0.95
    case.directions[gone] = clustered(len(gone), case.directions.shape[1], 7)
    case.put(gone)
    assert case.graph.nodes == len(case.labels)  # freed nodes were used again
    assert case.recall(case.labels) >= 0.95


@pytest.mark.parametrize("inherit", [0.25, 0.7])
def test_every_part_of_a_tree_is_found(inherit):
    """In one graph of a tree all links lead to the few nodes near the centre, and most of it cannot be reached."""
    rng = np.random.default_rng(0)
    n, dim = 4000, 16
    directions, levels = rng.normal(size=(n, dim)), np.zeros(n)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for i in range(20, n):
        parent = rng.integers(0, i)
        directions[i] = inherit * directions[parent] + (1 - inherit) * directions[i]
        directions[i] /= np.linalg.norm(directions[i])
        levels[i] = levels[parent] + 1
    radii = 1.0 + 0.5 * levels
    graph = _hnsw.Graph(dim, metric="hyperbolic")
    graph.add(np.arange(n), directions.astype("f4"), radii)
    hits = 0
    for i in range(0, n, 100):
        query, radius = directions[i] + 0.05 * rng.normal(size=dim), max(0.0, radii[i] + rng.uniform(-1, 1))
        query /= np.linalg.norm(query)
        near = np.argsort(surrogates("hyperbolic", directions, radii, query, radius))[:10]
        found, _ = graph.search(query.astype("f4"), radius, k=10, ef=64)
        hits += len({*near.tolist()} & {*found[:10].tolist()})
        assert i in graph.search(directions[i].astype("f4"), radii[i], k=1, ef=64)[0]
    assert hits >= 0.97 * 400


def test_a_label_given_twice_is_refused():
    graph = _hnsw.Graph(3, metric="shell")
    graph.add(np.arange(2), np.eye(3, dtype="f4")[:2], np.ones(2))
    with pytest.raises(ValueError, match="twice"):
        graph.add(np.array([5, 5]), np.eye(3, dtype="f4")[:2], np.ones(2))
    assert len(graph) == 2
    assert 5 not in graph


def test_moving_a_label_replaces_it():
    case = Case("shell", n=200)
    case.directions[:50] = clustered(50, case.directions.shape[1], 8)
    case.put(np.arange(50))
    assert len(case.graph) == 200
    assert case.recall(case.labels) >= 0.97


def test_identical_vectors_share_a_node_and_do_not_cut_the_graph():
    dim = 12
    graph = _hnsw.Graph(dim, metric="shell")
    copies = np.repeat(np.eye(dim)[:5], 400, axis=0)
    singles = clustered(100, dim, 9)
    directions = np.concatenate([copies, singles]).astype("f4")
    graph.add(np.arange(len(directions)), directions, np.ones(len(directions)))
    assert graph.nodes == 105
    for i in range(5):
        got, _ = graph.search(np.eye(dim, dtype="f4")[i], 1.0, k=20, ef=50)
        assert set(got.tolist()) == set(range(400 * i, 400 * (i + 1)))  # every copy: the caller breaks ties
    for i in range(100):
        got, _ = graph.search(directions[2000 + i], 1.0, k=1, ef=50)
        assert got[0] == 2000 + i
    graph.remove(np.arange(1, 400))
    got, _ = graph.search(np.eye(dim, dtype="f4")[0], 1.0, k=1, ef=50)
    assert got.tolist() == [0]


def test_one_thread_builds_the_same_graph_each_time():
    answers = []
    for _ in range(2):
        case = Case("hyperbolic", n=1500)
        answers.append(
            [
                case.graph.search(q.astype("f4"), r, k=10, ef=10)[0].tolist()
                for q, r in zip(case.queries, case.query_radii, strict=True)
            ]
        )
    assert answers[0] == answers[1]


def test_parallel_build_finds_as_much():
    case = Case("hyperbolic", n=1000)
    case.graph.remove(case.labels)
    case.graph = _hnsw.Graph(case.directions.shape[1], metric="hyperbolic")
    case.put(case.labels, threads=2)
    assert len(case.graph) == 1000
    assert case.recall(case.labels) >= 0.97


def test_a_parallel_build_gives_every_row_its_own_label():
    rows = clustered(3000, 8, seed=5).astype("f4")
    for _ in range(5):  # which thread comes first is chance
        graph = _hnsw.Graph(8, metric="shell", capacity=3000)
        graph.add(np.arange(3000), rows, np.zeros(3000), threads=4)
        for query in rows[::100]:
            labels, found = graph.search(query, 0.0, k=30, ef=100)
            gaps = np.sum((rows[labels] - query) ** 2, axis=1)
            assert np.allclose(found, gaps, atol=1e-6)


def test_searches_beside_writes():
    case = Case("shell", n=1000)
    stop = threading.Event()
    failures = []

    def search():
        while not stop.is_set():
            got, _ = case.graph.search(case.queries[0].astype("f4"), 1.0, k=5, ef=20)
            if len(got) < 5:
                failures.append(len(got))

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(200):
        case.graph.remove(np.array([i]))
        case.put(np.array([i]))
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(case.graph) == 1000


def test_the_nearest_on_a_shell_by_exact_distance():
    case = Case("shell", n=1500, dim=12)
    order = np.random.default_rng(5).permutation(1500)
    case.directions[20:30] = case.directions[20]
    case.put(np.arange(20, 30))
    allowed = (np.arange(1500) % 3 > 0).astype("u1")
    shell, root = 1.7, 1.3
    for passing in (None, allowed):
        live = np.arange(1500) if passing is None else np.flatnonzero(passing)
        for query in [*case.queries, case.directions[25]]:
            chords = np.linalg.norm(case.directions[live] - query, axis=1)
            distances = 2 / root * np.arcsinh(np.sinh(shell) * chords / 2)
            want = live[np.lexsort((order[live], distances.round(12)))[:8]]
            hits, reached = case.graph.nearest(
                query,
                case.directions,
                order,
                shell=shell,
                sqrt_c=root,
                k=8,
                asked=60,
                ef=400,
                allowed=passing,
            )
            assert [hit[0] for hit in hits] == want.tolist()
            np.testing.assert_allclose(
                [hit[2] for hit in hits], np.sort(distances)[:8], rtol=1e-12, atol=1e-12
            )
            assert all(score == -distance and weight == 1.0 for _, score, distance, weight in hits)
            assert hits[-1][2] <= reached <= np.sort(distances)[59] + 1e-12
    for arrays in ((query[:5], case.directions, order), (query, case.directions, order[1:])):
        with pytest.raises(ValueError, match="expected direction"):
            case.graph.nearest(*arrays, shell=1.0, sqrt_c=1.0, k=1, asked=1, ef=1)
    with pytest.raises(IndexError, match="fewer rows"):
        case.graph.nearest(query, case.directions[:1], order[:1], shell=1.0, sqrt_c=1.0, k=9, asked=9, ef=9)


def test_small_and_refused_input():
    graph = _hnsw.Graph(3, metric="hyperbolic")
    assert len(graph.search(np.zeros(3, "f4"), 0.0, k=5, ef=10)[0]) == 0
    graph.add(np.array([7]), np.array([[1, 0, 0]], "f4"), np.array([2.0]))
    assert 7 in graph and 3 not in graph and -1 not in graph
    assert graph.search(np.array([0, 1, 0], "f4"), 1.0, k=5, ef=10)[0].tolist() == [7]
    assert len(graph.search(np.array([0, 1, 0], "f4"), 1.0, k=0, ef=10)[0]) == 0
    graph.remove(np.array([7, 7, 99, -4]))
    assert len(graph) == 0
    bad_calls = [
        lambda: graph.add(np.array([-1]), np.zeros((1, 3), "f4"), np.ones(1)),
        lambda: graph.add(np.array([1]), np.zeros((1, 2), "f4"), np.ones(1)),
        lambda: graph.add(np.array([1]), np.zeros((1, 3), "f4"), np.array([np.nan])),
        lambda: graph.add(np.array([1]), np.zeros((1, 3), "f4"), np.array([_hnsw.LARGEST_RADIUS + 1])),
        lambda: graph.search(np.zeros(2, "f4"), 1.0, k=1, ef=1),
        lambda: _hnsw.Graph(0, metric="shell"),
        lambda: _hnsw.Graph(3, metric="euclidean"),
        lambda: _hnsw.Graph(3, metric="shell", m=1),
    ]
    for call in bad_calls:
        with pytest.raises(ValueError):  # noqa: PT011  -- each names its own argument
            call()
    assert len(graph) == 0


def test_bands_are_searched_as_far_where_nodes_are_dead_or_filtered() -> None:
    """A band that is entered far from the query is not left before the way to the query is gone."""
    rng = np.random.default_rng(4)
    n, dim, k = 8000, 64, 10
    centres = np.random.default_rng(dim).normal(size=(100, dim))
    points = centres[rng.integers(100, size=n + 40)] + 0.5 * rng.normal(size=(n + 40, dim))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    radii = rng.uniform(0.5, 6.0, n + 40)
    graph = _hnsw.Graph(dim, metric="hyperbolic", m=32)
    graph.add(np.arange(n), points[:n].astype(np.float32), radii[:n])
    graph.remove(np.arange(0, n, 5))
    left = np.setdiff1d(np.arange(n), np.arange(0, n, 5))
    allowed = (np.arange(n) % 2).astype(np.uint8)
    for rows, mask in ((left, None), (left[left % 2 == 1], allowed)):
        found = 0
        for query, radius in zip(points[n:], radii[n:], strict=True):
            chords = 2 - 2 * (points[rows] @ query)
            q = np.sinh((radii[rows] - radius) / 2) ** 2 + np.sinh(radii[rows]) * np.sinh(radius) * chords / 4
            truth = {*rows[np.argsort(q)[:k]].tolist()}
            hits = graph.search(query.astype(np.float32), float(radius), k=k, ef=80, allowed=mask)[0][:k]
            found += len(truth & {*hits.tolist()})
        assert found >= 0.97 * k * 40
