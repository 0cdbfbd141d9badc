"""Directions and radii: any magnitude in, any depth out, the norm always below the boundary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from poincare_memory import PoincareBall
from poincare_memory.geometry.polar import ball_to_polar, directions, polar_to_ball, radii_of


@given(arrays(np.float64, (3, 5), elements=st.floats(allow_nan=False, allow_infinity=False)))
@settings(max_examples=100, deadline=None)
def test_directions_are_unit_or_absent(vectors: np.ndarray) -> None:
    unit, known = directions(vectors)
    np.testing.assert_array_equal(known, (vectors != 0).any(axis=1))
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), known.astype(float), rtol=1e-15)
    with np.errstate(under="ignore"):
        assert (unit * np.sign(vectors) >= 0).all()


@pytest.mark.parametrize("power", [-1000, -300, 0, 300, 1000])
def test_directions_do_not_depend_on_magnitude(power: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 7))
    np.testing.assert_array_equal(directions(np.ldexp(vectors, power))[0], directions(vectors)[0])


@pytest.mark.parametrize("c", [0.2, 1.0, 30.0])
def test_polar_coordinates_come_back(c: float) -> None:
    rng = np.random.default_rng(1)
    unit, _ = directions(rng.normal(size=(60, 6)))
    radius = rng.uniform(0.001, 15, 60) / np.sqrt(c)
    points = polar_to_ball(unit, radius, c)
    np.testing.assert_array_equal(points, PoincareBall(c).point_at(unit, radius))
    direction, found = ball_to_polar(points, c)
    np.testing.assert_allclose(direction, unit, atol=1e-15)
    np.testing.assert_allclose(found, radius, rtol=1e-9)
    np.testing.assert_array_equal(found, radii_of(points, c))


@pytest.mark.parametrize("c", [0.2, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("dim", [1, 2, 384, 4096])
def test_no_depth_reaches_the_boundary(c: float, dim: int) -> None:
    unit = np.random.default_rng(2).normal(size=(50, dim))
    for radius in (35.0, 36.0, 37.0, 40.0, 300.0, 5000.0, np.inf):
        points = polar_to_ball(unit, radius / np.sqrt(c), c)
        norms = np.linalg.norm(points, axis=1) * np.sqrt(c)
        assert (norms < 1).all()
        assert (norms > 1 - 3e-15).all()
        assert (np.sqrt(c * np.sum(points * points, axis=1)) < 1).all()


def test_outside_points_have_no_radius() -> None:
    with pytest.raises(ValueError, match="strictly inside"):
        ball_to_polar([1.0, 0.0], 1.0)
