"""Training epochs against a float64 NumPy oracle with the same draws, and against finite differences."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from poincare_memory._core import _kernels

MARGIN = 1 - _kernels.BALL_EPS_FLOAT64
WORD = 2**64 - 1


class Xoshiro:
    """xoshiro256++ in Python integers."""

    def __init__(self, words):
        self.s = [int(word) for word in words]

    def below(self, bound):
        return ((self.next() >> 32) * bound) >> 32

    def next(self):
        s = self.s
        total = (s[0] + s[3]) & WORD
        result = ((((total << 23) | (total >> 41)) & WORD) + s[0]) & WORD
        t = (s[1] << 17) & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = ((s[3] << 45) | (s[3] >> 19)) & WORD
        return result


def excluded_lists(pairs, nodes):
    lists = [sorted({u, *(v for a, v in pairs if a == u)}) for u in range(nodes)]
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    shifted = np.array([node - i for one in lists for i, node in enumerate(one)], np.int32)
    return lists, start, shifted


def draw_weighted(random, nodes, table, forbidden, allowed):
    """One negative by the alias table; a uniform one after 16 that were related."""
    threshold, alias = table
    for _ in range(16):
        bits = random.next()
        at = ((bits >> 32) * nodes) >> 32
        node = at if (bits & 0xFFFFFFFF) < int(threshold[at]) else int(alias[at])
        if node not in forbidden:
            return node
    return allowed[random.below(len(allowed))]


def oracle_samples(pairs, nodes, words, options):
    """The pairs in the order of one epoch, each with its negatives."""
    random = Xoshiro(words)
    order = list(pairs)
    for i in range(len(order), 1, -1):
        j = random.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    lists, _, _ = excluded_lists(pairs, nodes)
    for u, v in order:
        forbidden = set(lists[u]) if options["exclude"] else {u, v}
        allowed = [node for node in range(nodes) if node not in forbidden]
        count = options["negatives"] if allowed else 0
        if options["weighted"]:
            drawn = [draw_weighted(random, nodes, options["table"], forbidden, allowed) for _ in range(count)]
        else:
            drawn = [allowed[random.below(len(allowed))] for _ in range(count)]
        known = options["intruders"].get(u, ())
        drawn += [known[random.below(len(known))] for _ in range(min(options["hard"], len(known)))]
        yield u, v, drawn


def poincare_terms(u, x):
    """Distance, and its Riemannian gradients at u and at x (curvature 1)."""
    a, b, gap = 1 - u @ u, 1 - x @ x, u - x
    delta = 2 * (gap @ gap) / (a * b)
    sinh = np.sqrt(delta * (delta + 2))
    if sinh == 0:
        return 0.0, 0 * u, 0 * x
    at_u = (a * gap + (gap @ gap) * u) / (b * sinh)
    at_x = (-b * gap + (gap @ gap) * x) / (a * sinh)
    return np.arcsinh(sinh), at_u, at_x


def lorentz_terms(u, x):
    """The same on the hyperboloid, for the spatial parts."""
    z = np.sqrt(1 + u @ u) * np.sqrt(1 + x @ x) - u @ x
    sinh = np.sqrt(max(z * z - 1, 0))
    if sinh == 0:
        return 0.0, 0 * u, 0 * x
    return np.arccosh(z), (z * u - x) / sinh, (z * x - u) / sinh


def euclidean_terms(u, x):
    d = np.linalg.norm(u - x)
    direction = (u - x) / d if d else 0 * u
    return d, direction, -direction


TERMS = {"poincare": poincare_terms, "lorentz": lorentz_terms, "euclidean": euclidean_terms}
LIMIT = {"poincare": MARGIN, "lorentz": 2 * MARGIN / (1 - MARGIN**2), "euclidean": np.inf}


def with_defaults(options, nodes):
    defaults = {
        "negatives": 1, "exclude": True, "weighted": False, "rate": 1e-5, "temperature": 1.0, "intruders": {},
        "hard": 0, "threads": 1,
    }  # fmt: skip
    threshold, alias = np.empty(nodes, np.uint32), np.empty(nodes, np.int32)
    _kernels.alias_table(np.arange(1.0, nodes + 1), threshold, alias)
    return {**defaults, "table": (threshold, alias), **options}


def oracle_epoch(points, pairs, words, manifold="poincare", **options):
    options = with_defaults(options, len(points))
    beta, total = options["temperature"], 0.0
    for u, v, drawn in oracle_samples(pairs, len(points), words, options):
        others = [v, *drawn]
        found = [TERMS[manifold](points[u], points[x]) for x in others]
        weight = np.exp(-beta * (np.array([d for d, _, _ in found]) - found[0][0]))
        total += np.log(weight.sum())
        slope = -weight / weight.sum()
        slope[0] += 1
        points[u] -= options["rate"] * sum(s * at_u for s, (_, at_u, _) in zip(slope, found, strict=True))
        for s, x, (_, _, at_x) in zip(slope, others, found, strict=True):
            points[x] -= options["rate"] * s * at_x
        for node in {u, *others}:
            norm = np.linalg.norm(points[node])
            points[node] *= min(1.0, LIMIT[manifold] / max(norm, 1e-300))
    return total


def intruder_table(intruders, nodes):
    width = max([1, *map(len, intruders.values())])
    table, found = np.zeros((nodes, width), np.int32), np.zeros(nodes, np.int32)
    for node, known in intruders.items():
        table[node, : len(known)], found[node] = known, len(known)
    return table, found


def kernel_epoch(points, pairs, words, manifold="poincare", dtype=np.float64, **options):
    nodes, dim = points.shape
    options = with_defaults(options, nodes)
    source, target = np.array(pairs, np.int32).T.copy()
    _, *lists = excluded_lists(pairs, nodes)
    if not options["exclude"]:
        lists = [None, None]
    run = _kernels.TrainingRun(nodes, source, target, *lists, *options["table"])
    rows = np.zeros((nodes, _kernels.training_stride(dim, dtype == np.float32)), dtype)
    rows[:, :dim] = points
    loss = _kernels.train_epoch(
        run, rows, dim, manifold, words, options["negatives"], options["rate"], options["temperature"],
        options["weighted"], options["threads"], *intruder_table(options["intruders"], nodes), options["hard"],
    )  # fmt: skip
    assert not rows[:, dim:].any()
    assert [(int(u), int(v)) for u, v in zip(source, target, strict=True)] == list(pairs)
    return rows[:, :dim].astype(float), loss


@st.composite
def tasks(draw):
    nodes = draw(st.integers(2, 12))
    edge = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda e: e[0] != e[1])
    pairs = draw(st.lists(edge, min_size=1, max_size=12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dim = draw(st.sampled_from([1, 2, 3, 5, 8, 9, 10, 17, 33]))
    direction = rng.normal(size=(nodes, dim))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    points = direction * rng.uniform(0.05, 0.8, (nodes, 1))
    return points, pairs, rng.integers(1, 2**64, 4, dtype=np.uint64)


OPTIONS = st.fixed_dictionaries(
    {
        "negatives": st.integers(1, 12),
        "exclude": st.booleans(),
        "weighted": st.booleans(),
        "temperature": st.sampled_from([1.0, 2.0, 3.0, 8.0, 0.5, 2.5, 40.0]),
        "hard": st.sampled_from([0, 1, 3]),
    }
)


@pytest.mark.parametrize("manifold", TERMS)
@given(tasks(), OPTIONS)
@settings(max_examples=60, deadline=None)
def test_epoch_equals_the_oracle(manifold, task, options):
    """Order, negatives, loss, every step. A negative drawn twice steps twice, the second time from where the first led:
    equal to the square of a step over the distance.
    """
    points, pairs, words = task
    nodes = len(points)
    options["intruders"] = {u: [(u + 1) % nodes, (u + nodes - 1) % nodes] for u in range(0, nodes, 2)}
    expected = points.copy()
    loss = oracle_epoch(expected, pairs, words, manifold, **options)
    second_order = 0.0
    full = with_defaults(options, nodes)
    if repeated := sum(len(d) - len(set(d)) for _, _, d in oracle_samples(pairs, nodes, words, full)):
        closest = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(nodes, 1)].min()
        assume(closest > 0.01)
        second_order = repeated * full["rate"] ** 2 / closest
    # float32: half an ulp for each of up to 180 updates of a row.
    for dtype, tolerance in ((np.float64, 1e-8), (np.float32, 6e-6)):
        got, got_loss = kernel_epoch(points, pairs, words, manifold, dtype, **options)
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance + second_order)
        assert got_loss == pytest.approx(loss, rel=3e-5, abs=3e-6)


@pytest.mark.parametrize("manifold", TERMS)
@pytest.mark.parametrize("beta", [1.0, 2.5, 4.0])
def test_step_is_the_riemannian_gradient_of_the_loss(manifold, beta):
    """Finite differences of the loss itself: three nodes, one pair, its one possible negative."""
    rng = np.random.default_rng(3)
    points = rng.uniform(-0.4, 0.4, (3, 4))

    def loss_at(rows):
        near, far = (TERMS[manifold](rows[0], rows[k])[0] for k in (1, 2))
        return (beta * near + np.log(np.exp(-beta * near) + np.exp(-beta * far))) / beta

    gradient = np.zeros_like(points)
    for place in np.ndindex(*points.shape):
        step = np.zeros_like(points)
        step[place] = 1e-6
        gradient[place] = (loss_at(points + step) - loss_at(points - step)) / 2e-6
    if manifold == "poincare":
        gradient *= (1 - (points**2).sum(axis=1, keepdims=True)) ** 2 / 4
    if manifold == "lorentz":  # the inverse of the metric in spatial coordinates is 1 + x xᵀ
        gradient += points * (points * gradient).sum(axis=1, keepdims=True)
    words = np.arange(1, 5, dtype=np.uint64)
    moved, loss = kernel_epoch(points, [(0, 1)], words, manifold, rate=1e-3, temperature=beta)
    assert loss == pytest.approx(beta * loss_at(points), rel=1e-11)
    np.testing.assert_allclose((points - moved) / 1e-3, gradient, rtol=1e-7, atol=1e-9)


def test_both_models_of_hyperbolic_space_take_the_same_steps():
    rng = np.random.default_rng(5)
    ball = rng.uniform(-0.35, 0.35, (9, 5))
    pairs = [(i, (i * 4 + 1) % 9) for i in range(9) if i != (i * 4 + 1) % 9]
    words = np.arange(1, 5, dtype=np.uint64)

    def to_hyperboloid(rows):
        return 2 * rows / (1 - (rows**2).sum(axis=1, keepdims=True))

    options = {"rate": 1e-6, "negatives": 4, "temperature": 2.0}
    one, loss = kernel_epoch(ball, pairs, words, "poincare", **options)
    other, other_loss = kernel_epoch(to_hyperboloid(ball), pairs, words, "lorentz", **options)
    assert loss == pytest.approx(other_loss, rel=1e-9)
    moved = np.abs(one - ball).max()
    np.testing.assert_allclose(to_hyperboloid(one), other, rtol=0, atol=1e-4 * moved)


def test_alias_table_draws_in_proportion():
    rng = np.random.default_rng(0)
    for weight in (
        rng.random(50),
        np.ones(7),
        np.array([0.0, 3.0, 0.0, 1.0]),
        rng.random(400) ** 8,
        np.ones(1),
    ):
        count = len(weight)
        threshold, alias = np.empty(count, np.uint32), np.empty(count, np.int32)
        _kernels.alias_table(weight, threshold, alias)
        own = threshold / 2**32
        share = own + np.bincount(alias, 1 - own, minlength=count)
        np.testing.assert_allclose(share / count, weight / weight.sum(), atol=1e-9)


@pytest.mark.parametrize("weight", [[-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_weights_that_are_none_are_refused(weight):
    with pytest.raises(ValueError, match="weights must"):
        _kernels.alias_table(np.array(weight), np.empty(2, np.uint32), np.empty(2, np.int32))


def test_weights_that_lie_on_related_nodes_alone_still_end():
    """Node 3 alone may be drawn for node 0, and has no weight: a uniform draw takes over."""
    table = np.empty(4, np.uint32), np.empty(4, np.int32)
    _kernels.alias_table(np.array([1.0, 1.0, 1.0, 0.0]), *table)
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.3, 0.3, (4, 2))
    words = np.arange(1, 5, dtype=np.uint64)
    pairs = [(0, 1), (0, 2)]
    expected = points.copy()
    options = {"negatives": 3, "weighted": True, "table": table}
    oracle_epoch(expected, pairs, words, **options)
    got, _ = kernel_epoch(points, pairs, words, **options)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-8)
    assert (got[3] != points[3]).any()


@pytest.mark.parametrize("manifold", TERMS)
def test_several_threads_learn_the_same_task(manifold):
    """Without locks no two runs are alike, but they minimise the same loss."""
    rng = np.random.default_rng(2)
    pairs = [(i, j) for i in range(200) for j in range(i % 10, 200, 40) if i != j] * 4
    start = rng.uniform(-0.01, 0.01, (200, 5))
    final = {}
    for threads in (1, 2):
        points = start
        for epoch in range(30):
            words = np.arange(epoch + 1, epoch + 5, dtype=np.uint64)
            points, loss = kernel_epoch(
                points, pairs, words, manifold, np.float32, negatives=5, rate=0.05, threads=threads
            )
            final.setdefault(threads, []).append(loss / len(pairs))
    assert final[2][-1] == pytest.approx(final[1][-1], rel=0.1)
    assert final[2][-1] < 0.9 * final[2][0]


@pytest.mark.parametrize("manifold", TERMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coincident_points_stay_finite(manifold, dtype):
    points = np.zeros((4, 3))
    points[3] = 0.5
    words = np.arange(1, 5, dtype=np.uint64)
    for beta in (1.0, 3.5):
        moved, loss = kernel_epoch(
            points, [(0, 1), (1, 2)], words, manifold, dtype, negatives=5, rate=0.5, temperature=beta
        )
        assert np.isfinite(moved).all()
        assert np.isfinite(loss)


@pytest.mark.parametrize("manifold", ["poincare", "lorentz"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rate", [1.0, 1e3, 1e9])
@pytest.mark.parametrize("beta", [1.0, 8.0, 1000.0])
def test_large_steps_end_inside_the_margin(manifold, dtype, rate, beta):
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 0.5, (20, 3))
    pairs = [(i, (i * 7 + 1) % 20) for i in range(20) if i != (i * 7 + 1) % 20]
    words = np.arange(1, 5, dtype=np.uint64)
    for _ in range(5):
        points, loss = kernel_epoch(
            points, pairs, words, manifold, dtype, negatives=6, rate=rate, temperature=beta
        )
        assert np.isfinite(loss)
        assert np.linalg.norm(points, axis=1).max() <= LIMIT[manifold] * (1 + 1e-7)


def test_complete_graph_moves_nothing():
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 2))
    pairs = [(u, v) for u in range(4) for v in range(4) if u != v]
    words = np.arange(1, 5, dtype=np.uint64)
    for weighted in (False, True):
        moved, loss = kernel_epoch(points, pairs, words, negatives=10, rate=0.1, weighted=weighted)
        assert loss == 0
        np.testing.assert_array_equal(moved, points)


@pytest.mark.parametrize("weighted", [False, True])
def test_long_lists_of_excluded_nodes(weighted):
    """A hub with more related nodes than are counted one by one."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-0.3, 0.3, (120, 3))
    pairs = [(5, v) for v in [*range(6, 90), 0, 119]] + [(7, 5), (119, 0)]
    words = np.arange(1, 5, dtype=np.uint64)
    expected = points.copy()
    oracle_epoch(expected, pairs, words, negatives=7, weighted=weighted)
    got, _ = kernel_epoch(points, pairs, words, negatives=7, weighted=weighted)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-8)


