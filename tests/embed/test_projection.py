"""Embeddings to ball points."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from poincare_memory import BallProjector, PoincareBall

PROJECTOR = BallProjector(PoincareBall(2.0))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_directions_have_unit_length_at_any_scale(scale: float) -> None:
    X = np.random.default_rng(0).normal(size=(9, 5))
    unit = PROJECTOR.direction(X * scale)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=-1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(unit, PROJECTOR.direction(X), rtol=1e-15)


def test_zero_has_no_direction_and_stays_at_the_origin() -> None:
    X = np.array([[0.0, 0.0], [3.0, 4.0]], np.float32)
    np.testing.assert_array_equal(PROJECTOR.direction(X)[0], [0, 0])
    np.testing.assert_array_equal(PROJECTOR.at_depth(X, 1.0)[0], [0, 0])
    np.testing.assert_array_equal(PROJECTOR.expmap0(X)[0], [0, 0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_depth_is_hit_and_the_type_kept(dtype: type) -> None:
    X = np.random.default_rng(1).normal(size=(4, 6)).astype(dtype)
    depth = np.array([0.2, 0.5, 1.0, 2.0])
    found = PROJECTOR.at_depth(X, depth)
    assert found.dtype == dtype
    np.testing.assert_allclose(PROJECTOR.ball.distance_to_origin(found), depth, rtol=20 * np.finfo(dtype).eps)
    assert PROJECTOR.expmap0(X, scale=0.1).dtype == dtype


def test_expmap0_scales_the_vector() -> None:
    X = np.array([[0.3, -0.4]])
    np.testing.assert_array_equal(PROJECTOR.expmap0(X, 0.5), PROJECTOR.ball.expmap0(X * 0.5))


def test_it_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PROJECTOR.ball = PoincareBall()  # type: ignore[misc]
