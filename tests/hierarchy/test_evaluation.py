"""Reconstruction against a brute-force oracle: ties, order, hostile points, every way to give the distance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import PoincareBall
from poincare_memory.hierarchy.evaluation import reconstruction

BALL = PoincareBall()
SQUARE = {"u": [0.0, 0.0], "n1": [0.25, 0.0], "r": [0.0, 0.25], "n2": [-0.25, 0.0]}


def euclidean(x, y):
    return np.sqrt(((np.asarray(x) - np.asarray(y)) ** 2).sum(axis=-1))


def by_brute_force(points, closure, distance):
    """Average precision over a full ranking in which unrelated nodes come first among equals; mean rank."""
    related = {}
    for u, v in closure:
        related.setdefault(u, set()).add(v)
    precisions, ranks = [], []
    for u, mine in related.items():
        gap = {x: float(distance(points[u], points[x])) for x in points if x != u}
        ranking = sorted(gap, key=lambda x: (gap[x], x in mine))
        places = [place for place, x in enumerate(ranking, 1) if x in mine]
        precisions.append(np.mean([(i + 1) / place for i, place in enumerate(places)]))
        ranks += [1 + sum(gap[x] <= gap[v] for x in gap if x not in mine) for v in mine]
    return np.mean(precisions), np.mean(ranks), len(related)


@st.composite
def embeddings(draw):
    """Points on a coarse grid of exact binary fractions, so that equal distances are equal, and many."""
    nodes = draw(st.integers(2, 90))
    dim = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    steps = draw(st.sampled_from([1, 2, 8]))
    points = rng.integers(-steps, steps + 1, (nodes, dim)) / (steps * 4.0)
    count = draw(st.integers(1, 2 * nodes))
    pairs = {(int(u), int(v)) for u, v in rng.integers(0, nodes, (count, 2)) if u != v} or {(0, 1)}
    if draw(st.booleans()):  # a hub with many related nodes
        pairs |= {(0, v) for v in range(1, nodes)}
    return dict(enumerate(points)), sorted(pairs)


@given(embeddings())
@settings(max_examples=80, deadline=None)
def test_every_way_equals_brute_force(task):
    points, closure = task
    for distance, key in (
        (BALL.distance, lambda x, y: ((x - y) ** 2).sum() / (1 - (y**2).sum())),
        ("euclidean", lambda x, y: ((x - y) ** 2).sum()),
        (euclidean, lambda x, y: ((x - y) ** 2).sum()),
    ):
        expected = by_brute_force(points, closure, key)
        found = reconstruction(points, closure, distance)
        assert found.mean_average_precision == pytest.approx(expected[0], rel=1e-12)
        assert found.mean_rank == pytest.approx(expected[1], rel=1e-12)
        assert found.n_queries == expected[2]


@given(st.integers(0, 2**32), st.sampled_from([0.25, 1.0, 9.0]), st.floats(0.1, 5.0))
@settings(max_examples=20, deadline=None)
def test_own_distances_are_recognised_and_agree(seed, c, radius):
    ball = PoincareBall(c)
    rng = np.random.default_rng(seed)
    points = dict(enumerate(ball.random_points(70, 5, radius, seed=seed % 1000)))
    closure = [(int(u), int(v)) for u, v in rng.integers(0, 70, (200, 2)) if u != v]
    called = reconstruction(points, closure, lambda x, y: ball.distance(x, y))
    one_thread = reconstruction(points, closure, ball.distance, n_threads=1)
    assert one_thread.mean_average_precision == pytest.approx(called.mean_average_precision, rel=1e-12)
    assert one_thread.mean_rank == called.mean_rank
    for own in (ball.distance, ball.distance_arcosh):
        for threads in (2, None):
            assert reconstruction(points, closure, own, n_threads=threads) == one_thread


def test_ties_count_against_the_embedding_in_any_order():
    for order in (("u", "r", "n1", "n2"), ("u", "n1", "r", "n2"), ("n2", "n1", "u", "r")):
        points = {name: SQUARE[name] for name in order}
        for distance in (BALL.distance, "euclidean", euclidean):
            found = reconstruction(points, [("u", "r")], distance)
            assert (found.mean_average_precision, found.mean_rank) == (pytest.approx(1 / 3), 3)
            found = reconstruction(points, [("u", "r"), ("u", "n1")], distance)
            assert (found.mean_average_precision, found.mean_rank) == (pytest.approx((1 / 2 + 2 / 3) / 2), 2)


def test_collapsed_embedding_scores_the_worst():
    points = {i: np.zeros(3) for i in range(50)}
    found = reconstruction(points, [(0, 1)], BALL.distance)
    assert (found.mean_average_precision, found.mean_rank) == (1 / 49, 49)


def test_perfect_and_trivial():
    found = reconstruction({"a": [0.0], "b": [0.1]}, [("a", "b")], BALL.distance)
    assert (found.mean_average_precision, found.mean_rank, found.n_queries) == (1, 1, 1)
    everything = [(u, v) for u in SQUARE for v in SQUARE if u != v]
    found = reconstruction(SQUARE, everything, BALL.distance)
    assert (found.mean_average_precision, found.mean_rank, found.n_queries) == (1, 1, 4)


def test_repeated_pairs_count_once():
    once = reconstruction(SQUARE, [("u", "r"), ("n1", "r")], BALL.distance)
    assert reconstruction(SQUARE, [("u", "r"), ("u", "r"), ("n1", "r")], BALL.distance) == once


def test_nothing_to_ask():
    found = reconstruction(SQUARE, [], BALL.distance)
    assert math.isnan(found.mean_average_precision)
    assert math.isnan(found.mean_rank)
    assert found.n_queries == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("distance", [BALL.distance, "euclidean", euclidean])
def test_points_that_are_not_finite_are_named(bad, distance):
    with pytest.raises(ValueError, match=r"finite coordinates.*'stray'"):
        reconstruction({**SQUARE, "stray": [bad, 0.0]}, [("u", "r")], distance)


@pytest.mark.parametrize(
    ("points", "closure", "distance", "error", "says"),
    [
        (SQUARE, [("u", "zz")], BALL.distance, KeyError, "'zz' has no point"),
        (SQUARE, [("zz", "u")], euclidean, KeyError, "'zz' has no point"),
        (SQUARE, [("u", "u")], BALL.distance, ValueError, "'u' is paired with itself"),
        (SQUARE, [("u", "r", 1.0)], BALL.distance, ValueError, "pairs, got"),
        (SQUARE, [("u", "r")], "hyperbolic", ValueError, "distance: expected a callable"),
        (SQUARE, [("u", "r")], None, ValueError, "distance: expected a callable"),
        (SQUARE, [("u", "r")], lambda x, y: np.zeros(3), ValueError, "expected 4 distances"),
        (SQUARE, [("u", "r")], lambda x, y: np.full(4, np.nan), ValueError, "NaN between nodes 'u' and 'u'"),
        (SQUARE, [("u", "r")], BALL, ValueError, "such as PoincareBall.*pass its `distance`"),
        (
            list(SQUARE.values()),
            [("u", "r")],
            BALL.distance,
            TypeError,
            "points: expected a mapping.* got list",
        ),
        ({}, [], BALL.distance, ValueError, "at least one node"),
        ({"a": 0.5}, [], BALL.distance, ValueError, "shape \\(dim,\\)"),
        ({"a": []}, [], BALL.distance, ValueError, "shape \\(dim,\\)"),
        ({"a": [0.1], "b": [0.1, 0.2]}, [("a", "b")], BALL.distance, ValueError, "'b' has shape"),
        ({"a": [0.1, 0], "b": [1.0, 0]}, [("a", "b")], BALL.distance, ValueError, "strictly inside.*'b'"),
    ],
)
def test_what_cannot_be_ranked_is_refused(points, closure, distance, error, says):
    with pytest.raises(error, match=says):
        reconstruction(points, closure, distance)


def test_custom_distance_gets_one_row_against_all():
    shapes = []

    def spy(x, y):
        shapes.append((x.shape, y.shape, x.dtype))
        return euclidean(x, y)

    reconstruction({k: np.float32(v) for k, v in SQUARE.items()}, [("u", "r"), ("r", "u")], spy)
    assert shapes == [((1, 2), (4, 2), np.dtype(np.float64))] * 2


def test_deep_points_keep_their_order():
    """Radii at which the reference's distance has saturated."""
    points = {"far": BALL.point_at([1.0, 0.0], 20.0)}
    points |= {f"near{i}": BALL.point_at([1.0, 0.0], 20.0 - i) for i in range(1, 5)}
    points |= {f"other{i}": BALL.point_at([-1.0, 0.0], float(i)) for i in range(1, 15)}
    found = reconstruction(points, [("far", f"near{i}") for i in range(1, 5)], BALL.distance)
    assert (found.mean_average_precision, found.mean_rank) == (1, 1)