SMALL_RUN = """
import hashlib
import numpy as np
from poincare_memory.hierarchy.rsgd import fit_euclidean_embeddings, fit_poincare_embeddings
edges = [(i, j) for i in range(60) for j in range(i + 1, 60) if (i * j) % 7 == 3]
for fit in (fit_poincare_embeddings, fit_euclidean_embeddings):
    for dim in (2, 10):
        points, report = fit(edges, dim=dim, epochs=15, lr=0.3)
        print(hashlib.sha256(np.stack(list(points.values())).astype("<f4").tobytes()).hexdigest()[:16])
"""


def test_same_bits_on_every_simd_level_and_platform():
    """The digests are of one machine: a processor, compiler or level that differs breaks the promise."""
    for level in ("baseline", "avx2", "avx512"):
        env = {**os.environ, "POINCARE_MEMORY_SIMD": level}
        found = subprocess.run(
            [sys.executable, "-c", SMALL_RUN], env=env, capture_output=True, text=True, check=True
        )
        assert found.stdout.split() == GOLDEN, level


GOLDEN = ["21054a2f16b19c51", "dc4973baa92619a5", "693817535d6940b5", "29d928b98a3465b8"]


def lists_of(*lists):
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return {
        "start": start,
        "shifted": np.array([x - i for one in lists for i, x in enumerate(one)], np.int32),
    }


