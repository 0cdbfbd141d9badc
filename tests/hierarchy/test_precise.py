"""Layouts with 106 bits: distances against mpmath and the law of cosines, far beyond float64's ball."""

from __future__ import annotations

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import PoincareBall
from poincare_memory._core import _kernels
from poincare_memory.hierarchy import PreciseLayout, children_map, sarkar_layout


def exact_distance(layout, x, y):
    """mpmath, from the stored digits."""
    with mpmath.workdps(120):
        i, j = layout.rows([x, y])

        def direction(row):
            high, low = layout.direction[row], layout.correction[row]
            return [mpmath.mpf(a) + mpmath.mpf(b) for a, b in zip(high, low, strict=True)]

        r, s = (mpmath.mpf(layout.radius[k]) * mpmath.sqrt(layout.curvature) for k in (i, j))
        chord = sum((a - b) ** 2 for a, b in zip(direction(i), direction(j), strict=True))
        q = mpmath.sinh((r - s) / 2) ** 2 + mpmath.sinh(r) * mpmath.sinh(s) * chord / 4
        return float(2 * mpmath.asinh(mpmath.sqrt(q)) / mpmath.sqrt(layout.curvature))


def side(a, b, angle):
    """The third side of a triangle, in curvature −1."""
    with mpmath.workdps(80):
        half = mpmath.sin(mpmath.mpf(angle) / 2) ** 2
        value = mpmath.cosh(mpmath.mpf(a) - b) + 2 * mpmath.sinh(a) * mpmath.sinh(b) * half
        return float(mpmath.acosh(value))


@given(st.integers(0, 1000), st.integers(2, 6), st.sampled_from([0.5, 1.0, 4.0]))
def test_distances_are_those_of_the_stored_digits(seed, dim, curvature):
    rng = np.random.default_rng(seed)
    edges = [(int(rng.integers(max(0, i - 3), i)), i) for i in range(1, 25)]
    tau = float(rng.uniform(0.5, 3.0)) / np.sqrt(curvature)
    layout = sarkar_layout(edges, PoincareBall(curvature), dim=dim, tau=tau, precision="double-double")
    pairs = [tuple(map(int, rng.integers(0, 25, 2))) for _ in range(10)]
    wanted = [exact_distance(layout, x, y) for x, y in pairs]
    np.testing.assert_allclose(layout.distances(pairs), wanted, rtol=1e-11, atol=1e-13)
    assert layout.distances(pairs, n_threads=1).tolist() == layout.distances(pairs).tolist()