TIED = {
    "u": [0.0, 0.0],
    "n1": [0.3, 0.0],
    "r": [0.0, 0.3],
    "n2": [-0.3, 0.0],
    "s": [0.0, -0.3],
    "far": [0.8, 0.0],
}


@pytest.mark.parametrize("distance", [PoincareBall().distance, "euclidean"], ids=["ball", "euclidean"])
@pytest.mark.parametrize(
    ("order", "precision", "rank"),
    [
        ("u r n1 n2", 1.0, 1.0),
        ("u n1 r n2", 0.5, 1.0),
        ("u n1 n2 r", 1 / 3, 1.0),
        ("n1 r n2 u", 0.5, 1.0),
        ("u n1 r n2 s", 0.5, 1.0),
        ("u n1 r n2 s far", (1 / 2 + 2 / 4 + 3 / 5) / 3, 5 / 3),
    ],
)
def test_the_convention_of_the_reference_for_ties(distance, order, precision, rank):
    """Values of poincare-memory 0.1.4, asked."""
    nodes = order.split()
    pairs = [("u", node) for node in nodes if node in ("r", "s", "far")]
    result = reconstruction({node: TIED[node] for node in nodes}, pairs, distance, ties="reference")
    assert result.mean_average_precision == pytest.approx(precision)
    assert result.mean_rank == pytest.approx(rank)
    strict = reconstruction({node: TIED[node] for node in nodes}, pairs, distance)
    assert strict.mean_average_precision <= precision
    assert strict.mean_rank >= rank


def test_conventions_differ_in_ties_alone():
    rng = np.random.default_rng(6)
    points = {i: rng.uniform(-0.4, 0.4, 4) for i in range(60)}
    pairs = [(i, int(j)) for i in range(60) for j in rng.choice(60, 4, replace=False) if i != j]
    for distance in (PoincareBall().distance, "euclidean"):
        one, two = (
            reconstruction(points, pairs, distance, ties=ties) for ties in ("pessimistic", "reference")
        )
        assert one.mean_rank == two.mean_rank
        assert one.mean_average_precision == pytest.approx(two.mean_average_precision, abs=1e-12)


def test_an_unknown_convention_is_refused():
    with pytest.raises(ValueError, match=r"^ties: expected"):
        reconstruction(TIED, [("u", "r")], "euclidean", ties="random")
