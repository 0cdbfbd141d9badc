"""Learned embeddings: what they learn, what they refuse, what a seed fixes."""

from __future__ import annotations

import hashlib
import math
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

from poincare_memory import PoincareBall
from poincare_memory.hierarchy.rsgd import fit_euclidean_embeddings, fit_poincare_embeddings
from poincare_memory.hierarchy.tree import children_map, transitive_closure

EDGES = [("a", "b"), ("a", "c"), ("b", "d"), ("a", "d")]
FITS = [fit_poincare_embeddings, fit_euclidean_embeddings]
BALL = PoincareBall()

each_fit = pytest.mark.parametrize("fit", FITS, ids=["poincare", "euclidean"])


def binary_tree_closure(nodes):
    children, roots = children_map([((i - 1) // 2, i) for i in range(1, nodes)])
    return transitive_closure(children, roots[0])


@each_fit
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("dim", 0, ValueError),
        ("dim", -1, ValueError),
        ("dim", 2.5, TypeError),
        ("epochs", -3, ValueError),
        ("epochs", 2.0, TypeError),
        ("epochs", None, TypeError),
        ("lr", math.nan, ValueError),
        ("lr", math.inf, ValueError),
        ("lr", -1.0, ValueError),
        ("lr", -math.inf, ValueError),
        ("lr", 1e30, ValueError),
        ("lr", "fast", TypeError),
        ("lr", None, TypeError),
        ("negatives", 0, ValueError),
        ("negatives", -2, ValueError),
        ("batch_size", 0, ValueError),
        ("batch_size", -5, ValueError),
        ("seed", -1, ValueError),
        ("seed", 0.5, TypeError),
    ],
)
def test_bad_numbers_are_refused_by_name(fit, name, value, error):
    with pytest.raises(error, match=f"^{name}(: expected| must be) "):
        fit(EDGES, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("burn_in", -1), ("burn_in_lr_factor", -0.1), ("burn_in_lr_factor", math.nan)],
)
def test_bad_burn_in_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"^{name}(: expected| must be) "):
        fit_poincare_embeddings(EDGES, **{name: value})


def test_a_ball_must_be_a_ball():
    with pytest.raises(TypeError, match=r"^ball: expected a PoincareBall"):
        fit_poincare_embeddings(EDGES, ball=4.0)


@each_fit
@pytest.mark.parametrize(
    ("edges", "says"),
    [
        ([], "at least one"),
        ([("a", "b", 1.0)], r"pairs, got \('a', 'b', 1.0\) at position 0"),
        ([("a", "b"), ("c",)], "at position 1"),
        ([("a", "b"), "cd"], "at position 1"),
        ([("a", "b"), ("c", "c")], "'c' is paired with itself at position 1"),
    ],
)
def test_what_is_no_pair_is_refused(fit, edges, says):
    with pytest.raises(ValueError, match=f"edges.*{says}"):
        fit(edges, epochs=1)


@each_fit
def test_same_seed_same_bits_and_input_untouched(fit):
    edges = [*EDGES, *EDGES]
    (one, first), (two, second) = (
        fit(edges, epochs=7, seed=3),
        fit(iter(edges), epochs=7, seed=3, batch_size=2),
    )
    assert edges == [*EDGES, *EDGES]
    assert first == second
    assert list(one) == list(two) == ["a", "b", "c", "d"]
    assert all(np.array_equal(one[node], two[node]) for node in one)
    other, _ = fit(edges, epochs=7, seed=4)
    assert not np.array_equal(one["a"], other["a"])


@each_fit
def test_no_epochs_gives_the_initial_points(fit):
    points, report = fit(EDGES, dim=3, epochs=0)
    assert report.epochs == 0
    assert math.isnan(report.final_loss)
    assert report.losses == []
    rows = np.stack(list(points.values()))
    assert rows.shape == (4, 3)
    assert rows.dtype == np.float64
    assert 0 < np.abs(rows).max() <= 1e-3


@each_fit
def test_report_and_result_shapes(fit):
    points, report = fit(EDGES * 3, dim=4, epochs=5, batch_size=10**9)
    assert report.epochs == len(report.losses) == 5
    assert report.final_loss == report.losses[-1]
    assert np.isfinite(report.losses).all()
    assert {point.shape for point in points.values()} == {(4,)}
    points["a"][:] = 9  # rows are the caller's own, and not each other's
    assert np.abs(points["b"]).max() < 9


@each_fit
def test_nodes_of_mixed_types_in_order_of_repr(fit):
    edges = [("a", 1), (1, None), ((2, "x"), "y"), (frozenset({3}), 1.5)]
    points, _ = fit(edges, epochs=2)
    assert list(points) == sorted({node for edge in edges for node in edge}, key=repr)


