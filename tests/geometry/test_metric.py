"""What must hold whatever the numbers are: metric axioms, isometries, inverses, broadcasting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.oracle import points
from poincare_memory import PoincareBall, lorentz_distance, to_mips_vectors
from poincare_memory.geometry import lorentz_inner, mips_scores

curvatures = st.floats(0.01, 100.0)
seeds = st.integers(0, 2**32 - 1)
dims = st.integers(1, 40)
few = settings(max_examples=40, deadline=None)


@few
@given(seeds, dims, curvatures, st.floats(0.01, 15.0))
def test_metric_axioms(seed: int, dim: int, c: float, depth: float) -> None:
    ball = PoincareBall(c)
    P = points(np.random.default_rng(seed), 6, dim, depth, c)
    d = ball.pairwise_distance(P, P)
    assert (np.diag(d) == 0).all()
    assert (d == d.T).all()
    assert (d >= 0).all()
    slack = 1e-9 * (1 + d[:, :, None])
    assert (d[:, :, None] <= d[:, None, :] + d.T[None, :, :] + slack).all()


@few
@given(seeds, dims, curvatures, st.floats(0.01, 6.0))
def test_left_translation_is_an_isometry(seed: int, dim: int, c: float, depth: float) -> None:
    ball = PoincareBall(c)
    a, x, y = points(np.random.default_rng(seed), 3, dim, depth, c)
    moved = ball.distance(ball.mobius_add(a, x), ball.mobius_add(a, y))
    assert moved == pytest.approx(float(ball.distance(x, y)), abs=1e-9 / ball.sqrt_c)
    np.testing.assert_allclose(ball.mobius_add(-a, ball.mobius_add(a, x)), x, atol=1e-10 / ball.sqrt_c)
    np.testing.assert_array_equal(ball.mobius_add(x, -x), np.zeros(dim))


@few
@given(seeds, dims, curvatures, st.floats(0.01, 5.0), st.floats(-3, 3))
def test_geodesics_are_walked_at_constant_speed(
    seed: int, dim: int, c: float, depth: float, t: float
) -> None:
    ball = PoincareBall(c)
    x, y = points(np.random.default_rng(seed), 2, dim, depth, c)
    d = float(ball.distance(x, y))
    if (abs(t) + 1) * d * ball.sqrt_c > 15:
        return
    assert ball.distance(x, ball.geodesic(x, y, t)) == pytest.approx(abs(t) * d, abs=1e-7 / ball.sqrt_c)
    np.testing.assert_allclose(ball.geodesic(x, y, t), ball.geodesic(y, x, 1 - t), atol=1e-7 / ball.sqrt_c)
    np.testing.assert_array_equal(ball.geodesic(x, y, [0, 1]), ball.geodesic(y, x, [1, 0]))
    np.testing.assert_allclose(ball.geodesic(x, y, 1.0), y, rtol=1e-15)


@few
@given(seeds, dims, curvatures, st.floats(0.01, 5.0), st.floats(-2, 2))
def test_scalar_multiplication_scales_depth(seed: int, dim: int, c: float, depth: float, r: float) -> None:
    ball = PoincareBall(c)
    (x,) = points(np.random.default_rng(seed), 1, dim, depth, c)
    scaled = ball.mobius_scalar_mul(r, x)
    assert ball.distance_to_origin(scaled) == pytest.approx(abs(r) * ball.distance_to_origin(x), abs=1e-9)
    np.testing.assert_allclose(ball.expmap0(r * ball.logmap0(x)), scaled, atol=1e-12 / ball.sqrt_c)


@few
@given(seeds, dims, curvatures, st.floats(0.01, 5.0))
def test_hyperboloid(seed: int, dim: int, c: float, depth: float) -> None:
    ball = PoincareBall(c)
    P = points(np.random.default_rng(seed), 7, dim, depth, c)
    X = ball.to_lorentz(P)
    np.testing.assert_allclose(c * lorentz_inner(X, X), -1.0, atol=1e-9)
    np.testing.assert_allclose(ball.from_lorentz(X), P, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(
        lorentz_distance(X[:1], X, c), ball.distance(P[:1], P), atol=1e-10 / ball.sqrt_c
    )
    np.testing.assert_allclose(mips_scores(to_mips_vectors(X), X[0]), lorentz_inner(X, X[0]), rtol=1e-12)


def test_shell_order_is_mips_order() -> None:
    ball = PoincareBall()
    rng = np.random.default_rng(0)
    P = ball.point_at(rng.normal(size=(200, 8)), 2.0)
    scores = mips_scores(to_mips_vectors(ball.to_lorentz(P)), ball.to_lorentz(P[3]))
    np.testing.assert_array_equal(np.argsort(-scores)[:20], np.argsort(ball.distance(P[3], P))[:20])


@pytest.mark.parametrize(
    ("lead_x", "lead_y"),
    [
        ((), ()),
        ((4,), ()),
        ((), (4,)),
        ((4,), (4,)),
        ((4, 1), (3,)),
        ((2, 1, 3), (5, 1)),
        ((0,), ()),
        ((1,), (4,)),
    ],
)
def test_leading_axes_broadcast_in_every_map(lead_x: tuple[int, ...], lead_y: tuple[int, ...]) -> None:
    ball = PoincareBall(0.7)
    rng = np.random.default_rng(5)
    x, y = (rng.uniform(-0.4, 0.4, (*lead, 3)) for lead in (lead_x, lead_y))
    lead = np.broadcast_shapes(lead_x, lead_y)
    X, Y = np.broadcast_to(x, (*lead, 3)), np.broadcast_to(y, (*lead, 3))
    for method in (
        ball.distance,
        ball.mobius_add,
        ball.expmap,
        ball.logmap,
        ball.egrad2rgrad,
        ball.retraction,
    ):
        found = method(x, y)
        assert np.shape(found)[: len(lead)] == lead
        for index in np.ndindex(lead):
            np.testing.assert_array_equal(found[index], method(X[index], Y[index]))
    t = rng.uniform(size=lead)
    found = ball.geodesic(x, y, t)
    for index in np.ndindex(lead):
        np.testing.assert_allclose(found[index], ball.geodesic(X[index], Y[index], t[index]), rtol=1e-15)


def test_distance_is_the_same_number_however_it_is_asked_for() -> None:
    """One point against many, row by row, all pairs, any broadcast, any number of threads: the same bits."""
    ball = PoincareBall(1.3)
    rng = np.random.default_rng(1)
    x, y = points(rng, 70, 33, 9.0, 1.3), points(rng, 300, 33, 9.0, 1.3)
    table = ball.pairwise_distance(x, y, n_threads=1)
    for threads in (2, 3, 7):
        np.testing.assert_array_equal(ball.pairwise_distance(x, y, n_threads=threads), table)
    np.testing.assert_array_equal(ball.pairwise_distance(y, x), table.T)
    np.testing.assert_array_equal(ball.distance(x[:, None], y[None]), table)
    np.testing.assert_array_equal(ball.distance(x[5], y, n_threads=2), table[5])
    np.testing.assert_array_equal(ball.distance(y, x[5]), table[5])
    np.testing.assert_array_equal(ball.distance(x, y[:70]), np.diag(table))


def test_random_points_fill_the_radii() -> None:
    ball = PoincareBall(4.0)
    depths = ball.distance_to_origin(ball.random_points(2000, 5, 3.0, seed=1))
    assert depths.max() <= 3.0 + 1e-12
    assert np.quantile(depths, [0.25, 0.5, 0.75]) == pytest.approx([0.75, 1.5, 2.25], abs=0.15)
    np.testing.assert_array_equal(ball.random_points(4, 2, seed=8), ball.random_points(4, 2, seed=8))
