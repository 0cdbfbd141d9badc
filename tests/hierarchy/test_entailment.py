"""Entailment cones: what they learn, what they refuse; link prediction on parts of a closure."""

from __future__ import annotations

import math

import numpy as np
import pytest

from poincare_memory import PoincareBall, cone_energy, fit_poincare_embeddings, in_cone
from poincare_memory.hierarchy import (
    cone_link_scores,
    fit_entailment_cones,
    link_prediction,
    split_links,
)
from poincare_memory.hierarchy.tree import children_map, transitive_closure

BALL = PoincareBall()


def tree_closure(nodes, branching=3):
    """(ancestor, descendant) pairs."""
    children, roots = children_map([((i - 1) // branching, i) for i in range(1, nodes)])
    return transitive_closure(children, roots[0])


CLOSURE = tree_closure(121)


def test_descendants_end_in_the_cones_of_their_ancestors():
    points, report = fit_entailment_cones(CLOSURE, dim=5, epochs=200)
    assert report.final_loss < 0.3 * report.losses[0]
    above = np.stack([points[u] for u, _ in CLOSURE])
    below = np.stack([points[v] for _, v in CLOSURE])
    assert in_cone(above, below, BALL, tol=0.05).mean() > 0.7
    turned = in_cone(below, above, BALL, tol=0.05).mean()
    assert turned < 0.2


def test_a_seed_fixes_the_points_and_a_ball_scales_them():
    one, first = fit_entailment_cones(CLOSURE, dim=3, epochs=5, seed=3)
    two, second = fit_entailment_cones(iter(CLOSURE), dim=3, epochs=5, seed=3, ball=PoincareBall(4.0))
    assert first == second
    assert first.seed == 3
    assert first.epochs == len(first.losses) == 5
    for node in one:
        np.testing.assert_allclose(two[node] * 2, one[node], rtol=1e-14)
    ball = PoincareBall(4.0)
    u, v = CLOSURE[5]
    assert cone_energy(two[u], two[v], ball) == pytest.approx(cone_energy(one[u], one[v], BALL), abs=1e-9)


def test_given_points_are_the_start():
    rng = np.random.default_rng(0)
    init = {node: rng.uniform(0.2, 0.4, 3) for node in range(121)}
    points, report = fit_entailment_cones(CLOSURE, dim=3, epochs=0, init=init)
    assert math.isnan(report.final_loss)
    for node, point in init.items():
        np.testing.assert_allclose(points[node], point, rtol=1e-12)
    moved, _ = fit_entailment_cones(CLOSURE, dim=3, epochs=1, init=init)
    assert not np.array_equal(moved[0], init[0])


def test_the_rate_falls_linearly():
    seen = []
    fit_entailment_cones(CLOSURE, 3, 5, 0.5, lr_end=0.1, callback=lambda at: seen.append(at.lr))
    assert seen == pytest.approx([0.5, 0.4, 0.3, 0.2, 0.1])


def test_a_callback_stops_and_progress_is_told():
    told = []
    _, report = fit_entailment_cones(
        CLOSURE, dim=3, epochs=9, callback=lambda at: at.epoch == 4, progress=lambda *at: told.append(at)
    )
    assert report.epochs == 4
    assert told == [(1, 9), (2, 9), (3, 9), (4, 9)]


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("dim", 0, ValueError),
        ("epochs", -1, ValueError),
        ("lr", math.nan, ValueError),
        ("lr", -1.0, ValueError),
        ("lr_end", -1.0, ValueError),
        ("lr_end", math.inf, ValueError),
        ("negatives", 0, ValueError),
        ("K", 0.0, ValueError),
        ("K", math.inf, ValueError),
        ("margin", -0.1, ValueError),
        ("margin", 4.0, ValueError),
        ("seed", -1, ValueError),
        ("ball", 1.0, TypeError),
        ("callback", 3, TypeError),
        ("init", 3, TypeError),
    ],
)
def test_bad_arguments_are_refused_by_name(name, value, error):
    with pytest.raises(error, match=f"^{name}(: expected| must be) "):
        fit_entailment_cones(CLOSURE, **{name: value})


@pytest.mark.parametrize("edges", [[], [("a",)], [("a", "a")]])
def test_what_is_no_pair_is_refused(edges):
    with pytest.raises(ValueError, match="edges"):
        fit_entailment_cones(edges)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("share", [0, 0.1, 0.25, 0.5, 1])
def test_a_split_keeps_basic_pairs_and_holds_out_others(share, turned):
    closure = [(v, u) for u, v in CLOSURE] if turned else CLOSURE
    edges = {((i - 1) // 3, i) for i in range(1, 121)}
    basic = {(v, u) for u, v in edges} if turned else edges
    split = split_links(closure, share, seed=4)
    assert set(split.train) >= basic
    parts = [set(split.train), set(split.validation), set(split.test)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert set.union(*parts) <= set(closure)
    rest = len(closure) - len(basic)
    assert len(split.test) == len(split.validation) == round(0.05 * rest)
    assert len(split.train) == len(basic) + min(round(share * rest), rest - 2 * len(split.test))
    assert split_links(closure, share, seed=4) == split
    assert split_links(closure, share, seed=5) != split


def test_what_cannot_be_split_is_refused():
    with pytest.raises(ValueError, match="closure"):
        split_links([("a", "b"), ("b", "c")])
    with pytest.raises(ValueError, match="share"):
        split_links(CLOSURE, 1.5)
    with pytest.raises(ValueError, match="seed"):
        split_links(CLOSURE, seed=-1)


def test_held_out_links_are_ranked_among_what_is_no_link():
    points = {0: [0.0, 0.0], 1: [0.1, 0.0], 2: [0.2, 0.0], 3: [0.15, 0.0], 4: [0.0, 0.05]}
    chain = [(0, 1), (1, 2), (0, 2)]
    split = split_links(chain)
    assert split.test == [(0, 2)] or split.validation == [(0, 2)]
    split = type(split)([(0, 1), (1, 2)], [], [(0, 2)], chain)
    for distance in (BALL.distance, "euclidean"):
        result = link_prediction(points, split, distance)  # 3 and 4 are nearer, 1 is a link itself
        assert result.mean_rank == 3
        assert result.mean_average_precision == pytest.approx(1 / 3)
        assert result.n_queries == 1
    with pytest.raises(ValueError, match="distance"):
        link_prediction(points, split, "cosine")
    with pytest.raises(ValueError, match="NaN"):
        link_prediction(points, split, lambda u, x: np.full(5, np.nan))


def test_what_is_no_split_or_holds_nothing_out_is_refused():
    points = {node: [0.1 * (node + 1), 0.0] for node in range(4)}
    split = split_links([(i, j) for i in range(4) for j in range(i + 1, 4)])
    for score in (lambda p, s: link_prediction(p, s, BALL.distance), cone_link_scores):
        score(points, split)
        with pytest.raises(TypeError, match=r"split: expected a LinkSplit.* got list"):
            score(points, split.test)
        with pytest.raises(TypeError, match="points: expected a mapping"):
            score(list(points.values()), split)
        with pytest.raises(KeyError, match="split: node 3 has no point"):
            score({node: points[node] for node in range(3)}, split)
    tiny = split_links([("a", "b"), ("b", "c"), ("a", "c")])  # one pair follows: validation has it
    places = {"a": [0.1, 0.0], "b": [0.2, 0.0], "c": [0.3, 0.0]}
    assert link_prediction(places, tiny, BALL.distance).n_queries == 0
    assert np.isnan(link_prediction(places, tiny, BALL.distance).mean_rank)
    with pytest.raises(ValueError, match="too small"):
        cone_link_scores(places, tiny)


def test_more_training_pairs_predict_more_links():
    """The order of Ganea et al.'s table: F1 rises with the share of the closure that was seen."""
    scores = []
    for share in (0, 0.5):
        split = split_links(CLOSURE, share)
        points, _ = fit_entailment_cones(split.train, dim=5, epochs=150)
        found = cone_link_scores(points, split)
        assert 0 <= found.precision <= 1
        assert found.f1 == pytest.approx(
            2 * found.precision * found.recall / (found.precision + found.recall)
        )
        assert cone_link_scores(points, split) == found
        scores.append(found.f1)
    assert scores[1] > max(scores[0], 0.6)


def test_embeddings_predict_links_far_better_than_chance():
    closure = [(v, u) for u, v in CLOSURE]
    split = split_links(closure, 0.5)
    points, _ = fit_poincare_embeddings(split.train, dim=5, epochs=100)
    assert link_prediction(points, split, BALL.distance).mean_rank < 10