def test_lists_stand_for_the_pairs_in_them():
    """Of few pairs and of so many that they are shuffled through bins."""
    draw = np.random.default_rng(0)
    for nodes, degree in [(5, 2), (3000, 60)]:
        chosen = [sorted({u, *draw.integers(0, nodes, degree).tolist()}) for u in range(nodes)]
        pairs = np.array([(u, v) for u, one in enumerate(chosen) for v in one if v != u], np.int32)
        lists = lists_of(*chosen).values()
        ends = [(None, None), pairs.T.copy()]
        found = []
        for source, target in ends:
            run = _kernels.TrainingRun(nodes, source, target, *lists, None, None)
            rows = np.zeros((nodes, 8), np.float32)
            rows[:, :2] = np.random.default_rng(1).uniform(-0.1, 0.1, (nodes, 2))
            words = np.ones(4, np.uint64)
            loss = _kernels.train_epoch(run, rows, 2, "poincare", words, 1, 0.1, 1.0, False, 1, None, None, 0)
            found.append((loss, rows))
        assert found[0][0] == found[1][0]
        assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"source": np.array([5], np.int32)}, "two different nodes"),
        ({"source": np.array([1], np.int32)}, "two different nodes"),
        ({"target": np.array([-1], np.int32)}, "two different nodes"),
        ({"target": np.array([1, 2], np.int32)}, "equally long"),
        ({"start": np.zeros(3, np.int64)}, "nodes \\+ 1"),
        (
            {"start": np.array([0, 2, 1, 3], np.int64), "shifted": np.zeros(3, np.int32)},
            "list of excluded nodes",
        ),
        ({"source": None}, "both be given"),
        ({"source": None, "target": None}, "lists without them"),
        ({"source": None, "target": None, **lists_of([0, 1], [0, 1], [0, 1])}, "the node itself"),
        ({"source": None, "target": None, **lists_of([0, 3], [1], [2])}, "rising order"),
        ({"source": None, "target": None, **lists_of([0, 0], [1], [2])}, "rising order"),
        ({"threshold": np.zeros(2, np.uint32), "alias": np.zeros(3, np.int32)}, "an entry a node"),
        ({"threshold": np.zeros(3, np.uint32), "alias": np.full(3, 3, np.int32)}, "must be a node"),
    ],
)
def test_a_run_refuses_what_would_leave_the_arrays(change, says):
    good = {
        "nodes": 3,
        "source": np.array([0], np.int32),
        "target": np.array([1], np.int32),
        "start": None,
        "shifted": None,
        "threshold": None,
        "alias": None,
    }
    _kernels.TrainingRun(**good)
    with pytest.raises(ValueError, match=says):
        _kernels.TrainingRun(**{**good, **change})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"points": np.zeros((2, 8), np.float32)}, "points must have"),
        ({"points": np.zeros((3, 7), np.float32)}, "points must have"),
        ({"points": np.zeros((3, 0), np.float32)}, "points must have"),
        ({"dim": 0}, "dim must be"),
        ({"dim": 9}, "dim must be"),
        ({"random": np.zeros(3, np.uint64)}, "four words"),
        ({"manifold": "sphere"}, "manifold must be"),
        ({"weighted": True}, "no weights"),
        ({"hard": 1}, "a row a node"),
        ({"hard": 1, "intruder": np.zeros((2, 4), np.int32), "found": np.zeros(3, np.int32)}, "a row a node"),
        ({"hard": 1, "intruder": np.zeros((3, 4), np.int32), "found": np.full(3, 5, np.int32)}, "the width"),
        (
            {"hard": 1, "intruder": np.full((3, 4), 3, np.int32), "found": np.ones(3, np.int32)},
            "another node",
        ),
        ({"hard": 1, "intruder": np.zeros((3, 4), np.int32), "found": np.ones(3, np.int32)}, "another node"),
    ],
)
def test_an_epoch_refuses_what_would_leave_the_arrays(change, says):
    pair = np.array([0], np.int32), np.array([1], np.int32)
    run = _kernels.TrainingRun(3, *pair, None, None, None, None)
    good = {
        "run": run, "points": np.zeros((3, 8), np.float32), "dim": 3, "manifold": "poincare",
        "random": np.ones(4, np.uint64), "negatives": 2, "rate": 0.1, "temperature": 1.0, "weighted": False,
        "threads": 1, "intruder": None, "found": None, "hard": 0,
    }  # fmt: skip
    _kernels.train_epoch(*good.values())
    with pytest.raises(ValueError, match=says):
        _kernels.train_epoch(*{**good, **change}.values())


