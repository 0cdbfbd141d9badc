"""Every map against mpmath, as deep as float64 coordinates reach, for all curvatures.

A coordinate is rounded to 2⁻⁵³, which moves a point at depth r by about e^r times as much: the bounds say that
the formulas add no more than a few such units.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.oracle import EPS, Oracle, points
from poincare_memory import PoincareBall, lorentz_distance
from poincare_memory.retrieval import cone_angle

curvatures = st.sampled_from([1e-12, 0.25, 1.0, 2.0, 9.0, 1e6])
deepest = st.sampled_from([1e-8, 0.5, 6.0, 12.0, 18.0])
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40, deadline=None)


def scene(seed: int, depth: float, c: float, dim: int = 3) -> tuple[PoincareBall, Oracle, np.ndarray]:
    return PoincareBall(c), Oracle(c), points(np.random.default_rng(seed), 2, dim, depth, c)


def room(*depths: float) -> float:
    """What rounding the coordinates of points at these √c·depths may change a distance by."""
    return EPS * sum(float(np.exp(depth)) for depth in depths)


@few
@given(seeds, deepest, curvatures)
def test_distance(seed: int, depth: float, c: float) -> None:
    ball, oracle, (x, y) = scene(seed, depth, c)
    expected = float(oracle.distance(x, y))
    # next to the boundary 1 − c|x|² is summed exactly, before that its relative error is a few e^r·2⁻⁵³
    tolerance = 4 * EPS * (1 + np.exp(min(depth, 10.5))) * (1 + expected) / ball.sqrt_c
    for found in (ball.distance(x, y), ball.distance_arcosh(y, x), ball.pairwise_distance(x[None], y[None])):
        assert float(np.squeeze(found)) == pytest.approx(expected, abs=tolerance, rel=1e-12)
    origin = np.zeros_like(x)
    assert ball.distance_to_origin(x) == ball.distance(origin, x)


@few
@given(seeds, deepest, curvatures, st.floats(0, 1))
def test_geodesic(seed: int, depth: float, c: float, t: float) -> None:
    ball, oracle, (x, y) = scene(seed, depth, c)
    exact = oracle.geodesic(x, y, t)
    error = float(oracle.distance_exact(ball.geodesic(x, y, t), exact)) * ball.sqrt_c
    assert error <= 20 * room(depth, depth, oracle.depth_exact(exact) * ball.sqrt_c)


@few
@given(seeds, deepest, curvatures)
def test_mobius_add(seed: int, depth: float, c: float) -> None:
    ball, oracle, (x, y) = scene(seed, depth, c)
    exact = oracle.mobius_add(x, y)
    reached = oracle.depth_exact(exact) * ball.sqrt_c
    if reached > 34:  # deeper than float64 coordinates: see test_inputs
        return
    error = float(oracle.distance_exact(ball.mobius_add(x, y), exact)) * ball.sqrt_c
    assert error <= 20 * room(depth, depth, reached)


@few
@given(seeds, deepest, curvatures, st.sampled_from([1e-9, 0.3, 3.0, 12.0]))
def test_expmap(seed: int, depth: float, c: float, length: float) -> None:
    ball, oracle, (x, v) = scene(seed, depth, c)
    v = v / np.linalg.norm(v) * length / np.ravel(ball.conformal_factor(x)) / ball.sqrt_c
    exact = oracle.expmap(x, v)
    error = float(oracle.distance_exact(ball.expmap(x, v), exact)) * ball.sqrt_c
    assert error <= 20 * room(depth, length, oracle.depth_exact(exact) * ball.sqrt_c)


@few
@given(seeds, deepest, curvatures)
def test_expmap_inverts_logmap(seed: int, depth: float, c: float) -> None:
    ball, oracle, (x, y) = scene(seed, depth, c)
    back = ball.expmap(x, ball.logmap(x, y))
    apart = float(oracle.distance(x, y)) * ball.sqrt_c
    error = float(oracle.distance(back, y)) * ball.sqrt_c
    assert error <= 20 * room(depth, depth, apart)


@few
@given(seeds, deepest, curvatures)
def test_logmap_has_the_length_of_the_distance(seed: int, depth: float, c: float) -> None:
    ball, oracle, (x, y) = scene(seed, depth, c)
    length = np.linalg.norm(ball.logmap(x, y)) * np.ravel(ball.conformal_factor(x))
    assert length == pytest.approx(float(oracle.distance(x, y)), rel=1e-7)
    np.testing.assert_allclose(ball.expmap0(ball.logmap0(x)), x, rtol=0, atol=4 * EPS / ball.sqrt_c)


@few
@given(seeds, st.sampled_from([0.5, 6.0, 12.0, 17.0]), curvatures)
def test_lorentz_distance(seed: int, depth: float, c: float) -> None:
    ball, oracle, (x, y) = scene(seed, depth, c)
    near = np.nextafter(x, 0)
    X, Y, N = ball.to_lorentz(x), ball.to_lorentz(y), ball.to_lorentz(near)
    for P, Q, p, q in ((X, Y, x, y), (X, N, x, near)):
        expected = float(oracle.distance(p, q))
        assert lorentz_distance(P, Q, c) == pytest.approx(expected, abs=20 * room(depth) / ball.sqrt_c)
    assert lorentz_distance(X, X, c) == 0
    np.testing.assert_allclose(ball.from_lorentz(X), x, rtol=1e-14)


@few
@given(seeds, deepest, curvatures)
def test_cone_angle(seed: int, depth: float, c: float) -> None:
    ball, oracle, (x, y) = scene(seed, depth, c)
    expected = float(oracle.cone_angle(x, y))
    apart = float(oracle.distance(x, y)) * ball.sqrt_c
    tolerance = 20 * room(depth) * (1 + 1 / apart) if apart else np.pi
    assert cone_angle(x, y, ball) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("depth", [0.1, 1.0, 8.0, 15.0, 20.0, 25.0, 30.0, 35.0])
@pytest.mark.parametrize("c", [0.25, 1.0, 9.0])
def test_depth_survives_the_coordinates(depth: float, c: float) -> None:
    """set_depth then distance_to_origin: the loss is that of the coordinates, e^r·2⁻⁵³."""
    ball = PoincareBall(c)
    u = np.random.default_rng(3).normal(size=(50, 24))
    found = ball.distance_to_origin(ball.point_at(u, depth / ball.sqrt_c)) * ball.sqrt_c
    np.testing.assert_allclose(found, depth, rtol=1e-14, atol=2 * EPS * np.exp(depth))


def test_points_next_to_the_boundary_keep_their_distances() -> None:
    """The compensated margin: exact for coordinates one or a few units below the boundary."""
    ball, oracle = PoincareBall(), Oracle()
    for units in (1, 2, 3, 50, 10**6):
        x = np.array([0.6, 0.8]) * (1 - units * 2.0**-53)
        while not ball.is_inside(x):
            x = np.nextafter(x, 0)
        assert ball.distance_to_origin(x) == pytest.approx(float(oracle.distance([0, 0], x)), rel=1e-15)
        assert ball.distance(x, -x) == pytest.approx(float(oracle.distance(x, -x)), rel=1e-15)
