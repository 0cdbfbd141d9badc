"""Learned embeddings and their evaluation beside the reference: equal numbers, at least equal quality."""

from __future__ import annotations

import numpy as np
import pytest

from poincare_memory import PoincareBall, fit_euclidean_embeddings, fit_poincare_embeddings
from poincare_memory.hierarchy import transitive_closure
from reference.harness import Reference, ReferenceRaised


def random_closure(nodes, seed):
    """Closure of a random tree whose nodes have few to many children."""
    rng = np.random.default_rng(seed)
    children = {}
    for node in range(1, nodes):
        children.setdefault(int(rng.integers(0, max(1, node // 2 + 1))), []).append(node)
    return transitive_closure(children, 0)


def tree_answers(payload):
    from poincare_memory.hierarchy import children_map, depths, transitive_closure

    children, roots = children_map(payload)
    return {
        "children": children,
        "roots": sorted(roots, key=repr),
        "closure": [transitive_closure(children, root) for root in sorted(roots, key=repr)],
        "depths": [list(depths(children, root).items()) for root in sorted(roots, key=repr)],
    }


@pytest.mark.parametrize("seed", range(5))
def test_trees_in_the_same_order(reference: Reference, seed):
    rng = np.random.default_rng(seed)
    edges = [(f"n{int(rng.integers(0, i))}", f"n{i}") for i in range(1, 60) if rng.random() < 0.9]
    rng.shuffle(edges)
    edges = [tuple(edge) for edge in edges]
    theirs, ours = reference.call(tree_answers, edges), tree_answers(edges)
    assert theirs["children"] == ours["children"]
    assert theirs["roots"] == ours["roots"]
    assert theirs["closure"] == ours["closure"]
    assert [dict(d) for d in theirs["depths"]] == [dict(d) for d in ours["depths"]]


@pytest.mark.parametrize("edges", [[("a", "b"), ("c", "b")], [("a", "b"), ("b", "a")], [("a", "a")]])
def test_both_refuse_what_is_no_forest(reference: Reference, edges):
    with pytest.raises(ReferenceRaised, match="ValueError"):
        reference.call(tree_answers, edges)
    with pytest.raises(ValueError, match=r"two parents|cycle|its own parent"):
        tree_answers(edges)


def test_the_same_initial_points(reference: Reference):
    payload = {"c": 4.0, "edges": [("b", "a"), ("a", 3), (None, "x"), (10, 9)]}
    source = (
        "import numpy as np\n"
        "def main(payload):\n"
        "    from poincare_memory import PoincareBall, fit_euclidean_embeddings, fit_poincare_embeddings\n"
        "    ball = PoincareBall(payload['c'])\n"
        "    p, r = fit_poincare_embeddings(payload['edges'], epochs=0, dim=3, seed=7, ball=ball)\n"
        "    q, _ = fit_euclidean_embeddings(payload['edges'], epochs=0, dim=3, seed=7)\n"
        "    return list(p), np.stack(list(p.values())), np.stack(list(q.values()))\n"
    )
    names, curved, flat = reference.call(source, payload)
    ours, _ = fit_poincare_embeddings(payload["edges"], epochs=0, dim=3, seed=7, ball=PoincareBall(4.0))
    ours_flat, _ = fit_euclidean_embeddings(payload["edges"], epochs=0, dim=3, seed=7)
    assert list(ours) == list(names)
    np.testing.assert_allclose(np.stack(list(ours.values())), curved, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.stack(list(ours_flat.values())), flat, rtol=0, atol=1e-9)


def quality(payload):
    """Mean MAP over the seeds, of embeddings learnt and evaluated by whichever package runs this."""
    import numpy as np

    from poincare_memory import (
        PoincareBall,
        fit_euclidean_embeddings,
        fit_poincare_embeddings,
        reconstruction,
    )

    ball = PoincareBall()
    found = []
    for seed in range(payload["seeds"]):
        if payload["euclidean"]:
            points, _ = fit_euclidean_embeddings(payload["closure"], seed=seed, **payload["settings"])
            result = reconstruction(points, payload["closure"], lambda x, y: np.linalg.norm(x - y, axis=-1))
        else:
            points, _ = fit_poincare_embeddings(payload["closure"], seed=seed, **payload["settings"])
            result = reconstruction(points, payload["closure"], ball.distance_arcosh)
        found.append([result.mean_average_precision, result.mean_rank])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("euclidean", [False, True], ids=["poincare", "euclidean"])
@pytest.mark.parametrize("turned", [False, True], ids=["descendants", "ancestors"])
def test_quality_is_at_least_the_same(reference: Reference, euclidean, turned):
    closure = random_closure(150, 5)
    payload = {
        "closure": [(v, u) for u, v in closure] if turned else closure,
        "seeds": 5,
        "euclidean": euclidean,
        "settings": {"dim": 5, "epochs": 60, "lr": 0.1 if euclidean else 0.3},
    }
    theirs, ours = reference.call(quality, payload), quality(payload)
    assert ours[0] > theirs[0] - 0.01


def evaluated(payload):
    from poincare_memory import PoincareBall, reconstruction

    ball = PoincareBall(payload["c"])
    points = dict(enumerate(payload["points"]))
    results = [
        reconstruction(points, payload["closure"], distance)
        for distance in (ball.distance, ball.distance_arcosh, lambda x, y: ((x - y) ** 2).sum(axis=-1))
    ]
    return [(r.mean_average_precision, r.mean_rank, r.n_queries) for r in results]


@pytest.mark.parametrize("c", [0.5, 1.0, 4.0])
def test_the_same_evaluation_where_nothing_ties(reference: Reference, c):
    rng = np.random.default_rng(2)
    points = PoincareBall(c).random_points(150, 6, 3.0, seed=3)
    closure = [(int(u), int(v)) for u, v in rng.integers(0, 150, (600, 2)) if u != v]
    closure += [(0, v) for v in range(1, 80)]
    payload = {"c": c, "points": points, "closure": closure}
    np.testing.assert_allclose(evaluated(payload), reference.call(evaluated, payload), rtol=1e-12)
