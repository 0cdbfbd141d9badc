"""The options of the fits beyond the reference's: what they do, what they refuse, and that runs go on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from poincare_memory import PoincareBall
from poincare_memory.hierarchy import (
    TrainingReport,
    fit_euclidean_embeddings,
    fit_poincare_embeddings,
    reconstruction,
    sarkar_layout,
)
from poincare_memory.hierarchy.pairs import NumberedPairs
from poincare_memory.hierarchy.tree import children_map, transitive_closure

EDGES = [("a", "b"), ("a", "c"), ("b", "d"), ("a", "d"), ("e", "f")]
FITS = [fit_poincare_embeddings, fit_euclidean_embeddings]
BALL = PoincareBall()
TREE = [((i - 1) // 2, i) for i in range(1, 63)]

each_fit = pytest.mark.parametrize("fit", FITS, ids=["poincare", "euclidean"])


def closure_of(edges):
    """(child, ancestor) pairs."""
    children, roots = children_map(edges)
    return [(child, ancestor) for ancestor, child in transitive_closure(children, roots[0])]


def rows(points):
    return np.stack(list(points.values()))


@each_fit
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("sampler", "zipf", ValueError),
        ("sampler", None, ValueError),
        ("temperature", 0.0, ValueError),
        ("temperature", -1.0, ValueError),
        ("temperature", math.nan, ValueError),
        ("temperature", 1e9, ValueError),
        ("temperature", "hot", TypeError),
        ("lr_end", -0.1, ValueError),
        ("lr_end", math.inf, ValueError),
        ("exclude_related", "yes", TypeError),
        ("hard_negatives", -1, ValueError),
        ("hard_negatives", 1.5, TypeError),
        ("hard_every", 0, ValueError),
        ("dtype", np.float16, ValueError),
        ("dtype", np.int32, ValueError),
        ("n_threads", 0, ValueError),
        ("n_threads", 1.5, TypeError),
        ("callback", "stop", TypeError),
        ("init", [1, 2], TypeError),
        ("resume", {}, TypeError),
        ("resume", ({}, 3), TypeError),
    ],
)
def test_bad_options_are_refused_by_name(fit, name, value, error):
    with pytest.raises(error, match=f"^{name}(: expected| must be) "):
        fit(EDGES, epochs=1, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("manifold", "klein"), ("manifold", "euclidean"), ("burn_in_sampler", 1)]
)
def test_bad_options_of_the_ball_alone_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name}: expected "):
        fit_poincare_embeddings(EDGES, epochs=1, **{name: value})


@each_fit
@pytest.mark.parametrize(
    "options",
    [
        {"sampler": "degree"},
        {"temperature": 3.0},
        {"temperature": 0.7},
        {"lr_end": 0.0},
        {"hard_negatives": 2, "hard_every": 3},
        {"dtype": np.float64},
        {"exclude_related": False},
    ],
    ids=str,
)
def test_every_option_changes_the_result_and_keeps_it_reproducible(fit, options):
    # The second half of a longer fit: an early float64 and float32 would differ by rounding alone.
    plain, _ = fit(closure_of(TREE), dim=3, epochs=12, lr=0.5)
    one, report = fit(closure_of(TREE), dim=3, epochs=12, lr=0.5, **options)
    two, _ = fit(closure_of(TREE), dim=3, epochs=12, lr=0.5, **options)
    assert np.array_equal(rows(one), rows(two))
    assert not np.array_equal(rows(one), rows(plain))
    assert report.final_loss < report.losses[0]


def test_the_hyperboloid_learns_the_ball_s_points():
    """The same steps but for rounding and for terms of second order in the rate."""
    ball, on_ball = fit_poincare_embeddings(EDGES, dim=3, epochs=30, lr=1e-3, dtype=np.float64)
    other, on_hyperboloid = fit_poincare_embeddings(EDGES, dim=3, epochs=30, lr=1e-3, manifold="lorentz")
    np.testing.assert_allclose(on_ball.losses, on_hyperboloid.losses, rtol=1e-5)
    np.testing.assert_allclose(rows(ball), rows(other), atol=1e-5)
    assert np.abs(rows(ball)).max() > 1e-3


@pytest.mark.parametrize("manifold", ["poincare", "lorentz"])
@pytest.mark.parametrize("lr", [1.0, 1e3, 1e9])
def test_high_rates_stay_inside_the_ball(manifold, lr):
    points, report = fit_poincare_embeddings(closure_of(TREE), dim=5, epochs=20, lr=lr, manifold=manifold)
    assert np.linalg.norm(rows(points), axis=1).max() < 1
    assert np.isfinite(report.losses).all()


@pytest.mark.parametrize("sampler", ["uniform", "degree"])
@pytest.mark.parametrize("hard", [0, 3])
def test_a_complete_graph_ends_and_stays(sampler, hard):
    complete = [(u, v) for u in range(5) for v in range(5) if u != v]
    before, _ = fit_poincare_embeddings(complete, epochs=0)
    after, report = fit_poincare_embeddings(complete, epochs=20, sampler=sampler, hard_negatives=hard)
    assert report.final_loss == 0
    assert np.array_equal(np.float32(rows(before)), np.float32(rows(after)))


def test_a_star_of_degree_draws_ends():
    """Nearly all weight lies on the hub, which is related to every node but one."""
    edges = [(i, "hub") for i in range(300)] + [("hub", i) for i in range(299)]
    _, report = fit_poincare_embeddings(edges, epochs=2, sampler="degree")
    assert np.isfinite(report.final_loss)


def test_the_rate_falls_linearly_after_the_burn_in():
    seen = []
    fit_poincare_embeddings(
        EDGES,
        epochs=7,
        lr=0.5,
        lr_end=0.1,
        burn_in=2,
        burn_in_lr_factor=0.01,
        callback=lambda at: seen.append(at.lr),
    )
    assert seen == pytest.approx([0.005, 0.005, 0.5, 0.4, 0.3, 0.2, 0.1])


def test_the_sampler_of_the_burn_in_is_its_own():
    closure = closure_of(TREE)
    options = {"dim": 3, "burn_in": 4, "lr": 0.3}
    degree, _ = fit_poincare_embeddings(closure, epochs=4, sampler="degree", **options)
    burnt, _ = fit_poincare_embeddings(closure, epochs=4, burn_in_sampler="degree", **options)
    assert np.array_equal(rows(degree), rows(burnt))
    degree, _ = fit_poincare_embeddings(closure, epochs=8, sampler="degree", **options)
    burnt, _ = fit_poincare_embeddings(closure, epochs=8, burn_in_sampler="degree", **options)
    assert not np.array_equal(rows(degree), rows(burnt))


def test_hard_negatives_drive_intruders_out():
    closure = closure_of([((i - 1) // 3, i) for i in range(1, 364)])
    options = {
        "dim": 4,
        "lr": 0.2,
        "temperature": 4.0,
        "negatives": 5,
        "burn_in": 5,
        "burn_in_sampler": "degree",
    }

    def precision(**more):
        return np.mean(
            [
                reconstruction(
                    fit_poincare_embeddings(closure, epochs=60, seed=seed, **options, **more)[0],
                    closure,
                    BALL.distance,
                ).mean_average_precision
                for seed in range(3)
            ]
        )

    assert precision(hard_negatives=2, hard_every=5) > precision() + 0.02


@each_fit
def test_threads_learn_as_well(fit):
    closure = closure_of([((i - 1) // 3, i) for i in range(1, 1093)])
    losses = [fit(closure, epochs=20, n_threads=threads)[1].final_loss for threads in (1, 2, None)]
    assert losses[1] == pytest.approx(losses[0], rel=0.1)
    assert losses[2] == pytest.approx(losses[0], rel=0.1)


@each_fit
def test_a_resumed_fit_ends_where_one_run_does(fit):
    options = {"dim": 4, "lr": 0.3, "lr_end": 0.05, "seed": 11, "hard_negatives": 1, "hard_every": 5}
    whole, report = fit(closure_of(TREE), epochs=20, **options)
    half = fit(closure_of(TREE), epochs=20, callback=lambda at: at.epoch == 10, **options)
    assert half[1].epochs == 10
    again, resumed = fit(closure_of(TREE), epochs=20, resume=half, **options)
    assert np.array_equal(rows(whole), rows(again))
    assert resumed == report
    assert resumed.seconds >= half[1].seconds > 0
    assert len(half[1].losses) == 10


def test_a_fit_resumes_on_the_hyperboloid_and_in_other_balls():
    for options in ({"manifold": "lorentz"}, {"ball": PoincareBall(2.3)}):
        whole, _ = fit_poincare_embeddings(closure_of(TREE), epochs=20, lr_end=0.1, **options)
        half = fit_poincare_embeddings(closure_of(TREE), epochs=10, **options)
        again, _ = fit_poincare_embeddings(closure_of(TREE), epochs=20, resume=half, lr_end=0.1, **options)
        np.testing.assert_allclose(rows(whole), rows(again), atol=1e-5)


def test_what_cannot_be_resumed_is_refused():
    done = fit_poincare_embeddings(EDGES, epochs=5)
    with pytest.raises(ValueError, match="resume: 5 epochs are done"):
        fit_poincare_embeddings(EDGES, epochs=4, resume=done)
    with pytest.raises(KeyError, match="resume: node 'z' has no point"):
        fit_poincare_embeddings([*EDGES, ("z", "a")], epochs=9, resume=done)
    with pytest.raises(ValueError, match="init: expected none"):
        fit_poincare_embeddings(EDGES, epochs=9, resume=done, init=done[0])
    same, report = fit_poincare_embeddings(EDGES, epochs=5, resume=done)
    assert np.array_equal(rows(same), rows(done[0]))
    assert report == done[1]


@each_fit
def test_given_points_are_the_start_and_stay_the_caller_s(fit):
    init = {node: np.full(3, 0.1 * i) for i, node in enumerate("abcdef")} | {"unused": np.zeros(9)}
    points, _ = fit(EDGES, dim=3, epochs=0, init=init, dtype=np.float64)
    for node in "abcdef":
        np.testing.assert_allclose(points[node], init[node], rtol=1e-15)
    moved, _ = fit(EDGES, dim=3, epochs=3, init=init)
    assert not np.array_equal(moved["a"], init["a"])
    assert (init["b"] == 0.1).all()


@pytest.mark.parametrize("manifold", ["poincare", "lorentz"])
def test_a_layout_is_a_start(manifold):
    ball = PoincareBall(0.5)
    layout = sarkar_layout(TREE, ball, dim=3, tau=0.7)
    points, _ = fit_poincare_embeddings(
        closure_of(TREE), dim=3, epochs=0, ball=ball, init=layout, manifold=manifold, dtype=np.float64
    )
    for node, point in layout.items():
        np.testing.assert_allclose(points[node], point, atol=1e-12)
    far = {node: np.array([math.tanh(9.0), 0.0, 0.0]) for node in layout}
    pulled, _ = fit_poincare_embeddings(closure_of(TREE), dim=3, epochs=0, init=far, manifold=manifold)
    assert np.linalg.norm(pulled[0]) == pytest.approx(1 - 1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("init", "error", "says"),
    [
        ({"a": [0.1, 0.1]}, KeyError, "init: node 'b' has no point"),
        ({"a": [0.1]}, ValueError, r"init: expected shape \(2,\), got \(1,\) for node 'a'"),
        ({"a": [math.nan, 0.0]}, ValueError, "finite and inside the ball"),
        ({"a": [1.0, 0.0]}, ValueError, "finite and inside the ball"),
    ],
)
def test_starts_that_are_none_are_refused(init, error, says):
    rest = {} if error is KeyError else dict.fromkeys("bcdef", (0.0, 0.0))
    with pytest.raises(error, match=says):
        fit_poincare_embeddings(EDGES, dim=2, init={**rest, **init})


def test_a_callback_sees_and_stops():
    closure = closure_of(TREE)
    seen = []

    def callback(at):
        seen.append((at.epoch, at.epochs, at.loss))
        if at.epoch == 30:
            exact = reconstruction(at.points(), closure, BALL.distance).mean_average_precision
            assert at.sampled_map(10**6) == pytest.approx(exact, abs=1e-12)
            assert at.sampled_map(20, seed=1) == at.sampled_map(20, seed=1) != at.sampled_map(20, seed=2)
            at.points()[0][:] = 0.9  # a copy
            with pytest.raises(ValueError, match="queries"):
                at.sampled_map(0)
        return at.epoch == 40

    _, report = fit_poincare_embeddings(closure, epochs=100, callback=callback)
    assert report.epochs == 40
    assert [loss for _, _, loss in seen] == report.losses
    assert seen[0][:2] == (1, 100)


def test_what_a_callback_raises_is_raised():
    def callback(at):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fit_poincare_embeddings(EDGES, callback=callback)


@each_fit
def test_a_report_knows_time_and_seed(fit):
    _, report = fit(EDGES, epochs=3, seed=7)
    assert report.seed == 7
    assert 0 < report.seconds < 60
    one, drawn = fit(EDGES, epochs=3, seed=None)
    two, _ = fit(EDGES, epochs=3, seed=drawn.seed)
    assert np.array_equal(rows(one), rows(two))
    assert TrainingReport(1, 0.5, [0.5]).seed is None  # as the reference's is made


def test_progress_is_told_epoch_by_epoch():
    told = []
    done = fit_poincare_embeddings(EDGES, epochs=3, progress=lambda *at: told.append(at))
    fit_poincare_embeddings(EDGES, epochs=5, resume=done, progress=lambda *at: told.append(at))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3), (3, 5), (4, 5), (5, 5)]
    with pytest.raises(TypeError, match=r"^progress: expected"):
        fit_poincare_embeddings(EDGES, progress="bar")


def test_progress_true_draws_a_bar(capsys):
    pytest.importorskip("tqdm", reason="the bar is tqdm's")
    fit_poincare_embeddings(EDGES, epochs=4, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "training: 100%" in captured.err


def test_an_array_of_pairs_is_learnt_like_the_pairs():
    closure = closure_of(TREE)
    one, first = fit_poincare_embeddings(closure, epochs=5)
    two, second = fit_poincare_embeddings(np.array(closure), epochs=5)
    assert list(one) == list(two)
    assert {type(node) for node in two} == {int}
    assert np.array_equal(rows(one), rows(two))
    assert first == second


@pytest.mark.parametrize("edges", [np.zeros((0, 2), int), np.zeros((3, 3), int), np.zeros(4, int)])
def test_arrays_of_other_shapes_are_refused(edges):
    with pytest.raises(ValueError, match=r"edges: expected \(u, v\) pairs"):
        fit_poincare_embeddings(edges)


def test_numbered_pairs():
    pairs = NumberedPairs([("b", "a"), ("c", "a"), ("b", "c"), ("b", "a")])
    assert pairs.nodes == ["a", "b", "c"]
    query, start, related = pairs.related
    assert [query.tolist(), start.tolist(), related.tolist()] == [[1, 2], [0, 2, 3], [0, 2, 0]]
    start, shifted = pairs.excluded()
    assert start.tolist() == [0, 1, 4, 6]
    assert shifted.tolist() == [0, 0, 0, 0, 0, 1]
    assert pairs.reversed().related[0].tolist() == [0, 2]
    assert [ends.tolist() for ends in pairs.as_arrays()] == [[1, 1, 1, 2], [0, 0, 2, 0]]
    assert len(pairs) == 4
    assert pairs.given[0] is not None
    once = NumberedPairs(np.array([("c", "a"), ("b", "c"), ("b", "a")]))
    assert once.given == (None, None)
    assert [ends.tolist() for ends in once.as_arrays()] == [[1, 1, 2], [0, 2, 0]]
    assert len(once) == len(once.reversed()) == 3
    assert [ends.tolist() for ends in once.reversed().as_arrays()] == [[0, 0, 2], [1, 2, 1]]


@each_fit
@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("exclude", [False, True])
def test_the_order_of_the_pairs_does_not_count(fit, twice, exclude):
    pairs = closure_of(TREE)
    pairs += pairs[3:9] if twice else []
    one, first = fit(pairs, dim=3, epochs=4, exclude_related=exclude)
    two, second = fit(pairs[::-1], dim=3, epochs=4, exclude_related=exclude)
    assert first == second
    assert np.array_equal(rows(one), rows(two))


@pytest.mark.parametrize("edges", [[(1, 2), (2, 3), (3, 3)], np.array([(1, 2), (2, 3), (3, 3)])])
def test_a_pair_of_one_node_is_refused_with_its_place(edges):
    with pytest.raises(ValueError, match="node 3 is paired with itself at position 2"):
        fit_poincare_embeddings(edges)


@pytest.mark.parametrize("edges", [[(1.0, 2.0), (2.0, math.nan)], np.array([(1.0, 2.0), (2.0, math.nan)])])
def test_a_node_that_is_not_equal_to_itself_is_refused(edges):
    with pytest.raises(ValueError, match="edges: expected nodes that equal themselves, got nan"):
        fit_poincare_embeddings(edges)
