"""Geometry, cones and scores against the reference, where the reference is accurate: √c·(r+s) ≤ 11.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import PoincareBall
from reference.harness import Reference

# Against the reference in float64: points to 1e-9, distances and scores to 1e-7.
POINT, DISTANCE = 1e-9, 1e-7


def every_map(payload):
    import numpy as np

    from poincare_memory import BallProjector, PoincareBall, cone_energy, lorentz_distance, to_mips_vectors
    from poincare_memory.geometry import lorentz_inner, mips_scores
    from poincare_memory.retrieval import cone_angle, half_aperture

    ball, x, y, v = PoincareBall(payload["c"]), payload["x"], payload["y"], payload["v"]
    X, Y = ball.to_lorentz(x), ball.to_lorentz(y)
    radii, t, K = payload["radii"], payload["t"], payload["K"]
    projector = BallProjector(ball)
    return {
        "points": {
            "project": ball.project(np.concatenate([x, 10 * v + 2 / np.sqrt(payload["c"])])),
            "mobius_add": ball.mobius_add(x, y),
            "mobius_scalar_mul": ball.mobius_scalar_mul(0.5, x),
            "expmap0": ball.expmap0(v),
            "expmap": ball.expmap(x, v / ball.conformal_factor(x)),
            "logmap": ball.logmap(x, y),
            "logmap0": ball.logmap0(x),
            "geodesic": ball.geodesic(x, y, t),
            "point_at": ball.point_at(v, radii),
            "set_depth": ball.set_depth(x, radii),
            "from_lorentz": ball.from_lorentz(X),
            "egrad2rgrad": ball.egrad2rgrad(x, v),
            "random_points": ball.random_points(5, 3, 2.0 / np.sqrt(payload["c"]), seed=payload["seed"]),
            "direction": projector.direction(v),
            "at_depth": projector.at_depth(v, radii),
            "projector.expmap0": projector.expmap0(v, 0.3),
        },
        "distances": {
            "distance": ball.distance(x, y),
            "one to many": ball.distance(x[:1], y),
            "arcosh": ball.distance_arcosh(x, y),
            "origin": ball.distance_to_origin(x),
            "pairwise": ball.pairwise_distance(x, y),
            "lorentz": lorentz_distance(X, Y, payload["c"]),
        },
        "angles": {
            "half_aperture": half_aperture(x, ball, K),
            "cone_angle": cone_angle(x, y, ball),
            "cone_energy": cone_energy(x, y, ball, K),
        },
        "relative": {
            "to_lorentz": X,
            "inner": lorentz_inner(X, Y),
            "mips": mips_scores(to_mips_vectors(X), Y[0]),
            "conformal_factor": ball.conformal_factor(x),
        },
        "inside": ball.is_inside(np.concatenate([x, 10 * v])),
    }


def scene(seed: int, c: float, depth: float, dim: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    ball = PoincareBall(c)
    n = 6

    def at_most(limit: float) -> Any:
        return ball.point_at(rng.normal(size=(n, dim)), rng.uniform(0.05, limit, n) / ball.sqrt_c)

    return {
        "c": c,
        "x": at_most(depth),
        "y": at_most(depth),
        "v": rng.normal(size=(n, dim)) * 0.3 / ball.sqrt_c,
        "radii": rng.uniform(0, depth, n) / ball.sqrt_c,
        "t": rng.uniform(0, 1, n),
        "K": float(rng.uniform(0.05, 0.3)),
        "seed": seed,
    }


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.05, 20.0),
    st.floats(0.1, 5.75),
    st.integers(2, 20),
)
def test_every_map(reference: Reference, seed: int, c: float, depth: float, dim: int) -> None:
    payload = scene(seed, c, depth, dim)
    ours, theirs = every_map(payload), reference.call(every_map, payload)
    unit = 1 / np.sqrt(c)
    for name, points in theirs["points"].items():
        atol = POINT * max(1.0, unit)
        np.testing.assert_allclose(ours["points"][name], points, rtol=POINT, atol=atol, err_msg=name)
    for name, distances in theirs["distances"].items():
        keep = distances * np.sqrt(c) >= 0.01 if name == "lorentz" else np.isfinite(distances)
        np.testing.assert_allclose(
            ours["distances"][name][keep],
            distances[keep],
            rtol=0,
            atol=DISTANCE * max(1.0, unit),
            err_msg=name,
        )
    for name, values in theirs["relative"].items():
        np.testing.assert_allclose(ours["relative"][name], values, rtol=1e-9, atol=1e-9, err_msg=name)
    for name, angles in theirs["angles"].items():
        # its arccos loses half of the digits at 0 and π
        np.testing.assert_allclose(ours["angles"][name], angles, rtol=0, atol=2e-5, err_msg=name)
    np.testing.assert_array_equal(ours["inside"], theirs["inside"])


def scores(payload):
    from poincare_memory.retrieval import combine

    return combine(**payload)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-2, 2), st.floats(-2, 2), st.booleans(), st.booleans())
def test_scores(
    reference: Reference, seed: int, time_coef: float, depth_bias: float, timed: bool, deep: bool
) -> None:
    rng = np.random.default_rng(seed)
    payload = {
        "distances": rng.uniform(0, 20, 9),
        "time_weights": rng.uniform(0, 1, 9) ** 20 if timed else None,
        "depths": rng.uniform(0, 9, 9) if deep else None,
        "time_coef": time_coef,
        "depth_bias": depth_bias,
    }
    np.testing.assert_allclose(scores(payload), reference.call(scores, payload), rtol=0, atol=1e-12)


def guarded_functions(payload):
    from poincare_memory.geometry import numerics

    x = payload["x"]
    return [
        numerics.artanh(x),
        numerics.tanh(x * 20),
        numerics.arcosh(x),
        numerics.norm(x),
        numerics.norm(x, keepdims=False),
        numerics.safe_div(x, x[::-1]),
        numerics.dtype_eps(x),
        numerics.atanh_clamp(x),
    ]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_guarded_functions(reference: Reference, dtype: type) -> None:
    x = np.array([[0.0, 0.5, 1.0], [2.0, 1.5, -3.0], [0.25, 1e-3, 0.75]], dtype)
    for ours, theirs in zip(
        guarded_functions({"x": x}), reference.call(guarded_functions, {"x": x}), strict=True
    ):
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        held = np.isfinite(theirs)  # in float16 its guard of 1e-15 is 0, and 1/0 comes out
        np.testing.assert_allclose(
            np.asarray(ours)[held], np.asarray(theirs)[held], rtol=4 * np.finfo(dtype).eps
        )
        assert np.isfinite(ours).all()