@pytest.mark.parametrize("c", [1.0, 4.0, 0.01, 1e-12, 1e12])
def test_points_are_inside_the_ball_of_any_curvature(c):
    points, _ = fit_poincare_embeddings(EDGES, epochs=60, lr=1.0, ball=PoincareBall(c))
    unit, _ = fit_poincare_embeddings(EDGES, epochs=60, lr=1.0)
    for node, point in points.items():
        assert np.linalg.norm(point) * math.sqrt(c) < 1
        np.testing.assert_allclose(point * math.sqrt(c), unit[node], rtol=1e-14)


def test_related_nodes_are_never_driven_apart():
    """With nothing unrelated there is nothing to be told from: no negative, no loss, no step."""
    for edges in ([("a", "b")], [(u, v) for u in range(5) for v in range(5) if u != v]):
        before, _ = fit_poincare_embeddings(edges, epochs=0)
        after, report = fit_poincare_embeddings(edges, epochs=50)
        assert report.final_loss == 0
        assert all(np.array_equal(np.float32(before[node]), np.float32(after[node])) for node in before)


@each_fit
def test_only_the_pair_is_excluded_when_asked(fit):
    edges = [("hub", i) for i in range(6)]
    _, kept_out = fit(edges, epochs=30)
    _, let_in = fit(edges, epochs=30, exclude_related=False)
    assert kept_out.final_loss == 0  # everything is related to the hub
    assert let_in.final_loss > 1
    _, alone = fit([("a", "b")], epochs=3, exclude_related=False)
    assert alone.final_loss == 0


@each_fit
def test_children_end_nearer_to_their_own_hub(fit):
    hubs = "xyz"
    points, _ = fit([(h, f"{h}{i}") for h in hubs for i in range(5)], epochs=300, dim=5)
    distance = BALL.distance if fit is fit_poincare_embeddings else lambda p, q: np.linalg.norm(p - q)
    for hub in hubs:
        for i in range(5):
            child = points[f"{hub}{i}"]
            nearest = min(hubs, key=lambda other: float(distance(points[other], child)))
            assert nearest == hub


def test_burn_in_moves_less():
    closure = binary_tree_closure(31)
    spread = [
        np.ptp(np.stack(list(fit_poincare_embeddings(closure, epochs=10, burn_in=b)[0].values())))
        for b in (0, 10)
    ]
    assert spread[1] < spread[0]
    slow, _ = fit_poincare_embeddings(closure, epochs=10, burn_in=10, burn_in_lr_factor=0.25, lr=0.4)
    same, _ = fit_poincare_embeddings(closure, epochs=10, burn_in=0, lr=0.1)
    assert all(np.array_equal(slow[node], same[node]) for node in slow)


@pytest.mark.parametrize("lr", [0.3, 1.0, 100.0, 1e9])
def test_high_learning_rates_stay_finite(lr):
    points, report = fit_poincare_embeddings(binary_tree_closure(63), dim=5, epochs=30, lr=lr)
    rows = np.stack(list(points.values()))
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows, axis=1).max() < 1
    assert np.isfinite(report.losses).all()


def test_loss_falls_on_a_tree():
    _, report = fit_poincare_embeddings(binary_tree_closure(127), dim=5, epochs=100)
    assert report.final_loss < 0.2 * report.losses[0]


@contextmanager
def interrupted_after(seconds):
    def interrupt(signum, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


needs_timers = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="needs POSIX timers to interrupt itself"
)


@needs_timers
def test_interrupt_is_answered_between_epochs():
    started = time.perf_counter()
    with interrupted_after(0.2):
        fit_poincare_embeddings(EDGES, epochs=10**7)
    assert time.perf_counter() - started < 5


FRESH = """
import hashlib
import numpy as np
from poincare_memory import fit_poincare_embeddings
edges = np.stack([np.arange(1, 300), np.arange(1, 300) // 10], 1)
points, _ = fit_poincare_embeddings(edges, dim=5, epochs=3, n_threads=1)
print(hashlib.sha256(np.stack(list(points.values())).tobytes()).hexdigest())
"""


@needs_timers
def test_a_fit_after_an_interrupted_one_is_that_of_a_fresh_process():
    edges = np.stack([np.arange(1, 200_000), np.arange(1, 200_000) // 10], 1)
    with interrupted_after(0.3):  # in the middle of an epoch: one of these takes longer
        fit_poincare_embeddings(edges, epochs=1000, negatives=200, n_threads=1)
    points, _ = fit_poincare_embeddings(edges[:299], dim=5, epochs=3, n_threads=1)
    fresh = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)
    assert fresh.stdout.strip() == hashlib.sha256(np.stack(list(points.values())).tobytes()).hexdigest()
