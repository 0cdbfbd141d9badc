"""sarkar_layout: edges have their length, siblings are spread, the warning is true, nonsense is refused."""

from __future__ import annotations

import math
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory.geometry import PoincareBall
from poincare_memory.geometry.numerics import LARGEST_NORM
from poincare_memory.hierarchy import children_map, max_safe_depth, sarkar_layout

BALL = PoincareBall()


@st.composite
def trees(draw: st.DrawFn, most: int = 30) -> list[tuple[int, int]]:
    """Edges of a random tree rooted at 0, parents before children."""
    size = draw(st.integers(2, most))
    return [(draw(st.integers(0, i - 1)), i) for i in range(1, size)]


def quiet_layout(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sarkar_layout(*args, **kwargs)


def messages(*args, **kwargs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sarkar_layout(*args, **kwargs)
    return [(w.category, str(w.message), w.filename) for w in caught]


def edge_directions(ball, points, node, others):
    """Unit directions at ``node`` of the edges to ``others``."""
    tangents = ball.logmap(points[node], np.stack([points[other] for other in others]))
    return tangents / np.linalg.norm(tangents, axis=1, keepdims=True)


def chain(levels):
    return [(i, i + 1) for i in range(levels)]


@given(
    trees(),
    st.integers(2, 6),
    st.floats(0.05, 3.0),
    st.sampled_from([0.3, 1.0, 4.0]),
    st.lists(st.floats(0.01, 2.0), min_size=30, max_size=30),
    st.integers(0, 5),
)
def test_every_edge_has_its_length(edges, dim, tau, curvature, lengths, seed):
    ball = PoincareBall(curvature)
    edge_length = dict(zip(edges[::2], lengths, strict=False))
    points = quiet_layout(edges, ball, dim, tau, edge_length, seed=seed)
    for parent, child in edges:
        wanted = tau * edge_length.get((parent, child), 1.0)
        deeper = np.stack([points[parent], points[child]])
        radius = math.sqrt(curvature) * float(ball.distance_to_origin(deeper).max())
        if radius < 33:
            tolerance = 1e-11 + 2e-15 * math.exp(radius)
            assert float(ball.distance(*deeper)) == pytest.approx(wanted, abs=tolerance)


@given(trees(), st.integers(2, 5), st.integers(0, 3))
def test_edges_at_a_node_are_spread(edges, dim, seed):
    points = quiet_layout(edges, dim=dim, tau=0.5, seed=seed)
    children, _ = children_map(edges)
    parent_of = {child: parent for parent, child in edges}
    for node, below in children.items():
        others = below + ([parent_of[node]] if node in parent_of else [])
        if len(others) == 1 or float(BALL.distance_to_origin(points[node])) > 8:
            continue
        units = edge_directions(BALL, points, node, others)
        cosines = (units @ units.T)[np.triu_indices(len(others), 1)]
        slots = len(others)
        if dim == 2:
            angles = 2 * np.pi * np.arange(1, slots) / slots
            assert np.abs(np.sort(cosines)[-1] - np.cos(angles).max()) < 1e-6
        elif slots <= dim + 1:
            np.testing.assert_allclose(cosines, -1 / (slots - 1), atol=1e-6)
        elif slots <= 2 * dim:
            assert cosines.max() < 1e-6
        else:
            assert cosines.max() < 0.95


def test_children_in_the_plane_run_counter_clockwise_from_their_parent():
    points = sarkar_layout([("a", "b"), ("a", "c"), ("b", "d"), ("b", "e"), ("b", "f")])
    units = edge_directions(BALL, points, "b", ["a", "d", "e", "f"])
    np.testing.assert_allclose(units, [[-1, 0], [0, -1], [1, 0], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(points["c"], [-math.tanh(0.5), 0], atol=1e-15)


@given(trees(), st.integers(2, 4), st.randoms(use_true_random=False))
def test_only_the_order_of_siblings_counts(edges, dim, random):
    children, _ = children_map(edges)
    waiting = {parent: list(below) for parent, below in children.items()}
    mixed = []
    while waiting:
        parent = random.choice(list(waiting))
        mixed.append((parent, waiting[parent].pop(0)))
        if not waiting[parent]:
            del waiting[parent]
    ours, theirs = quiet_layout(edges, dim=dim, tau=0.5), quiet_layout(mixed, dim=dim, tau=0.5)
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[node], theirs[node]) for node in ours)


def test_families_come_together_and_points_are_independent():
    edges = [(0, 1), (1, 3), (0, 2), (2, 4), (1, 5)]
    points = sarkar_layout(edges, edge_length={(2, 4): 0.0})
    assert list(points) == [0, 1, 2, 4, 3, 5]
    assert points[0].tolist() == [0.0, 0.0]
    assert all(p.dtype == np.float64 and p.shape == (2,) for p in points.values())
    kept = points[4].copy()
    points[2][:] = 0.9
    assert np.array_equal(points[4], kept)


def test_a_repeated_edge_takes_one_slot():
    once, twice = (sarkar_layout([("a", "b"), ("a", "c")] * n) for n in (1, 2))
    assert once.keys() == twice.keys()
    assert all(np.array_equal(once[node], twice[node]) for node in once)


def test_curvature_and_tau_only_scale():
    edges = [((i - 1) // 3, i) for i in range(1, 40)]
    unit = sarkar_layout(edges, dim=3, tau=1.0)
    curved = sarkar_layout(edges, PoincareBall(4.0), dim=3, tau=0.5)
    for node, point in unit.items():
        np.testing.assert_allclose(2 * curved[node], point, atol=1e-14)


@pytest.mark.parametrize("dim", [2, 3, 10])
def test_reproducible_whatever_the_threads(dim):
    edges = [(0, i) for i in range(1, 60)] + [(i % 60, i) for i in range(61, 3000)]
    one, again, two = (quiet_layout(edges, dim=dim, seed=7, n_threads=n) for n in (1, 1, 2))
    assert all(
        np.array_equal(one[node], again[node]) and np.array_equal(one[node], two[node]) for node in one
    )
    other = quiet_layout(edges, dim=dim, seed=8)
    assert (dim == 2) == all(np.array_equal(one[node], other[node]) for node in one)


def test_layout_fills_the_dimensions_it_is_given():
    """Equal nodes are turned differently, so that a binary tree does not stay in one plane."""
    edges = [((i - 1) // 2, i) for i in range(1, 255)]
    points = np.stack(list(quiet_layout(edges, dim=6).values()))
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    assert spread[-1] > 0.02 * spread[0]


# Length zero


def test_nodes_at_distance_zero_share_a_place_and_its_directions():
    edges = [("a", "b"), ("a", "x"), ("b", "c"), ("b", "d"), ("c", "e")]
    points = sarkar_layout(edges, edge_length={("a", "b"): 0.0, ("b", "c"): 0})
    assert np.array_equal(points["a"], points["b"])
    assert np.array_equal(points["a"], points["c"])
    units = edge_directions(BALL, points, "a", ["x", "d", "e"])
    np.testing.assert_allclose((units @ units.T)[np.triu_indices(3, 1)], -0.5, atol=1e-12)


def test_children_of_a_coincident_node_avoid_the_way_back():
    points = sarkar_layout([("a", "b"), ("b", "c"), ("c", "d"), ("c", "e")], edge_length={("b", "c"): 0.0})
    for first, second in (("d", "e"), ("d", "a"), ("e", "a")):
        units = edge_directions(BALL, points, "c", [first, second])
        assert units[0] @ units[1] == pytest.approx(-0.5)


def test_tree_of_zero_length_is_one_point():
    edges = chain(5)
    points = sarkar_layout(edges, edge_length=dict.fromkeys(edges, 0.0), dim=4)
    assert not np.stack(list(points.values())).any()


# The safety check


@pytest.mark.parametrize(("levels", "loud"), [(11, False), (12, True), (30, True)])
def test_warns_beyond_95_percent_of_the_safe_radius(levels, loud):
    found = messages(chain(levels))
    assert bool(found) == loud
    assert all(category is RuntimeWarning and name == __file__ for category, _, name in found)


def test_warning_counts_edge_lengths_and_curvature():
    assert messages([("a", "b")], edge_length={("a", "b"): 50.0})
    assert not messages(chain(20), edge_length=dict.fromkeys(chain(20), 0.1))
    assert not messages(chain(20), PoincareBall(0.25))
    assert messages(chain(8), PoincareBall(4.0))
    assert messages([("a", "b")], tau=100.0)


def test_warning_goes_by_the_radius_reached_not_by_the_depth():
    """Fourteen levels, but every node has a sibling: the path turns by 60 degrees each time."""
    edges = [(i, j) for i in range(0, 28, 2) for j in (i + 1, i + 2)]
    points = quiet_layout(edges)
    assert max(float(BALL.distance_to_origin(p)) for p in points.values()) < 5
    assert not messages(edges)


def test_beyond_float64_the_warning_says_how_many_and_points_stay_inside():
    found = messages(chain(2000), dim=3)
    assert len(found) == 1
    limit = 2 * math.atanh(LARGEST_NORM[np.float64])
    assert f"{2000 - math.floor(limit)} of 2001" in found[0][1]
    points = np.stack(list(quiet_layout(chain(2000), dim=3).values()))
    assert np.isfinite(points).all()
    assert (np.linalg.norm(points, axis=1) < 1).all()
    assert BALL.is_inside(points).all()


def test_lengths_at_the_ends_of_the_range():
    edges = [("a", "b"), ("b", "c"), ("b", "d"), ("c", "e"), ("c", "f")]
    for lengths in ((5e-324, 1.0), (1e-200, 1e-200), (1e300, 1e300), (1e300, 1e-300), (800.0, 800.0)):
        for dim in (2, 3):
            points = quiet_layout(
                edges, dim=dim, edge_length=dict(zip(edges, (lengths * 3)[:5], strict=True))
            )
            assert BALL.is_inside(np.stack(list(points.values()))).all()


# Size


def test_wide_and_big_trees_in_linear_time():
    edges = [(0, i) for i in range(1, 20_000)]
    points = sarkar_layout(edges)
    assert len(points) == 20_000
    np.testing.assert_allclose(BALL.distance_to_origin(np.stack(list(points.values())))[1:], 1.0, atol=1e-12)
    bushy = quiet_layout([((i - 1) // 4, i) for i in range(1, 20_000)], dim=5)
    assert len(bushy) == 20_000


# What is refused

TREE = [("a", "b"), ("b", "c")]


@pytest.mark.parametrize(
    ("edges", "options", "error", "says"),
    [
        ([], {}, ValueError, "at least one"),
        ([("a", "b"), ("c", "d")], {}, ValueError, "root="),
        ([("a", "a")], {}, ValueError, "own parent"),
        ([("a", "b"), ("b", "a")], {}, ValueError, "cycle"),
        ([("r", "a"), ("a", "b"), ("b", "a")], {}, ValueError, "two parents|cycle"),
        ([("a", "c"), ("b", "c")], {}, ValueError, "two parents"),
        ([("a", "b", 1.0)], {}, ValueError, "pairs"),
        (TREE, {"root": "zzz"}, ValueError, "'zzz'"),
        (TREE, {"dim": 1}, ValueError, "dim"),
        (TREE, {"dim": 2.5}, TypeError, "dim"),
        (TREE, {"tau": 0.0}, ValueError, "tau"),
        (TREE, {"tau": -1.0}, ValueError, "tau"),
        (TREE, {"tau": math.nan}, ValueError, "tau"),
        (TREE, {"tau": math.inf}, ValueError, "tau"),
        (TREE, {"tau": "long"}, TypeError, "tau"),
        (TREE, {"seed": 0.5}, TypeError, "seed"),
        (TREE, {"seed": -1}, ValueError, "seed"),
        (TREE, {"ball": 1.0}, TypeError, "PoincareBall"),
        (TREE, {"n_threads": 0}, ValueError, "n_threads"),
        (TREE, {"edge_length": {("a", "b"): -1.0}}, ValueError, "length"),
        (TREE, {"edge_length": {("a", "b"): math.nan}}, ValueError, "length"),
        (TREE, {"edge_length": {("a", "b"): math.inf}}, ValueError, "length"),
        (TREE, {"edge_length": {("a", "b"): 1e308}, "tau": 100.0}, ValueError, "length"),
        (TREE, {"edge_length": {("a", "b"): None}}, TypeError, "number"),
        (TREE, {"edge_length": {("b", "a"): 1.0}}, ValueError, "parent comes first"),
        (TREE, {"edge_length": {("a", "c"): 1.0}}, ValueError, "no edge"),
        (TREE, {"edge_length": {"ab": 1.0}}, ValueError, "no edge"),
        (TREE, {"edge_length": [1.0, 2.0]}, TypeError, "mapping"),
    ],
)
def test_refused(edges, options, error, says):
    with pytest.raises(error, match=says):
        sarkar_layout(edges, **options)


def test_roots():
    forest = [("a", "b"), ("c", "d"), ("d", "e")]
    assert list(sarkar_layout(forest, root="c")) == ["c", "d", "e"]
    assert list(sarkar_layout(forest, root="d")) == ["d", "e"]
    assert list(sarkar_layout(forest, root="e")) == ["e"]
    assert list(sarkar_layout([], root="lone")) == ["lone"]
    assert list(sarkar_layout([(0, 1)], root=0)) == [0, 1]
    assert set(sarkar_layout([(1, "a"), (1, (2, 3)), ("a", None)])) == {1, "a", (2, 3), None}
    lengths = {("a", "b"): 2.0, ("d", "e"): 3.0}
    points = sarkar_layout(forest, root="c", edge_length=lengths)
    assert float(BALL.distance(points["d"], points["e"])) == pytest.approx(3.0)


def test_default_length_applies_to_missing_edges_of_a_counter():
    points = sarkar_layout(TREE, edge_length=Counter({("a", "b"): 2}))
    assert float(BALL.distance(points["a"], points["b"])) == pytest.approx(2.0)
    assert float(BALL.distance(points["b"], points["c"])) == pytest.approx(1.0)


# max_safe_depth


def test_max_safe_depth_is_where_project_stops():
    for curvature in (0.25, 1.0, 9.0):
        ball = PoincareBall(curvature)
        for kind in (np.float64, np.float32, np.float16):
            margin = {np.float64: 1e-5, np.float32: 4e-3, np.float16: 1e-2}[kind]
            wanted = 2 * math.atanh(1 - margin) / math.sqrt(curvature) / 0.7
            assert max_safe_depth(ball, 0.7, kind) == pytest.approx(wanted, rel=1e-12)
            assert max_safe_depth(ball, 0.7, np.dtype(kind)) == max_safe_depth(ball, 0.7, np.dtype(kind).name)


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan, math.inf])
def test_max_safe_depth_refuses_a_step_of_no_length(tau):
    with pytest.raises(ValueError, match="tau"):
        max_safe_depth(BALL, tau)


@pytest.mark.parametrize("dtype", [np.int64, np.complex128, "S3"])
def test_max_safe_depth_refuses_other_types(dtype):
    with pytest.raises(ValueError, match="float16, float32, float64"):
        max_safe_depth(BALL, 1.0, dtype)