def test_other_threads_run_during_an_epoch():
    pairs = 20_000
    source, target = np.zeros(pairs, np.int32), np.ones(pairs, np.int32)
    run = _kernels.TrainingRun(100, source, target, None, None, None, None)
    words = np.ones(4, np.uint64)
    rows = np.random.default_rng(0).random((100, 8)).astype(np.float32)
    ticks = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            ticks.append(time.perf_counter())

    def ticked_inside_an_epoch():
        started = time.perf_counter()
        _kernels.train_epoch(run, rows, 8, "euclidean", words, 200, 0.1, 1.0, False, 1, None, None, 0)
        ended = time.perf_counter()
        third = (ended - started) / 3
        return any(started + third < tick < ended - third for tick in ticks)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        # A loaded machine may not schedule the counter during one epoch; a held GIL never lets it.
        assert any(ticked_inside_an_epoch() for _ in range(20))
    finally:
        done.set()
        counter.join()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers to interrupt itself")
@pytest.mark.parametrize("manifold", ["poincare", "lorentz"])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_epoch_leaves_nothing_past_the_dimension(manifold, threads):
    """Its rows are half-way, and valid: what a geometry keeps in their free lane is gone."""
    nodes, pairs, dim = 1000, 400_000, 5
    draw = np.random.default_rng(0)
    source = draw.integers(0, nodes, pairs).astype(np.int32)
    run = _kernels.TrainingRun(nodes, source, (source + 1) % nodes, None, None, None, None)
    rows = np.zeros((nodes, 8), np.float32)
    rows[:, :dim] = start = draw.uniform(-1e-3, 1e-3, (nodes, dim))

    def epoch(negatives):
        words = np.ones(4, np.uint64)
        return _kernels.train_epoch(
            run, rows, dim, manifold, words, negatives, 0.1, 1.0, False, threads, None, None, 0
        )

    def interrupt(_signal, _frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            epoch(400)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not rows[:, dim:].any()
    assert not np.array_equal(rows[:, :dim], start.astype(np.float32))
    assert np.isfinite(rows).all()
    halfway = rows.copy()
    if threads == 1:  # an epoch from there is that of fresh rows with the same coordinates
        first = epoch(1)
        after = rows.copy()
        rows[:] = 0
        rows[:, :dim] = halfway[:, :dim]
        assert epoch(1) == first
        assert np.array_equal(rows, after)
