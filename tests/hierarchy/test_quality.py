"""layout_quality against a plain NumPy computation, and what it says of layouts that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import PoincareBall
from poincare_memory.hierarchy import PreciseLayout, children_map, layout_quality, sarkar_layout


def oracle(points, edges, ball, tau, lengths):
    """All pairs by Floyd and Warshall, all ranks by sorting."""
    nodes = list(dict.fromkeys(node for edge in edges for node in edge))
    n, number = len(nodes), {node: i for i, node in enumerate(nodes)}
    along = np.full((n, n), np.inf)
    np.fill_diagonal(along, 0)
    near = np.zeros((n, n), bool)
    for edge in edges:
        i, j = number[edge[0]], number[edge[1]]
        along[i, j] = along[j, i] = tau * lengths.get(edge, 1.0)
        near[i, j] = near[j, i] = True
    for k in range(n):
        along = np.minimum(along, along[:, k : k + 1] + along[k])
    rows = np.array([points[node] for node in nodes])
    gaps = np.array([[float(ball.distance(x, y)) for y in rows] for x in rows])
    counted = np.isfinite(along) & (along > 0)
    ratio = gaps[counted] / along[counted]
    precisions = []
    for i in range(n):
        mine = np.sort(gaps[i][near[i]])
        others = np.delete(gaps[i], [i, *np.flatnonzero(near[i])])
        closer = (others[:, None] <= mine).sum(axis=0)
        place = np.arange(1, len(mine) + 1)
        precisions.append((place / (place + closer)).mean())
    return np.abs(ratio - 1).mean(), ratio.max() / ratio.min(), np.mean(precisions), counted.sum(), n


@st.composite
def layouts(draw):
    size = draw(st.integers(2, 12))
    edges = [(draw(st.integers(0, i - 1)), i) for i in range(1, size) if i == 1 or draw(st.integers(0, 5))]
    lengths = {edge: draw(st.floats(0.1, 3.0)) for edge in edges if draw(st.booleans())}
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    curvature = draw(st.sampled_from([0.25, 1.0, 4.0]))
    rows = rng.normal(size=(size, 3))
    rows *= (
        rng.uniform(0, 0.99, (size, 1)) / np.linalg.norm(rows, axis=1, keepdims=True) / math.sqrt(curvature)
    )
    return edges, lengths, dict(enumerate(rows)), PoincareBall(curvature)


@given(layouts(), st.floats(0.5, 3.0), st.integers(1, 2))
def test_against_the_plain_computation(layout, tau, threads):
    edges, lengths, points, ball = layout
    found = layout_quality(points, edges, ball, tau=tau, edge_length=lengths, n_threads=threads)
    error, worst, precision, pairs, queries = oracle(points, edges, ball, tau, lengths)
    assert found.average_distortion == pytest.approx(error, rel=1e-9)
    assert found.worst_distortion == pytest.approx(worst, rel=1e-9)
    assert found.mean_average_precision == pytest.approx(precision, rel=1e-12)
    assert (found.n_pairs, found.n_queries) == (pairs, queries)


def test_longer_edges_distort_less_and_a_path_not_at_all():
    edges = [((i - 1) // 3, i) for i in range(1, 200)]
    short, long = (layout_quality(sarkar_layout(edges, tau=tau), edges, tau=tau) for tau in (0.5, 2.0))
    assert long.average_distortion < short.average_distortion
    assert 1 < long.worst_distortion < short.worst_distortion
    assert long.mean_average_precision == 1.0
    path = [(0, 1), (1, 2), (2, 3)]
    quality = layout_quality(sarkar_layout(path), path)
    assert quality.average_distortion < 1e-10 and quality.worst_distortion == pytest.approx(1, abs=1e-9)


def test_a_sample_is_seeded_and_near_the_whole():
    edges = [((i - 1) // 5, i) for i in range(1, 1500)]
    points = sarkar_layout(edges, dim=3, tau=1.2)
    whole = layout_quality(points, edges, tau=1.2, sample=None)
    assert whole.n_queries == 1500 and whole.n_pairs == 1500 * 1499
    some = layout_quality(points, edges, tau=1.2, sample=300, seed=1)
    assert some.n_queries == 300
    assert some == layout_quality(points, edges, tau=1.2, sample=300, seed=1, n_threads=1)
    assert some != layout_quality(points, edges, tau=1.2, sample=300, seed=2)
    assert some.average_distortion == pytest.approx(whole.average_distortion, rel=0.05)
    assert some.mean_average_precision == pytest.approx(whole.mean_average_precision, abs=0.05)


def test_nodes_at_one_place_are_no_pair_and_forests_have_pairs_within_trees():
    edges = [("a", "b"), ("a", "c"), ("x", "y")]
    points = sarkar_layout(edges, forest=True)
    assert layout_quality(points, edges).n_pairs == 8
    lengths = {("a", "b"): 0.0}
    points = sarkar_layout(edges, forest=True, edge_length=lengths)
    assert layout_quality(points, edges, edge_length=lengths).n_pairs == 6
    together = layout_quality({"a": [0, 0], "b": [0, 0]}, [("a", "b")], edge_length={("a", "b"): 0.0})
    assert together.n_pairs == 0 and math.isnan(together.average_distortion)
    assert together.mean_average_precision == 1.0
    collapsed = layout_quality({"a": [0, 0], "b": [0, 0], "c": [0.1, 0]}, [("a", "b"), ("a", "c")])
    assert collapsed.worst_distortion == math.inf


def test_bad_arguments():
    edges, points = [("a", "b")], {"a": [0.0, 0.0], "b": [0.5, 0.0]}
    with pytest.raises(KeyError, match="'c'"):
        layout_quality(points, [("a", "b"), ("b", "c")])
    with pytest.raises(ValueError, match="two parents"):
        layout_quality(points, [("a", "b"), ("c", "b")])
    with pytest.raises(ValueError, match="at least one"):
        layout_quality(points, [])
    with pytest.raises(ValueError, match="inside"):
        layout_quality({**points, "b": [1.0, 0.0]}, edges)
    with pytest.raises(ValueError, match=r"finite.*'b'"):
        layout_quality({**points, "b": [math.nan, 0.0]}, edges)
    with pytest.raises(ValueError, match="one shape"):
        layout_quality({**points, "b": [0.5]}, edges)
    with pytest.raises(ValueError, match="shape"):
        layout_quality({"a": 0.0, "b": 0.5}, edges)
    for name, value in (("tau", 0.0), ("sample", 0), ("seed", -1), ("edge_length", {("b", "a"): 1.0})):
        with pytest.raises(ValueError, match=name):
            layout_quality(points, edges, **{name: value})
    layout = sarkar_layout(edges, precision="double-double")
    with pytest.raises(ValueError, match="curvature"):
        layout_quality(layout, edges, PoincareBall(2.0))


def test_of_a_precise_layout_far_out():
    """Sixteen bits of float64 are too few to tell these siblings apart; 106 are enough."""
    edges = [((i - 1) // 2, i) for i in range(1, 2**7 - 1)]
    tau = 7.5
    precise = sarkar_layout(edges, tau=tau, precision="double-double")
    assert isinstance(precise, PreciseLayout) and precise.radius.max() == pytest.approx(42, abs=4)
    quality = layout_quality(precise, edges, tau=tau, sample=None)
    assert quality.mean_average_precision == 1.0 and quality.worst_distortion < 1.1
    with pytest.warns(RuntimeWarning, match="float64 has no point"):
        points = sarkar_layout(edges, tau=tau)
    plain = layout_quality(points, edges, tau=tau, sample=None)
    assert plain.worst_distortion > 1.2
    assert len(children_map(edges)[0]) == 2**6 - 1