@pytest.mark.parametrize("dim", [2, 3, 10])
@pytest.mark.parametrize(("tau", "levels", "error"), [(3.0, 15, 1e-9), (4.0, 12, 1e-9), (4.0, 15, 1e-4)])
def test_families_far_out(dim, tau, levels, error):
    """A chain whose every node has two children: edges, siblings and grandparents at the distances they should have."""
    edges = [(2 * level, 2 * level + k) for level in range(levels) for k in (2, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if tau * levels > 48 else "error")
        layout = sarkar_layout(edges, dim=dim, tau=tau, precision="double-double")
    assert layout.radius.max() > 0.8 * tau * levels
    np.testing.assert_allclose(layout.distances(edges), tau, rtol=error)
    apart = side(tau, tau, 2 * np.pi / 3)  # three slots around every node
    siblings = [(2 * level + 1, 2 * level + 2) for level in range(1, levels)]
    np.testing.assert_allclose(layout.distances(siblings), apart, rtol=error)
    grand = [(2 * level, 2 * level + 4) for level in range(1, levels - 1)]
    np.testing.assert_allclose(layout.distances(grand), apart, rtol=error)


def test_near_the_origin_it_is_the_layout_of_float64():
    edges = [((i - 1) // 3, i) for i in range(1, 100)]
    ball = PoincareBall(2.0)
    plain = sarkar_layout(edges, ball, dim=4, seed=3)
    precise = sarkar_layout(edges, ball, dim=4, seed=3, precision="double-double")
    assert list(precise) == list(plain) and len(precise) == 100 and 99 in precise and 100 not in precise
    for node, point in plain.items():
        np.testing.assert_allclose(precise[node], point, atol=1e-14)
    assert precise.distance(3, 57) == pytest.approx(float(ball.distance(plain[3], plain[57])), rel=1e-9)
    assert repr(precise) == "PreciseLayout(100 nodes, dim=4, curvature=2.0)"


def test_directions_have_length_one_to_106_bits():
    edges = [((i - 1) // 3, i) for i in range(1, 300)]
    layout = sarkar_layout(edges, dim=5, tau=5.0, precision="double-double")
    with mpmath.workdps(60):
        for high, low in zip(layout.direction[1:], layout.correction[1:], strict=True):
            exact = [mpmath.mpf(a) + mpmath.mpf(b) for a, b in zip(high, low, strict=True)]
            assert abs(sum(x * x for x in exact) - 1) < 1e-30
    assert not layout.direction[0].any() and layout.radius[0] == 0


def test_what_it_holds_cannot_be_changed():
    layout = sarkar_layout([("a", "b")], precision="double-double")
    for array in (layout.direction, layout.correction, layout.radius):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    layout["b"][:] = 0
    assert layout.distance("a", "b") == pytest.approx(1)
    assert layout.distances([]).shape == (0,)
    with pytest.raises(KeyError, match="zz"):
        layout.distance("a", "zz")


def test_it_warns_where_106_bits_are_too_few():
    chain = [(i, i + 1) for i in range(45)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layout = sarkar_layout(chain, precision="double-double")
    assert isinstance(layout, PreciseLayout)
    for length in (50, 2000):
        with pytest.warns(RuntimeWarning, match="double-double"):
            sarkar_layout([(i, i + 1) for i in range(length)], precision="double-double")
    with pytest.raises(ValueError, match="precision"):
        sarkar_layout(chain, precision="quad")


def test_a_forest_hangs_from_a_virtual_root():
    edges = [("a", "b"), ("c", "d"), ("e", "f"), ("e", "g")]
    ball = PoincareBall()
    with pytest.raises(ValueError, match="forest=True"):
        sarkar_layout(edges)
    points = sarkar_layout(edges, forest=True, tau=1.5)
    assert set(points) == set("abcdefg")
    for root in "ace":
        assert float(ball.distance_to_origin(points[root])) == pytest.approx(1.5)
    assert float(ball.distance(points["a"], points["c"])) == pytest.approx(side(1.5, 1.5, 2 * np.pi / 3))
    for parent, child in edges:
        assert float(ball.distance(points[parent], points[child])) == pytest.approx(1.5)
    precise = sarkar_layout(edges, forest=True, tau=1.5, precision="double-double")
    assert list(precise) == list(points) and precise.distance("e", "g") == pytest.approx(1.5)
    one = [("a", "b"), ("a", "c")]
    alone, forest = sarkar_layout(one), sarkar_layout(one, forest=True)
    assert all(np.array_equal(alone[node], forest[node]) for node in "abc")
    assert set(sarkar_layout(edges, root="e", forest=True)) == set("efg")
    assert set(children_map(edges)[1]) == set("ace")  # and edges are left as they were


def test_kernel_checks_its_shapes():
    counts, length = np.array([1, 0]), np.ones(2)
    with pytest.raises(ValueError, match="low"):
        _kernels.sarkar_polar(counts, length, 0, 1, np.empty((2, 2)), np.empty(2), low=np.empty((1, 2)))
    rows, radius, one = np.eye(2), np.ones(2), np.array([0], np.int32)
    with pytest.raises(ValueError, match="radius"):
        _kernels.polar_pair_distances(rows, None, np.ones(3), one, one, np.empty(1))
    with pytest.raises(ValueError, match="low"):
        _kernels.polar_pair_distances(rows, np.ones((2, 3)), radius, one, one, np.empty(1))
    with pytest.raises(ValueError, match="rows from 0 to 1"):
        _kernels.polar_pair_distances(rows, None, radius, one, one + 2, np.empty(1))
    for parent in ([0, -1], [-1, 1], [-1, -2], [-1, 0, -1]):
        n = len(parent)
        with pytest.raises(ValueError, match="breadth-first"):
            _kernels.layout_quality(
                np.ones((n, 2)), None, np.ones(n), np.array(parent, np.int32), np.ones(n), one
            )
