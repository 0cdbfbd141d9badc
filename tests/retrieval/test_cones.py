"""Entailment cones: nested, exact along rays at every depth, closed at their apex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.oracle import points
from poincare_memory import PoincareBall, cone_energy, in_cone
from poincare_memory.retrieval import DEFAULT_K, cone_angle, half_aperture

seeds = st.integers(0, 2**32 - 1)
curvatures = st.sampled_from([0.25, 1.0, 9.0])


@settings(max_examples=60, deadline=None)
@given(seeds, curvatures, st.floats(0.05, 0.6), st.integers(2, 12))
def test_cones_are_transitive(seed: int, c: float, K: float, dim: int) -> None:
    """y in the cone of x and z in the cone of y: z in the cone of x. Walks outward inside the cones."""
    ball, rng = PoincareBall(c), np.random.default_rng(seed)
    x = points(rng, 1, dim, 3.0, c)[0]
    chain = [x]
    for _ in range(3):
        apex = chain[-1]
        step = rng.normal(size=(200, dim)) * 0.05 + apex / np.linalg.norm(apex)
        candidates = ball.expmap(apex, step * rng.uniform(0, 0.5, (200, 1)) / ball.conformal_factor(apex))
        inside = candidates[in_cone(apex, candidates, ball, K)]
        if len(inside) == 0:
            break
        chain.append(inside[rng.integers(len(inside))])
    for i, apex in enumerate(chain):
        for point in chain[i:]:
            assert cone_energy(apex, point, ball, K) <= 1e-9


@pytest.mark.parametrize("c", [0.25, 1.0, 9.0])
@pytest.mark.parametrize("depth", [0.5, 3.0, 7.0, 11.0, 15.0, 17.0])
def test_a_ray_lies_in_the_cones_of_its_points(c: float, depth: float) -> None:
    ball = PoincareBall(c)
    u = np.random.default_rng(0).normal(size=(300, 16))
    inner = ball.point_at(u, depth / ball.sqrt_c)
    outer = ball.point_at(u, (depth + 0.5) / ball.sqrt_c)
    assert in_cone(inner, outer, ball).all()
    assert in_cone(inner, inner, ball).all()
    assert not in_cone(outer, inner, ball)[half_aperture(outer, ball) < np.pi].any()
    assert (cone_energy(inner, inner, ball) == 0).all()


def test_the_cone_opens_away_from_the_origin() -> None:
    ball = PoincareBall()
    x = np.array([0.5, 0.0])
    assert cone_angle(x, [0.9, 0.0], ball) == 0
    assert cone_angle(x, [0.0, 0.0], ball) == pytest.approx(np.pi)
    assert cone_angle(x, [0.1, 0.0], ball) == pytest.approx(np.pi)
    assert cone_angle(x, [-0.9, 0.0], ball) == pytest.approx(np.pi)


def test_the_edge_of_the_cone_is_where_the_energy_starts() -> None:
    ball = PoincareBall(2.0)
    x = ball.point_at([1.0, 0.0, 0.0], 1.0)
    aperture = float(half_aperture(x, ball, 0.2))
    for turn in (0.5, 0.999, 1.001, 1.5):
        angle = turn * aperture
        v = np.array([np.cos(angle), np.sin(angle), 0.0]) / np.ravel(ball.conformal_factor(x))
        energy = cone_energy(x, ball.expmap(x, v), ball, 0.2)
        assert energy == pytest.approx(max(0.0, angle - aperture), abs=1e-12)


@pytest.mark.parametrize("c", [0.25, 1.0, 9.0])
def test_half_aperture(c: float) -> None:
    ball = PoincareBall(c)
    for length in (0.2, 0.5, 0.99, 1 - 1e-9):
        x = [length / ball.sqrt_c, 0.0]
        assert half_aperture(x, ball, 0.2) == pytest.approx(
            np.arcsin(0.2 * (1 - length**2) / length), rel=1e-7
        )
    for x in ([0.0, 0.0], [0.19 / ball.sqrt_c, 0.0]):
        assert half_aperture(x, ball, 0.2) == np.pi
        assert in_cone(x, [[0.0, 0.3], [-0.3, 0.0], [0.0, 0.0]], ball, 0.2).all()
    assert half_aperture([0.9 / ball.sqrt_c, 0.0], ball, K=2.0) == np.pi
    assert DEFAULT_K == 0.1


@pytest.mark.parametrize("K", [0.0, -0.1, float("nan")])
def test_a_K_that_is_not_positive_is_refused(K: float) -> None:
    ball, x = PoincareBall(), [0.5, 0.0]
    for call in (
        half_aperture,
        lambda x, ball, K: cone_energy(x, x, ball, K),
        lambda x, ball, K: in_cone(x, x, ball, K),
    ):
        with pytest.raises(ValueError, match="K must be positive"):
            call(x, ball, K)


def test_nan_is_in_no_cone() -> None:
    ball = PoincareBall()
    assert np.isnan(cone_energy([0.5, 0.0], [np.nan, 0.0], ball))
    assert in_cone([0.5, 0.0], [[np.nan, 0.0], [0.6, 0.0]], ball).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_shapes_and_types(dtype: type) -> None:
    ball = PoincareBall()
    x, y = np.full((4, 1, 3), 0.2, dtype), np.full((5, 3), 0.1, dtype)
    energy = cone_energy(x, y, ball)
    assert energy.shape == (4, 5)
    assert energy.dtype == dtype
    assert half_aperture(x, ball).shape == (4, 1)
    assert in_cone(x, y[:0, :], ball).shape == (4, 0)
    np.testing.assert_allclose(
        energy[0, 0], cone_energy(x[0, 0].astype(float), y[0].astype(float), ball), rtol=1e-3
    )


def test_the_angle_is_smooth_where_its_formula_changes() -> None:
    """Around cosine ±0.75, 0° and 180° between directions: against the gyrovector angle in float64."""
    ball = PoincareBall()
    for cosine in (-1.0, -0.7501, -0.75, -0.7499, 0.0, 0.7499, 0.75, 0.7501, 0.999999, 1.0):
        x = np.array([0.4, 0.0])
        y = 0.7 * np.array([cosine, np.sqrt(1 - cosine**2)])
        heading = ball.logmap(x, y)
        expected = np.arctan2(abs(heading[1]), heading[0])
        assert cone_angle(x, y, ball) == pytest.approx(expected, abs=1e-14)
