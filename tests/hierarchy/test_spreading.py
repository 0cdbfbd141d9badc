"""spread_directions: as far apart as the sphere allows, for few directions and for many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory.hierarchy import spread_directions


def largest_cosine(rows):
    if len(rows) < 2:
        return -1.0
    products = rows @ rows.T
    np.fill_diagonal(products, -2.0)
    return float(products.max())


def with_avoided(k, dim, avoid, seed=0, **options):
    rows = spread_directions(k, dim, avoid=avoid, seed=seed, **options)
    return np.vstack([np.asarray(avoid, float) / np.linalg.norm(avoid), rows])


@given(st.integers(0, 60), st.integers(2, 12), st.one_of(st.none(), st.integers(0, 2**70)), st.booleans())
def test_unit_rows_of_the_asked_shape(k, dim, seed, avoiding):
    avoid = np.arange(1.0, dim + 1) if avoiding else None
    rows = spread_directions(k, dim, avoid=avoid, seed=seed, iterations=20)
    assert rows.shape == (k, dim)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-14)


@given(st.integers(3, 20), st.data())
def test_least_angle_is_the_largest_possible_up_to_twice_the_dimension(dim, data):
    slots = data.draw(st.integers(2, 2 * dim))
    seed = data.draw(st.integers(0, 100))
    best = -1 / (slots - 1) if slots <= dim + 1 else 0.0
    free = spread_directions(slots, dim, seed=seed)
    assert largest_cosine(free) == pytest.approx(best, abs=1e-13)
    avoid = np.random.default_rng(seed).normal(size=dim)
    assert largest_cosine(with_avoided(slots - 1, dim, avoid, seed)) == pytest.approx(best, abs=1e-13)


@given(st.integers(1, 50), st.floats(0, 2 * math.pi))
def test_circle_is_even_with_the_avoided_direction_in_one_slot(k, angle):
    around = np.arctan2(*spread_directions(k, 2).T[::-1])
    np.testing.assert_allclose(np.exp(1j * around), np.exp(2j * np.pi * np.arange(k) / k), atol=1e-13)
    rows = spread_directions(k, 2, avoid=[3 * math.cos(angle), 3 * math.sin(angle)])
    wanted = np.exp(1j * (angle + 2 * np.pi * np.arange(1, k + 1) / (k + 1)))
    np.testing.assert_allclose(rows[:, 0] + 1j * rows[:, 1], wanted, atol=1e-13)


# Best known values of the Tammes problem (least angle in degrees), and how near the relaxation must come.
@pytest.mark.parametrize(
    ("k", "angle"), [(7, 77.8695), (8, 74.8585), (9, 70.5288), (12, 63.4349), (24, 43.6908), (50, 29.9)]
)
def test_near_the_tammes_optimum_in_three_dimensions(k, angle):
    found = math.degrees(math.acos(largest_cosine(spread_directions(k, 3))))
    assert 0.985 * angle < found < 1.01 * angle


@pytest.mark.parametrize(
    ("k", "dim", "degrees"), [(400, 10, 55), (100, 4, 34), (300, 3, 11.5), (200, 50, 80)]
)
def test_wide_sets(k, dim, degrees):
    least = math.cos(math.radians(degrees))
    assert largest_cosine(spread_directions(k, dim, seed=1)) < least
    assert largest_cosine(with_avoided(k - 1, dim, np.ones(dim), seed=1)) < least


def test_very_wide_sets_find_their_neighbours_by_cells():
    rows = spread_directions(4500, 4, iterations=40)
    assert largest_cosine(rows) < math.cos(math.radians(4.5))


def test_deterministic_and_seeded():
    for k, dim in ((5, 8), (30, 3), (300, 5), (4200, 3)):
        options = {"iterations": 10}
        one = spread_directions(k, dim, seed=3, n_threads=1, **options)
        assert np.array_equal(one, spread_directions(k, dim, seed=3, n_threads=2, **options))
        assert not np.array_equal(one, spread_directions(k, dim, seed=4, **options))


def test_more_steps_spread_further():
    cosines = [largest_cosine(spread_directions(60, 4, iterations=steps)) for steps in (0, 20, 200)]
    assert cosines == sorted(cosines, reverse=True)


def test_direction_to_avoid_may_have_any_length():
    for dim in (2, 3):
        unit = np.full(dim, 1 / math.sqrt(dim))
        wanted = spread_directions(4, dim, avoid=unit)
        for length in (5e-324, 1e-200, 3.0, 1e308):
            np.testing.assert_allclose(spread_directions(4, dim, avoid=unit * length), wanted, atol=1e-12)
        assert spread_directions(1, dim, avoid=unit)[0] @ unit == pytest.approx(-1.0)


def test_result_can_be_written_and_is_nobody_elses():
    rows = spread_directions(3, 3, avoid=[1, 0, 0])
    assert rows.flags.owndata
    assert rows.flags.writeable


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"k": -1, "dim": 3}, ValueError, "k"),
        ({"k": 2.5, "dim": 3}, TypeError, "k"),
        ({"k": 2, "dim": 1}, ValueError, "dim"),
        ({"k": 2, "dim": 3, "seed": -1}, ValueError, "seed"),
        ({"k": 2, "dim": 3, "iterations": -1}, ValueError, "iterations"),
        ({"k": 2, "dim": 3, "iterations": 1.5}, TypeError, "iterations"),
        ({"k": 2, "dim": 3, "avoid": [1.0, 0.0]}, ValueError, "shape"),
        ({"k": 2, "dim": 3, "avoid": [[1.0, 0.0, 0.0]]}, ValueError, "shape"),
        ({"k": 2, "dim": 3, "avoid": np.zeros(3)}, ValueError, "direction"),
        ({"k": 2, "dim": 2, "avoid": np.zeros(2)}, ValueError, "direction"),
        ({"k": 2, "dim": 2, "avoid": [math.nan, 0.0]}, ValueError, "finite"),
        ({"k": 0, "dim": 3, "avoid": [math.inf, 0.0, 0.0]}, ValueError, "finite"),
        ({"k": 2, "dim": 3, "n_threads": 0}, ValueError, "n_threads"),
    ],
)
def test_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        spread_directions(**arguments)
