"""Unusual dtypes, layouts, magnitudes and places: the type is kept, nothing overflows, nothing is made up."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from poincare_memory import PoincareBall, cone_energy, lorentz_distance, to_mips_vectors
from poincare_memory.geometry import lorentz_inner, mips_scores

BALL = PoincareBall(0.7)
Map = Callable[..., Any]

# Every map of one or two points, with scalars where it takes some.
MAPS: dict[str, Map] = {
    "project": lambda x, y: BALL.project(x),
    "conformal_factor": lambda x, y: BALL.conformal_factor(x),
    "mobius_add": BALL.mobius_add,
    "mobius_scalar_mul": lambda x, y: BALL.mobius_scalar_mul(1.5, x),
    "distance": BALL.distance,
    "distance_arcosh": BALL.distance_arcosh,
    "distance_to_origin": lambda x, y: BALL.distance_to_origin(x),
    "expmap0": lambda x, y: BALL.expmap0(x),
    "logmap0": lambda x, y: BALL.logmap0(x),
    "expmap": BALL.expmap,
    "logmap": BALL.logmap,
    "geodesic": lambda x, y: BALL.geodesic(x, y, 0.25),
    "point_at": lambda x, y: BALL.point_at(x, 1.0),
    "set_depth": lambda x, y: BALL.set_depth(x, np.float64(1.0)),
    "to_lorentz": lambda x, y: BALL.to_lorentz(x),
    "round trip": lambda x, y: BALL.from_lorentz(BALL.to_lorentz(x)),
    "egrad2rgrad": BALL.egrad2rgrad,
    "retraction": BALL.retraction,
    "cone_energy": lambda x, y: cone_energy(x, y, BALL),
    "lorentz_distance": lambda x, y: lorentz_distance(BALL.to_lorentz(x), BALL.to_lorentz(y), 0.7),
    "lorentz_inner": lambda x, y: lorentz_inner(x, y),
}
every_map = pytest.mark.parametrize("apply", MAPS.values(), ids=MAPS.keys())
X = np.random.default_rng(0).uniform(-0.3, 0.3, (6, 4))
Y = np.random.default_rng(1).uniform(-0.3, 0.3, (6, 4))


@every_map
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_type_of_the_points_is_kept(apply: Map, dtype: type) -> None:
    x, y = X.astype(dtype), Y.astype(dtype)
    exact = apply(x.astype(np.float64), y.astype(np.float64))
    for found, expected in ((apply(x, y), exact), (apply(x[0], y[0]), exact[0])):
        assert found.dtype == dtype
        np.testing.assert_allclose(
            found, expected, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps
        )


@every_map
def test_layouts_change_nothing(apply: Map) -> None:
    expected = apply(X, Y)
    read_only = X.copy()
    read_only.setflags(write=False)
    wide = np.zeros((12, 8))
    wide[::2, ::2] = X
    for x in (np.asfortranarray(X), read_only, wide[::2, ::2], X.astype(">f8"), X[::-1][::-1], X.tolist()):
        found = apply(x, Y)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == np.float64


@every_map
def test_empty_input_gives_empty_output(apply: Map) -> None:
    full, empty = apply(X, Y), apply(X[:0], Y[:0])
    assert empty.shape == (0, *full.shape[1:])


@every_map
def test_nan_comes_out_as_nan_and_only_there(apply: Map) -> None:
    x = X.copy()
    x[2, 1] = np.nan
    found, clean = apply(x, Y), apply(X, Y)
    assert np.isnan(found[2]).any()
    keep = np.arange(6) != 2
    np.testing.assert_array_equal(found[keep], clean[keep])


@every_map
def test_inputs_are_never_changed_nor_handed_out(apply: Map) -> None:
    x, y = X.copy(), Y.copy()
    found = apply(x, y)
    assert not np.shares_memory(found, x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)


def test_integers_count_as_float64() -> None:
    origin = np.zeros(3, np.int32)
    assert BALL.distance(origin, [0, 0, 0]).dtype == np.float64
    assert PoincareBall().point_at([3, 4], 2).tolist() == PoincareBall().point_at([3.0, 4.0], 2.0).tolist()
    assert to_mips_vectors(np.array([1, 2], np.uint8)).tolist() == [-1.0, 2.0]
    assert float(lorentz_inner(np.array([2, 1], np.uint8), np.array([3, 1], np.uint8))) == -5.0
    assert mips_scores(np.array([[1, 2]], np.int8), [100, 100]).tolist() == [300.0]


@pytest.mark.parametrize("x", ["text", [1j, 0], [None, 0.0], [object()]])
def test_what_holds_no_real_numbers_is_refused(x: object) -> None:
    with pytest.raises(TypeError, match="real numbers"):
        BALL.distance_to_origin(x)  # type: ignore[arg-type]


def test_shapes_that_do_not_fit_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="single number"):
        BALL.distance(0.5, 0.1)
    with pytest.raises(ValueError, match="same number of coordinates"):
        BALL.distance([0.1, 0.2], [0.1])
    with pytest.raises(ValueError, match=r"\(n, d\) and \(m, d\)"):
        BALL.pairwise_distance([0.1, 0.2], [[0.1, 0.2]])
    with pytest.raises(ValueError, match="n_threads"):
        BALL.pairwise_distance([[0.1]], [[0.2]], n_threads=0)


@pytest.mark.parametrize("curvature", [0, -1, float("nan"), float("inf"), -0.0])
def test_a_curvature_that_is_not_positive_and_finite_is_refused(curvature: float) -> None:
    with pytest.raises(ValueError, match="curvature"):
        PoincareBall(curvature)
    with pytest.raises(ValueError, match="curvature"):
        lorentz_distance([1.0, 0.0], [1.0, 0.0], curvature)


@pytest.mark.parametrize("curvature", ["1", None, [1.0], np.ones(2), 1j])
def test_a_curvature_of_another_kind_is_refused(curvature: object) -> None:
    with pytest.raises(TypeError, match="curvature"):
        PoincareBall(curvature)  # type: ignore[arg-type]


def test_curvature_types_are_one_ball() -> None:
    balls = {PoincareBall(0.25), PoincareBall(np.float32(0.25)), PoincareBall(np.float64(0.25))}
    assert balls == {PoincareBall(0.25)}
    assert PoincareBall(4).radius == 0.5
    with pytest.raises(AttributeError):
        PoincareBall().curvature = 2.0  # type: ignore[misc]


# Places: outside, on the boundary, and deeper than the type holds


OUTSIDE = [[1.0, 0.0], [1.5, 0.0], [1e200, 1e200], [np.inf, 0.0]]


@pytest.mark.parametrize("x", OUTSIDE)
def test_a_point_outside_has_no_distance_anywhere(x: list[float]) -> None:
    ball, o = PoincareBall(), np.zeros(2)
    calls: list[Map] = [
        lambda: ball.distance(x, o),
        lambda: ball.distance(o, x),
        lambda: ball.distance_arcosh(x, o),
        lambda: ball.distance_to_origin(x),
        lambda: ball.pairwise_distance([o], [x]),
        lambda: ball.pairwise_distance([x], [o]),
        lambda: ball.conformal_factor(x),
        lambda: ball.mobius_add(x, o),
        lambda: ball.mobius_add(o, x),
        lambda: ball.mobius_scalar_mul(0.5, x),
        lambda: ball.logmap0(x),
        lambda: ball.logmap(o, x),
        lambda: ball.expmap(x, o),
        lambda: ball.geodesic(o, x, 0.5),
        lambda: ball.to_lorentz(x),
        lambda: ball.egrad2rgrad(x, o),
        lambda: cone_energy(o, x, ball),
        lambda: cone_energy(x, o, ball),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="strictly inside the ball"):
            call()
    assert not ball.is_inside(x)


def test_the_error_says_which_point_is_outside() -> None:
    ball = PoincareBall()
    y = np.zeros((3, 5, 2))
    y[1, 4] = [0.8, 0.8]
    for x in (np.zeros(2), np.zeros((3, 5, 2)), np.zeros((5, 2)), np.zeros((3, 1, 2))):
        with pytest.raises(ValueError, match=r"y\[1, 4\].*1\.13137.*project"):
            ball.distance(x, y)
        with pytest.raises(ValueError, match=r"y\[1, 4\]"):
            ball.mobius_add(x, y)
        with pytest.raises(ValueError, match=r"x\[1, 4\]"):
            ball.geodesic(y, x, 0.5)
        with pytest.raises(ValueError, match=r"y\[1, 4\]"):
            cone_energy(x, y, ball)
    with pytest.raises(ValueError, match=r"x: .*project"):
        ball.expmap([2.0, 0.0], y)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("c", [0.25, 1.0, 4.0])
def test_project_moves_only_what_is_outside(dtype: type, c: float) -> None:
    ball = PoincareBall(c)
    inside = (np.array([[0.6, 0.0], [0.0, 0.999]]) / np.sqrt(c)).astype(dtype)
    np.testing.assert_array_equal(ball.project(inside), inside)
    largest = float(np.finfo(dtype).max)
    outside = np.array([[largest, largest], [largest, 0], [3.0, -4.0], [np.inf, 0], [-np.inf, np.inf]], dtype)
    moved = ball.project(outside)
    assert moved.dtype == dtype
    assert ball.is_inside(moved).all()
    margin = {np.float16: 1e-2, np.float32: 4e-3, np.float64: 1e-5}[dtype]
    lengths = np.linalg.norm(moved.astype(float), axis=1) * ball.sqrt_c
    np.testing.assert_allclose(lengths, 1 - margin, rtol=np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.sign(moved[2:]), [[1, -1], [1, 0], [-1, 1]])


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-20, 1.0, 1e170, 1e300])
def test_only_the_direction_of_a_direction_counts(scale: float) -> None:
    ball = PoincareBall()
    for depth in (1e-12, 1.0, 30.0):
        x = ball.point_at(np.array([scale, -scale]), depth)
        np.testing.assert_allclose(x, ball.point_at([1.0, -1.0], depth), rtol=1e-15)


@pytest.mark.parametrize("size", [1e-170, 1e-250, 5e-324])
def test_points_next_to_the_origin_keep_their_distances(size: float) -> None:
    ball = PoincareBall()
    x = np.array([size, 0.0, 0.0])
    assert ball.distance_to_origin(x) == 2 * size
    assert ball.distance(x, -x) == 4 * size
    assert ball.distance(x, x) == 0
    np.testing.assert_array_equal(ball.logmap0(x), x)
    np.testing.assert_array_equal(ball.expmap0(x), x)
    np.testing.assert_array_equal(ball.logmap(np.zeros(3), x), x)
    np.testing.assert_array_equal(ball.expmap(np.zeros(3), x), x)


@pytest.mark.parametrize("c", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_curvatures_only_change_the_unit(c: float) -> None:
    ball, unit = PoincareBall(c), PoincareBall()
    rng = np.random.default_rng(2)
    u, v = rng.normal(size=(2, 5))
    x, y = ball.point_at(u, 2.0 / ball.sqrt_c), ball.point_at(v, 3.0 / ball.sqrt_c)
    a, b = unit.point_at(u, 2.0), unit.point_at(v, 3.0)
    assert ball.distance(x, y) * ball.sqrt_c == pytest.approx(float(unit.distance(a, b)), rel=1e-13)
    assert ball.distance_arcosh(x, y) == ball.distance(x, y)
    middle = ball.geodesic(x, y, 0.5) * ball.sqrt_c
    np.testing.assert_allclose(middle, unit.geodesic(a, b, 0.5), rtol=1e-12)
    np.testing.assert_allclose(ball.expmap(x, ball.logmap(x, y)), y, rtol=1e-11)
    np.testing.assert_allclose(ball.from_lorentz(ball.to_lorentz(x)), x, rtol=1e-12)


HOLDS = {np.float16: 6.9, np.float32: 15.9, np.float64: 36.0}


@pytest.mark.parametrize("dtype", HOLDS)
@pytest.mark.parametrize("c", [0.3, 1.0, 7.0])
def test_a_depth_is_kept_as_far_as_the_type_holds_it(dtype: type, c: float) -> None:
    ball = PoincareBall(c)
    u = np.random.default_rng(4).normal(size=(200, 33)).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        at_limit = ball.point_at(u, HOLDS[dtype] / ball.sqrt_c)
    assert ball.is_inside(at_limit).all()
    with pytest.warns(RuntimeWarning, match="largest norm below") as caught:
        beyond = ball.set_depth(u, 5000.0 / ball.sqrt_c)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert ball.is_inside(beyond).all()
    assert (np.linalg.norm(beyond.astype(float), axis=1) < ball.radius).all()
    assert ball.distance_to_origin(beyond).min() * ball.sqrt_c > HOLDS[dtype] - 1


@pytest.mark.parametrize("dtype", HOLDS)
@pytest.mark.parametrize("c", [0.3, 1.0, 7.0])
def test_maps_that_lead_too_deep_stop_at_the_rim_and_say_so(dtype: type, c: float) -> None:
    ball = PoincareBall(c)
    x, y = ball.point_at(np.eye(2, dtype=dtype), HOLDS[dtype] / ball.sqrt_c * 0.9)
    far: list[Map] = [
        lambda: ball.expmap0(np.array([1e3, 1e3], dtype)),
        lambda: ball.expmap(x, np.array([1e3, 1e3], dtype)),
        lambda: ball.mobius_add(x, x),
        lambda: ball.mobius_scalar_mul(50.0, x),
        lambda: ball.geodesic(x, y, np.linspace(-1000, 1000, 501)),
    ]
    for call in far:
        with pytest.warns(RuntimeWarning, match="largest norm below"):
            found = call()
        assert found.dtype == dtype
        assert np.isfinite(found).all()
        assert ball.is_inside(found).all()


def test_no_direction_stays_at_the_origin_without_a_warning() -> None:
    for dtype in HOLDS:
        zero = np.zeros((2, 3), dtype)
        for apply in MAPS.values():
            assert np.isfinite(np.asarray(apply(zero, zero))).all()
        np.testing.assert_array_equal(BALL.point_at(zero, [1.0, 3.0]), zero)


def test_radii_and_factors_broadcast_against_the_leading_axes() -> None:
    ball, x = PoincareBall(), np.full((3, 2), 0.1, np.float32)
    radii = np.array([0.5, 1.0, 2.0])
    for found in (ball.point_at(x, radii), ball.set_depth(x, radii), ball.point_at(x[0], radii)):
        assert found.dtype == np.float32
        np.testing.assert_allclose(ball.distance_to_origin(found), radii, rtol=1e-6)
    assert ball.point_at(x, radii[:, None]).shape == (3, 3, 2)
    for factors in (radii, radii[:, None]):
        scaled = ball.mobius_scalar_mul(factors, x)
        np.testing.assert_allclose(
            ball.distance_to_origin(scaled), radii * ball.distance_to_origin(x), rtol=1e-6
        )
    np.testing.assert_array_equal(ball.point_at(x, -1.0), -ball.point_at(x, 1.0))
    assert np.isnan(ball.point_at(x, np.nan)).all()


def test_the_lower_sheet_is_refused_and_never_nan() -> None:
    X = BALL.to_lorentz(np.array([0.3, 0.1]))
    with pytest.raises(ValueError, match="one that is not"):
        BALL.from_lorentz(-X)
    for other in (X, X * (1 - 1e-16), np.nextafter(X, 0), -X):
        assert np.isfinite(lorentz_distance(X, other, 0.7))


@pytest.mark.parametrize("factors", [(3, 1), (1, 1), (2, 3, 1), (5, 1, 1)])
@pytest.mark.parametrize("points", [(4,), (3, 4), (1, 3, 4)])
def test_factors_with_a_last_axis_of_one_broadcast_as_against_the_points(
    factors: tuple[int, ...], points: tuple[int, ...]
) -> None:
    ball = PoincareBall()
    r, x = np.linspace(0.1, 2, math.prod(factors)).reshape(factors), np.full(points, 0.1)
    scaled = ball.mobius_scalar_mul(r, x)
    assert scaled.shape == np.broadcast_shapes(factors, points)
    depth = np.broadcast_to(ball.distance_to_origin(x)[..., np.newaxis] * r, (*scaled.shape[:-1], 1))
    np.testing.assert_allclose(ball.distance_to_origin(scaled), depth[..., 0], atol=1e-12)


def test_leading_axes_that_do_not_broadcast_are_named() -> None:
    ball, x, y = PoincareBall(), np.zeros((3, 2)), np.zeros((2, 2))
    for call in (ball.distance, ball.mobius_add, ball.logmap):
        with pytest.raises(
            ValueError, match=r"^x, y: expected leading axes that broadcast, got shapes \(3, 2\) and"
        ):
            call(x, y)


def test_a_curvature_that_no_float_holds_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="curvature"):
        PoincareBall(10**400)


@pytest.mark.parametrize("wrong", [None, "1.5", 1j, [None], np.timedelta64(1, "s"), {1.0}])
def test_radii_fractions_and_factors_are_real_numbers(wrong: Any) -> None:
    x = [0.1, 0.2]
    for name, call in (
        ("hyperbolic_radius", lambda: BALL.point_at(x, wrong)),
        ("hyperbolic_radius", lambda: BALL.set_depth(x, wrong)),
        ("t", lambda: BALL.geodesic(x, x, wrong)),
        ("r", lambda: BALL.mobius_scalar_mul(wrong, x)),
    ):
        with pytest.raises(TypeError, match=rf"^{name}: expected real numbers"):
            call()


@pytest.mark.parametrize("empty", [[], np.zeros((3, 0)), np.zeros((0, 0))])
def test_lorentz_vectors_have_a_time_coordinate(empty: Any) -> None:
    for call in (
        lambda: lorentz_distance(empty, empty),
        lambda: lorentz_inner(empty, empty),
        lambda: to_mips_vectors(empty),
        lambda: BALL.from_lorentz(empty),
    ):
        with pytest.raises(ValueError, match=r"^X: expected a time coordinate first"):
            call()


def test_lorentz_vectors_of_different_lengths_have_no_inner_product() -> None:
    for call in (lorentz_inner, lorentz_distance):
        with pytest.raises(ValueError, match="same number of coordinates"):
            call([2.0, 1.0], [2.0, 1.0, 1.0])


@pytest.mark.parametrize("radius", [np.inf, -np.inf, np.nan])
def test_random_points_need_a_finite_radius(radius: float) -> None:
    with pytest.raises(ValueError, match="max_hyperbolic_radius"):
        BALL.random_points(3, 2, radius)
