"""What the training kernels refuse, and the lists of pairs they take."""

from __future__ import annotations

import numpy as np
import pytest

from native.training_oracle import kernel_epoch, oracle_epoch
from poincare_memory._core import _kernels


def test_alias_table_draws_in_proportion():
    rng = np.random.default_rng(0)
    for weight in (
        rng.random(50),
        np.ones(7),
        np.array([0.0, 3.0, 0.0, 1.0]),
        rng.random(400) ** 8,
        np.ones(1),
    ):
        count = len(weight)
        threshold, alias = np.empty(count, np.uint32), np.empty(count, np.int32)
        _kernels.alias_table(weight, threshold, alias)
        own = threshold / 2**32
        share = own + np.bincount(alias, 1 - own, minlength=count)
        np.testing.assert_allclose(share / count, weight / weight.sum(), atol=1e-9)


@pytest.mark.parametrize("weight", [[-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_weights_that_are_none_are_refused(weight):
    with pytest.raises(ValueError, match="weights must"):
        _kernels.alias_table(np.array(weight), np.empty(2, np.uint32), np.empty(2, np.int32))


def test_weights_that_lie_on_related_nodes_alone_still_end():
    """Node 3 alone may be drawn for node 0, and has no weight: a uniform draw takes over."""
    table = np.empty(4, np.uint32), np.empty(4, np.int32)
    _kernels.alias_table(np.array([1.0, 1.0, 1.0, 0.0]), *table)
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.3, 0.3, (4, 2))
    words = np.arange(1, 5, dtype=np.uint64)
    pairs = [(0, 1), (0, 2)]
    expected = points.copy()
    options = {"negatives": 3, "weighted": True, "table": table}
    oracle_epoch(expected, pairs, words, **options)
    got, _ = kernel_epoch(points, pairs, words, **options)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-8)
    assert (got[3] != points[3]).any()


@pytest.mark.parametrize("weighted", [False, True])
def test_long_lists_of_excluded_nodes(weighted):
    """A hub with more related nodes than are counted one by one."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-0.3, 0.3, (120, 3))
    pairs = [(5, v) for v in [*range(6, 90), 0, 119]] + [(7, 5), (119, 0)]
    words = np.arange(1, 5, dtype=np.uint64)
    expected = points.copy()
    oracle_epoch(expected, pairs, words, negatives=7, weighted=weighted)
    got, _ = kernel_epoch(points, pairs, words, negatives=7, weighted=weighted)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-8)


def lists_of(*lists):
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return {
        "start": start,
        "shifted": np.array([x - i for one in lists for i, x in enumerate(one)], np.int32),
    }


def test_lists_stand_for_the_pairs_in_them():
    """Of few pairs and of so many that they are shuffled through bins."""
    draw = np.random.default_rng(0)
    for nodes, degree in [(5, 2), (3000, 60)]:
        chosen = [sorted({u, *draw.integers(0, nodes, degree).tolist()}) for u in range(nodes)]
        pairs = np.array([(u, v) for u, one in enumerate(chosen) for v in one if v != u], np.int32)
        lists = lists_of(*chosen).values()
        ends = [(None, None), pairs.T.copy()]
        found = []
        for source, target in ends:
            run = _kernels.TrainingRun(nodes, source, target, *lists, None, None)
            rows = np.zeros((nodes, 8), np.float32)
            rows[:, :2] = np.random.default_rng(1).uniform(-0.1, 0.1, (nodes, 2))
            words = np.ones(4, np.uint64)
            loss = _kernels.train_epoch(run, rows, 2, "poincare", words, 1, 0.1, 1.0, False, 1, None, None, 0)
            found.append((loss, rows))
        assert found[0][0] == found[1][0]
        assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"source": np.array([5], np.int32)}, "two different nodes"),
        ({"source": np.array([1], np.int32)}, "two different nodes"),
        ({"target": np.array([-1], np.int32)}, "two different nodes"),
        ({"target": np.array([1, 2], np.int32)}, "equally long"),
        ({"start": np.zeros(3, np.int64)}, "nodes \\+ 1"),
        (
            {"start": np.array([0, 2, 1, 3], np.int64), "shifted": np.zeros(3, np.int32)},
            "list of excluded nodes",
        ),
        ({"source": None}, "both be given"),
        ({"source": None, "target": None}, "lists without them"),
        ({"source": None, "target": None, **lists_of([0, 1], [0, 1], [0, 1])}, "the node itself"),
        ({"source": None, "target": None, **lists_of([0, 3], [1], [2])}, "rising order"),
        ({"source": None, "target": None, **lists_of([0, 0], [1], [2])}, "rising order"),
        ({"threshold": np.zeros(2, np.uint32), "alias": np.zeros(3, np.int32)}, "an entry a node"),
        ({"threshold": np.zeros(3, np.uint32), "alias": np.full(3, 3, np.int32)}, "must be a node"),
    ],
)
def test_a_run_refuses_what_would_leave_the_arrays(change, says):
    good = {
        "nodes": 3,
        "source": np.array([0], np.int32),
        "target": np.array([1], np.int32),
        "start": None,
        "shifted": None,
        "threshold": None,
        "alias": None,
    }
    _kernels.TrainingRun(**good)
    with pytest.raises(ValueError, match=says):
        _kernels.TrainingRun(**{**good, **change})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"points": np.zeros((2, 8), np.float32)}, "points must have"),
        ({"points": np.zeros((3, 7), np.float32)}, "points must have"),
        ({"points": np.zeros((3, 0), np.float32)}, "points must have"),
        ({"dim": 0}, "dim must be"),
        ({"dim": 9}, "dim must be"),
        ({"random": np.zeros(3, np.uint64)}, "four words"),
        ({"manifold": "sphere"}, "manifold must be"),
        ({"weighted": True}, "no weights"),
        ({"hard": 1}, "a row a node"),
        ({"hard": 1, "intruder": np.zeros((2, 4), np.int32), "found": np.zeros(3, np.int32)}, "a row a node"),
        ({"hard": 1, "intruder": np.zeros((3, 4), np.int32), "found": np.full(3, 5, np.int32)}, "the width"),
        (
            {"hard": 1, "intruder": np.full((3, 4), 3, np.int32), "found": np.ones(3, np.int32)},
            "another node",
        ),
        ({"hard": 1, "intruder": np.zeros((3, 4), np.int32), "found": np.ones(3, np.int32)}, "another node"),
    ],
)
def test_an_epoch_refuses_what_would_leave_the_arrays(change, says):
    pair = np.array([0], np.int32), np.array([1], np.int32)
    run = _kernels.TrainingRun(3, *pair, None, None, None, None)
    good = {
        "run": run, "points": np.zeros((3, 8), np.float32), "dim": 3, "manifold": "poincare",
        "random": np.ones(4, np.uint64), "negatives": 2, "rate": 0.1, "temperature": 1.0, "weighted": False,
        "threads": 1, "intruder": None, "found": None, "hard": 0,
    }  # fmt: skip
    _kernels.train_epoch(*good.values())
    with pytest.raises(ValueError, match=says):
        _kernels.train_epoch(*{**good, **change}.values())
