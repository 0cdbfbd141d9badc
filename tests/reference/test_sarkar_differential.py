"""The layout and the spreading beside the reference's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.harness import Reference


def layout(payload):
    import warnings

    from poincare_memory import PoincareBall, sarkar_layout

    edges = [tuple(edge) for edge in payload["edges"]]
    lengths = {tuple(edge): length for edge, length in payload["lengths"]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        points = sarkar_layout(edges, PoincareBall(payload["c"]), payload["dim"], payload["tau"], lengths)
    return list(points), list(points.values()), [w.category.__name__ for w in caught]


@st.composite
def payloads(draw, dims):
    size = draw(st.integers(2, 20))
    edges = [(draw(st.integers(0, i - 1)), i) for i in range(1, size)]
    lengths = [(edge, draw(st.floats(0.1, 1.5))) for edge in edges if draw(st.booleans())]
    c, tau = draw(st.sampled_from([0.5, 1.0, 2.0])), draw(st.floats(0.05, 0.6))
    return {"edges": edges, "lengths": lengths, "c": c, "tau": tau, "dim": draw(dims)}


@given(payloads(st.just(2)))
@settings(max_examples=60, deadline=None)
def test_same_points_in_the_plane(reference: Reference, payload) -> None:
    nodes, points, _ = layout(payload)
    their_nodes, their_points, _ = reference.call(layout, payload)
    assert nodes == their_nodes
    radius = 2 * np.arctanh(np.sqrt(payload["c"]) * np.linalg.norm(their_points, axis=1))
    accurate = radius < 5.5  # beyond, the reference clips the difference of two points
    np.testing.assert_allclose(np.array(points)[accurate], np.array(their_points)[accurate], atol=1e-9)


@given(payloads(st.integers(3, 5)))
@settings(max_examples=15, deadline=None)
def test_same_radii_of_first_level_and_same_order(reference: Reference, payload) -> None:
    nodes, points, _ = layout(payload)
    their_nodes, their_points, _ = reference.call(layout, payload)
    assert nodes == their_nodes
    first = [i for i, node in enumerate(nodes) if (0, node) in payload["edges"]]
    norms = [np.linalg.norm([p[i] for i in first], axis=1) for p in (points, their_points)]
    np.testing.assert_allclose(*norms, atol=1e-9)


@pytest.mark.parametrize("levels", [3, 11, 12, 40])
@pytest.mark.parametrize("c", [1.0, 4.0])
def test_same_warnings_on_chains(reference: Reference, levels: int, c: float) -> None:
    edges = [(i, i + 1) for i in range(levels)]
    payload = {"edges": edges, "lengths": [], "c": c, "tau": 1.0, "dim": 2}
    assert layout(payload)[2] == reference.call(layout, payload)[2]


def spread(payload):
    from poincare_memory.hierarchy import spread_directions

    return [spread_directions(k, dim, avoid, seed) for k, dim, avoid, seed in payload]


def least_angle(rows, avoid):
    rows = rows if avoid is None else np.vstack([avoid, rows])
    products = rows @ rows.T
    np.fill_diagonal(products, -1.0)
    return np.arccos(products.max())


def test_same_angles_in_the_plane(reference: Reference) -> None:
    angles = np.linspace(-3, 3, 7)
    asked = [(k, 2, avoid, 0) for k in range(8) for avoid in (None, *np.c_[np.cos(angles), np.sin(angles)])]
    for ours, theirs in zip(spread(asked), reference.call(spread, asked), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_spread_at_least_as_far(reference: Reference) -> None:
    asked = [
        (k, dim, avoid, seed)
        for k, dim in ((2, 3), (3, 3), (5, 3), (8, 3), (20, 3), (4, 4), (9, 4), (30, 4), (11, 10), (35, 10))
        for avoid in (None, np.eye(dim)[0])
        for seed in range(2)
    ]
    theirs = reference.call(spread, asked)
    for case, ours, other in zip(asked, spread(asked), theirs, strict=True):
        assert least_angle(ours, case[2]) >= least_angle(other, case[2]) - 1e-9, case[:2]


def safe_depths(payload):
    import numpy as np

    from poincare_memory import PoincareBall, max_safe_depth

    kinds = (np.float64, np.float32, np.float16)
    return [max_safe_depth(PoincareBall(c), tau, kind) for c, tau in payload for kind in kinds]


def test_same_safe_depths(reference: Reference) -> None:
    asked = [(c, tau) for c in (0.1, 1.0, 3.0) for tau in (0.1, 1.0, 2.5)]
    np.testing.assert_allclose(safe_depths(asked), reference.call(safe_depths, asked), rtol=1e-13)
