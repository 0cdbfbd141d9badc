"""Kernels of the layout against mpmath (Möbius addition with as many digits as the radius needs)."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory._core import _kernels


def geodesic_end(u, r, v, length):
    direction, back = np.empty_like(u), np.empty_like(u)
    radius = _kernels.geodesic_end(u, r, v, length, direction, back)
    return direction, radius, back


def oracle(u, r, v, length):
    """The same by Möbius addition; u and v are taken as exactly unit."""
    with mpmath.workdps(int(2 * (r + length)) + 60):

        def unit(w):
            exact = [mpmath.mpf(x) for x in w]
            size = mpmath.sqrt(sum(x * x for x in exact))
            return [x / size for x in exact]

        def add(x, y):
            xy = sum(a * b for a, b in zip(x, y, strict=True))
            xx, yy = sum(a * a for a in x), sum(b * b for b in y)
            below = 1 + 2 * xy + xx * yy
            return [((1 + 2 * xy + yy) * a + (1 - xx) * b) / below for a, b in zip(x, y, strict=True)]

        x = [mpmath.tanh(mpmath.mpf(r) / 2) * a for a in unit(u)]
        y = add(x, [mpmath.tanh(mpmath.mpf(length) / 2) * b for b in unit(v)])
        norm = mpmath.sqrt(sum(a * a for a in y))
        radius = 2 * mpmath.atanh(norm)
        direction = unit(y)
        back = unit(add([-a for a in y], x))
        return np.array(direction, float), float(radius), np.array(back, float)


def units(seed, dim):
    rows = np.random.default_rng(seed).normal(size=(2, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


radii = st.one_of(st.just(0.0), st.floats(1e-6, 3.0), st.floats(3.0, 40.0), st.floats(40.0, 300.0))


@given(st.integers(0, 10_000), st.integers(2, 5), radii, radii.filter(bool))
def test_end_of_a_geodesic(seed, dim, r, length):
    u, v = units(seed, dim)
    direction, radius, back = geodesic_end(u, r, v, length)
    wanted_direction, wanted_radius, wanted_back = oracle(u, r, v, length)
    assert radius == pytest.approx(wanted_radius, rel=1e-13)
    np.testing.assert_allclose(direction, wanted_direction, atol=1e-13)
    np.testing.assert_allclose(back, wanted_back, atol=1e-13)


@pytest.mark.parametrize("r", [1e-3, 1.0, 20.0, 300.0, 2000.0, 1e200])
@pytest.mark.parametrize("length", [1e-3, 1.0, 20.0, 300.0, 2000.0])
def test_straight_out_and_straight_back(r, length):
    u = np.array([0.6, 0.8])
    direction, radius, back = geodesic_end(u, r, u, length)
    np.testing.assert_allclose(direction, u, atol=1e-15)
    np.testing.assert_allclose(back, -u, atol=1e-15)
    assert radius == pytest.approx(r + length, rel=1e-14)

    direction, radius, back = geodesic_end(u, r, -u, length)
    assert radius == pytest.approx(abs(r - length), rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(back, u, atol=1e-15)
    if r != length:
        np.testing.assert_allclose(direction, u if r > length else -u, atol=1e-15)


@given(st.integers(0, 10_000), st.floats(0.01, 5.0), st.floats(0.01, 5.0))
def test_the_way_back_leads_back(seed, r, length):
    u, v = units(seed, 4)
    direction, radius, back = geodesic_end(u, r, v, length)
    again, r_again, ahead = geodesic_end(direction, radius, back, length)
    assert r_again == pytest.approx(r, rel=1e-10)
    np.testing.assert_allclose(again * r, u * r, atol=1e-11)
    np.testing.assert_allclose(ahead, v, atol=1e-10)


def test_align_keeps_every_angle():
    rows = np.random.default_rng(0).normal(size=(20, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    target = units(1, 6)[0]
    turned = rows.copy()
    _kernels.align_first(turned, target)
    assert np.array_equal(turned[0], target)
    np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, atol=1e-14)
    _kernels.align_first(turned, target)
    assert np.array_equal(turned[0], target)
    _kernels.align_first(np.empty((0, 6)), target)


@pytest.mark.parametrize("counts", [[1], [0, 0], [-1, 1, 0], [2, 0], [1, 0, 1], [2**62, 0], [0, 1]])
def test_counts_that_are_no_tree_are_refused(counts):
    n = len(counts)
    with pytest.raises(ValueError, match="child_count"):
        _kernels.sarkar_polar(np.array(counts), np.ones(n), 0, 10, np.empty((n, 2)), np.empty(n))


def test_shapes_are_checked():
    counts, length = np.array([1, 0]), np.ones(2)
    with pytest.raises(ValueError, match="length"):
        _kernels.sarkar_polar(counts, np.ones(3), 0, 10, np.empty((2, 2)), np.empty(2))
    with pytest.raises(ValueError, match="radius"):
        _kernels.sarkar_polar(counts, length, 0, 10, np.empty((2, 2)), np.empty(1))
    with pytest.raises(ValueError, match="columns"):
        _kernels.sarkar_polar(counts, length, 0, 10, np.empty((2, 1)), np.empty(2))
    with pytest.raises(ValueError, match="columns"):
        _kernels.spread_sphere(np.empty((2, 1)), 0, 10)
    with pytest.raises(ValueError, match="target"):
        _kernels.align_first(np.empty((2, 3)), np.ones(2))
    nothing = np.empty(0)
    _kernels.sarkar_polar(np.empty(0, np.int64), nothing, 0, 10, np.empty((0, 2)), nothing)
