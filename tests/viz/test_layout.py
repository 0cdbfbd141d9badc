"""Where memories are drawn: inside the disk, at their depth, in the order of the hierarchy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory import CallableEmbedder, Memory, PoincareBall
from poincare_memory.viz import disk_coordinates, layout, structural_coordinates
from poincare_memory.viz.layout import directional_coordinates


def depths_of(coordinates):
    return 2 * np.arctanh(np.linalg.norm(coordinates, axis=1))


def degrees_of(coordinates):
    return np.degrees(np.arctan2(coordinates[:, 1], coordinates[:, 0]))


def memory_of(parents, **settings):
    """A memory whose item i lies under item ``parents[i]``."""
    memory = Memory(**settings)
    memory.add_many(
        {"text": f"note {i}", "id": str(i), "parent": None if above is None else str(above)}
        for i, above in enumerate(parents)
    )
    return memory


forests = st.lists(st.integers(0, 30), min_size=1, max_size=40).map(
    lambda draws: [None if draw >= 28 or i == 0 else draw % i for i, draw in enumerate(draws)]
)


def angles_by_recursion(parents):
    """The drawing in words: share the sector among the children by their leaves."""
    children = {i: [c for c, above in enumerate(parents) if above == i] for i in [None, *range(len(parents))]}

    def leaves(i):
        return sum(map(leaves, children[i])) or 1

    angles = {}

    def share(siblings, start, width):
        total = sum(map(leaves, siblings))
        for i in siblings:
            part = width * leaves(i) / total
            angles[i] = start + part / 2
            share(children[i], start, part)
            start += part

    if len(children[None]) == 1:
        share(children[None], -np.pi / 2, np.pi)
    else:
        share(children[None], 0.0, 2 * np.pi)
    return np.array([angles[i] for i in range(len(parents))])


@given(forests)
def test_radial_drawing_shares_sectors_by_leaves(parents) -> None:
    coordinates = structural_coordinates(memory_of(parents))
    angles = angles_by_recursion(parents)
    expected = np.column_stack([np.cos(angles), np.sin(angles)])
    np.testing.assert_allclose(
        coordinates / np.linalg.norm(coordinates, axis=1, keepdims=True), expected, atol=1e-12
    )


@given(forests, st.sampled_from([0.25, 1.0, 4.0]))
def test_radial_depths_are_the_memories_depths(parents, curvature: float) -> None:
    memory = memory_of(parents, curvature=curvature)
    np.testing.assert_allclose(
        depths_of(structural_coordinates(memory)), [memory.depth(id) for id in memory.ids], rtol=1e-9
    )


def test_siblings_are_drawn_in_the_memorys_order() -> None:
    memory = memory_of([None, None, 0, 0])
    memory.link("1", "0")
    memory.remove("2")
    memory.add("reuses the free row", id="late", parent="0")
    drawn = dict(zip(memory.ids, degrees_of(structural_coordinates(memory)), strict=True))
    assert sorted(memory.children("0"), key=drawn.__getitem__) == memory.children("0") == ["3", "1", "late"]


def test_a_chain_of_five_thousand_keeps_inside_the_disk() -> None:
    memory = memory_of(
        [None, *range(4999)], embedder=CallableEmbedder(lambda texts: np.ones((len(texts), 3)), 3)
    )
    coordinates = structural_coordinates(memory)
    norms = np.linalg.norm(coordinates, axis=1)
    assert (norms < 1).all()
    assert (np.diff(norms) >= 0).all()


def test_an_empty_memory_has_no_coordinates() -> None:
    assert structural_coordinates(Memory()).shape == (0, 2)
    assert disk_coordinates(np.zeros((0, 7)), PoincareBall()).shape == (0, 2)


@pytest.mark.parametrize("dim", [1, 3, 9])
@pytest.mark.parametrize("count", [1, 2, 5, 40])
@pytest.mark.parametrize("curvature", [0.25, 1.0, 4.0])
def test_projection_keeps_depths(dim: int, count: int, curvature: float) -> None:
    ball = PoincareBall(curvature)
    points = ball.random_points(count, dim, max_hyperbolic_radius=4.0, seed=count)
    coordinates = disk_coordinates(points, ball)
    np.testing.assert_allclose(depths_of(coordinates), ball.distance_to_origin(points).ravel(), rtol=1e-9)


@pytest.mark.parametrize("curvature", [0.25, 1.0, 4.0])
def test_points_of_a_plane_are_drawn_where_they_are(curvature: float) -> None:
    ball = PoincareBall(curvature)
    points = ball.random_points(30, 2, max_hyperbolic_radius=6.0, seed=1)
    np.testing.assert_allclose(disk_coordinates(points, ball), points * np.sqrt(curvature), atol=1e-12)


def test_projection_draws_the_two_leading_axes() -> None:
    """Directions spread over a plane of R^6 keep the angles they have in that plane."""
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0][:2]
    angles = np.random.default_rng(4).uniform(0, 2 * np.pi, 50)
    directions = np.column_stack([np.cos(angles), np.sin(angles)]) @ turn
    drawn = directional_coordinates(directions, np.ones(50), 1.0)
    cosines = drawn @ drawn.T / np.tanh(0.5) ** 2
    np.testing.assert_allclose(cosines, np.cos(angles[:, None] - angles), atol=1e-9)


@pytest.mark.parametrize("shape", [(60, 7), (7, 60), (30, 30), (1, 5)])
def test_large_projections_have_the_same_axes(shape, monkeypatch: pytest.MonkeyPatch) -> None:
    directions = np.random.default_rng(1).normal(size=shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    depths = np.linspace(0.5, 4, shape[0])
    exact = directional_coordinates(directions, depths, 1.0)
    monkeypatch.setattr(layout, "_LARGEST_DECOMPOSITION", 0)
    fast = directional_coordinates(directions, depths, 1.0)
    np.testing.assert_allclose(np.abs(fast), np.abs(exact), atol=1e-9)  # up to a mirror image
    np.testing.assert_array_equal(fast, directional_coordinates(directions, depths, 1.0))


def test_projection_of_a_direction_across_both_axes_keeps_its_depth() -> None:
    directions = np.vstack([np.repeat(np.eye(3)[:2], 10, axis=0), np.eye(3)[2]])
    drawn = directional_coordinates(directions, np.full(21, 1.5), 2.0)
    np.testing.assert_allclose(depths_of(drawn), 1.5)


@pytest.mark.parametrize("limit", [0, 10**9])
@pytest.mark.parametrize("shape", [(3, 8), (8, 3)])
def test_memories_without_direction_keep_their_depth(
    shape, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "_LARGEST_DECOMPOSITION", limit)
    drawn = directional_coordinates(np.zeros(shape), np.full(shape[0], 2.0), 1.0)
    np.testing.assert_allclose(depths_of(drawn), 2.0)


def test_projection_at_any_depth_stays_inside() -> None:
    directions = np.random.default_rng(0).normal(size=(200, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    drawn = directional_coordinates(directions, np.linspace(0, 2500, 200), 1.0)
    assert (np.linalg.norm(drawn, axis=1) < 1).all()


@pytest.mark.parametrize("points", [[0.1, 0.2], np.zeros((2, 2, 2)), [[np.nan, 0.0]], [[np.inf, 0.0]]])
def test_projection_refuses_what_are_no_points(points) -> None:
    with pytest.raises(ValueError, match="points must be"):
        disk_coordinates(points, PoincareBall())


def test_points_are_not_changed() -> None:
    points = np.array([[0.1, 0.2], [0.3, 0.1]])
    before = points.copy()
    drawn = disk_coordinates(points, PoincareBall())
    drawn[:] = 0
    np.testing.assert_array_equal(points, before)
