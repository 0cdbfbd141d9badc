"""Recipes: fits in a row, and what they reach."""

from __future__ import annotations

import numpy as np
import pytest

from poincare_memory import PoincareBall, fit_poincare_embeddings, reconstruction
from poincare_memory.hierarchy import recipes
from poincare_memory.hierarchy.recipes import Recipe, for_reconstruction
from poincare_memory.hierarchy.tree import children_map, transitive_closure

BALL = PoincareBall()


def ternary_closure(nodes):
    children, roots = children_map([((i - 1) // 3, i) for i in range(1, nodes)])
    return [(child, ancestor) for ancestor, child in transitive_closure(children, roots[0])]


SHORT = Recipe(3, ({"epochs": 6, "lr": 0.2, "burn_in": 2}, {"epochs": 4, "lr": 0.05, "burn_in": 0}))


def test_a_recipe_is_its_fits_in_a_row():
    closure = ternary_closure(40)
    points, report = SHORT.fit(iter(closure), seed=5)
    first, one = fit_poincare_embeddings(closure, 3, 6, 0.2, burn_in=2, seed=5)
    second, two = fit_poincare_embeddings(closure, 3, 4, 0.05, burn_in=0, seed=5 + 1_000_003, init=first)
    assert all(np.array_equal(points[node], second[node]) for node in second)
    assert report.losses == one.losses + two.losses
    assert (report.epochs, report.seed, report.final_loss) == (10, 5, two.final_loss)
    assert SHORT.epochs == 10


@pytest.mark.parametrize("manifold", ["poincare", "lorentz", "euclidean"])
def test_every_geometry_and_ball_takes_a_recipe(manifold):
    closure = ternary_closure(40)
    ball = None if manifold == "euclidean" else PoincareBall(2.0)
    told = []
    points, _ = SHORT.fit(
        np.array(closure), manifold=manifold, ball=ball, progress=lambda *at: told.append(at), n_threads=1
    )
    assert len(points) == 40
    assert told[-1] == (4, 4)
    if ball is not None:
        assert max(np.linalg.norm(point) for point in points.values()) < 1 / np.sqrt(2)


def test_what_no_recipe_can_do_is_refused():
    with pytest.raises(ValueError, match="stages"):
        Recipe(2, ()).fit([("a", "b")])
    with pytest.raises(ValueError, match="ball"):
        SHORT.fit([("a", "b")], manifold="euclidean", ball=BALL)
    with pytest.raises(ValueError, match="seed"):
        SHORT.fit([("a", "b")], seed=-1)
    with pytest.raises(ValueError, match="dim"):
        for_reconstruction(0)


def test_sizes_have_recipes_of_their_own():
    assert for_reconstruction(10, nodes=1170) != for_reconstruction(10, nodes=82_115)
    assert for_reconstruction(2).stages != for_reconstruction(10).stages
    assert recipes.__all__ == ["Recipe", "for_reconstruction"]


@pytest.mark.parametrize(("turned", "dim", "least"), [(False, 5, 0.97), (True, 2, 0.97)])
def test_a_small_tree_is_reconstructed_nearly_whole(turned, dim, least):
    closure = ternary_closure(364)
    if turned:
        closure = [(ancestor, child) for child, ancestor in closure]
    points, _ = for_reconstruction(dim, nodes=364).fit(closure)
    assert reconstruction(points, closure, BALL.distance).mean_average_precision >= least
