"""Learnt and laid-out places in a memory: searched, kept in every file, and the ground for what comes below."""

from __future__ import annotations

import contextlib
import copy
import pickle
import sqlite3
from datetime import datetime, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import CallableEmbedder, Memory, PoincareBall, cone_energy, fit_poincare_embeddings
from poincare_memory.embed import LearnedEmbedder
from poincare_memory.hierarchy import children_map, sarkar_layout, transitive_closure
from store.snapshots import everything

EDGES = [("animal", "dog"), ("animal", "cat"), ("dog", "poodle"), ("dog", "corgi"), ("cat", "siamese")]


def learnt(curvature=1.0, **settings):
    points = sarkar_layout(EDGES, PoincareBall(curvature), dim=3, tau=1.3)
    return points, Memory.from_hierarchy(points, EDGES, curvature=curvature, metric="hyperbolic", **settings)


@pytest.mark.parametrize("curvature", [0.5, 1.0, 4.0])
def test_every_node_is_where_it_was(curvature):
    points, mem = learnt(curvature)
    ball = PoincareBall(curvature)
    assert mem.ids == ["animal", "dog", "cat", "poodle", "corgi", "siamese"]
    for node, point in points.items():
        np.testing.assert_allclose(mem.point(node), point, atol=1e-14)
        assert mem.depth(node) == pytest.approx(float(ball.distance_to_origin(point)), abs=1e-12)
    for parent, child in EDGES:
        assert mem.parent(child) == parent and child in mem.children(parent)
    assert mem.level("poodle") == 2
    for node in ("dog", "siamese"):  # the distances of the layout, to the last rank
        hits = mem.search(node, k=6, query_depth=mem.depth(node))
        wanted = sorted(points, key=lambda other: float(ball.distance(points[node], points[other])))
        assert hits[0].id == node and {h.id for h in hits} == set(wanted)
        for hit in hits:
            assert hit.distance == pytest.approx(float(ball.distance(points[node], points[hit.id])), abs=1e-7)


def test_queries_begin_amid_the_points():
    points, mem = learnt()
    radii = [float(PoincareBall().distance_to_origin(point)) for point in points.values()]
    assert mem.base_depth == pytest.approx(np.median(radii))
    assert mem.search("poodle", k=1)[0].id == "poodle"
    assert learnt(base_depth=0.25)[1].base_depth == 0.25
    assert Memory.from_hierarchy({"a": [0.0, 0.0]}, []).base_depth == 1.0
    precise = sarkar_layout(EDGES, PoincareBall(2.0), precision="double-double")
    assert Memory.from_hierarchy(precise, EDGES).ball.c == 2.0
    with pytest.raises(ValueError, match="curvature"):
        Memory.from_hierarchy(points, EDGES, curvature=-1.0)


def test_modes_follow_edges_and_cones_follow_points():
    points, mem = learnt()
    assert {hit.id for hit in mem.search(mode="subtree", root="dog", k=9)} == {"dog", "poodle", "corgi"}
    assert {hit.id for hit in mem.search("cat", mode="children", root="animal", k=9)} == {"dog", "cat"}
    assert [hit.id for hit in mem.search(mode="ancestors", root="corgi", k=9)] == ["dog", "animal"]
    ball = PoincareBall()
    inside = {
        n for n in points if n != "dog" and float(cone_energy(points["dog"], points[n], ball, 0.1)) <= 1e-9
    }
    assert {hit.id for hit in mem.search(mode="cone", root="dog", k=9)} == inside


def test_a_trained_taxonomy_is_searched():
    edges = [((i - 1) // 3, i) for i in range(1, 40)]
    closure = transitive_closure(children_map(edges)[0], 0)
    points, _ = fit_poincare_embeddings(closure, dim=5, epochs=30, seed=1)
    mem = Memory.from_hierarchy(points, edges, {i: f"node {i}" for i in range(40)}, metric="hyperbolic")
    ball = PoincareBall()
    for i in (0, 7, 39):
        hits = mem.search(f"node {i}", k=5, query_depth=mem.depth(str(i)))
        wanted = sorted(float(ball.distance(points[i], points[j])) for j in points)[:5]
        np.testing.assert_allclose([hit.distance for hit in hits], wanted, atol=1e-6)


def test_children_of_learnt_nodes_are_placed_from_there():
    _, mem = learnt()
    mem.add("poodle puppy", id="puppy", parent="poodle")
    mem.add("black poodle puppy", id="black", parent="puppy")
    assert mem.depth("puppy") == mem.depth("poodle") + mem.depth_step
    assert mem.depth("black") == mem.depth("poodle") + mem.depth_step + mem.depth_step
    assert mem.search("poodle", query_depth=mem.depth("poodle"), mode="subtree", root="dog")[0].id == "poodle"
    mem.add("fish", id="fish")
    assert mem.depth("fish") == mem.base_depth and mem.level("fish") == 0
    mem.link("fish", "animal")
    assert mem.depth("fish") == mem.depth("animal") + mem.depth_step
    mem.link("black", None)
    assert mem.depth("black") == mem.base_depth
    before = mem.point("corgi")
    mem.link("corgi", "cat")
    mem.update("corgi", text="corgi: a small dog")
    assert np.array_equal(mem.point("corgi"), before) and mem.level("corgi") == 2
    mem.remove("dog", cascade=True)
    assert mem.ids == ["animal", "cat", "corgi", "siamese", "black", "fish"]


def test_places_can_be_learnt_anew_and_given_up():
    points, mem = learnt(base_depth=1.0)
    mem.add("poodle puppy", id="puppy", parent="poodle")
    plain = Memory(embedder=mem.embedder)
    plain.add_many({"text": r.text, "id": r.id, "parent": r.parent_id} for r in mem)
    mem.place_learned({"poodle": [0.9, 0.0, 0.0], "cat": None})
    np.testing.assert_allclose(mem.point("poodle"), [0.9, 0.0, 0.0], atol=1e-15)
    assert mem.depth("puppy") == pytest.approx(2 * np.arctanh(0.9) + 0.5)
    assert mem.depth("cat") == mem.depth("animal") + mem.depth_step  # the animal's place is still learnt
    mem.place_learned(dict.fromkeys(points))
    for id in plain.ids:
        assert mem.depth(id) == plain.depth(id)
        assert np.array_equal(mem.point(id), plain.point(id))
    mem.place_learned({})


def test_nothing_moves_where_something_is_wrong():
    _, mem = learnt()
    before = everything(mem)
    right = [0.1, 0.2, 0.3]
    for wrong, error in (
        ({"dog": right, "wolf": right}, KeyError),
        ({"dog": right, "cat": [1.0, 0.0, 0.0]}, ValueError),
        ({"dog": right, "cat": [np.nan, 0.0, 0.0]}, ValueError),
        ({"dog": [0.1, 0.2]}, ValueError),
        ({"dog": right, "cat": [0.1, 0.2]}, ValueError),
        ({"wolf": None}, KeyError),
        (sarkar_layout(EDGES, PoincareBall(2.0), dim=3, precision="double-double"), ValueError),
        ([("dog", right)], (TypeError, AttributeError)),
    ):
        with pytest.raises(error):
            mem.place_learned(wrong)
        assert everything(mem) == before
    with pytest.raises(ValueError, match="LearnedEmbedder"):
        mem.place_learned({"dog": [0.1, 0.2]})
    with contextlib.suppress(RuntimeError), mem.transaction():
        mem.place_learned({"dog": right, "cat": None})
        assert mem.point("dog")[0] == pytest.approx(0.1)
        raise RuntimeError
    assert everything(mem) == before


def test_hierarchies_that_cannot_be_a_memory():
    points = {"a": [0.1, 0.2], "b": [0.1, 0.2], "c": [0.1, 0.2]}
    with pytest.raises(KeyError, match="'z'"):
        Memory.from_hierarchy(points, [("a", "z")])
    with pytest.raises(ValueError, match="two parents"):
        Memory.from_hierarchy(points, [("a", "b"), ("c", "b")])
    with pytest.raises(ValueError, match="share an id"):
        Memory.from_hierarchy({1: [0.1], "1": [0.2]}, [])
    with pytest.raises(ValueError, match="inside"):
        Memory.from_hierarchy({"a": [0.9, 0.9]}, [])
    with pytest.raises(ValueError, match="inside"):
        Memory.from_hierarchy({"a": [0.5, 0.5]}, [], curvature=4.0)
    loose = Memory.from_hierarchy(points, [("a", "b")])
    assert loose.roots() == ["a", "c"]


def same(mem, other):
    assert other.ids == mem.ids
    for id in mem.ids:
        assert other.depth(id) == pytest.approx(mem.depth(id), rel=1e-15)
        assert other.level(id) == mem.level(id)
        np.testing.assert_allclose(other.point(id), mem.point(id), atol=1e-15)
    for query in ("poodle", "black poodle puppy"):
        ours, theirs = (m.search(query, k=9, touch=False) for m in (mem, other))
        assert [hit.id for hit in ours] == [hit.id for hit in theirs]
        np.testing.assert_allclose([h.score for h in ours], [h.score for h in theirs], atol=1e-9)


def grown():
    _, mem = learnt()
    mem.add("poodle puppy", id="puppy", parent="poodle")
    mem.add("black poodle puppy", id="black", parent="puppy")
    mem.add("fish", id="fish")
    mem.link("siamese", "fish")
    return mem


def test_files_and_copies_keep_places(tmp_path):
    mem = grown()
    mem.save(tmp_path / "m.db")
    same(mem, Memory.load(tmp_path / "m.db", embedder=mem.embedder))
    same(mem, Memory.from_json(mem.to_json(), embedder=mem.embedder))
    same(mem, pickle.loads(pickle.dumps(mem)))
    same(mem, copy.deepcopy(mem))
    again = Memory.load(tmp_path / "m.db", embedder=mem.embedder)
    again.add("puppy of a puppy", id="third", parent="black")
    assert again.depth("third") == again.depth("black") + again.depth_step
    again.link("poodle", "cat")
    np.testing.assert_allclose(again.point("poodle"), mem.point("poodle"), atol=1e-15)


def test_deep_places_outlive_a_file(tmp_path):
    """Where float64 has no ball points: the depth is kept beside the record, the direction in it."""
    chain = [(str(i), str(i + 1)) for i in range(45)]
    layout = sarkar_layout(chain, dim=2, precision="double-double")
    mem = Memory.from_hierarchy(layout, chain)
    mem.save(tmp_path / "deep.db")
    other = Memory.load(tmp_path / "deep.db", embedder=mem.embedder)
    for i in range(46):
        assert other.depth(str(i)) == mem.depth(str(i)) == layout.radius[layout.rows([str(i)])[0]]
    assert mem.depth("45") == pytest.approx(45)


def test_a_live_file_keeps_places_and_tells_others(tmp_path):
    points = sarkar_layout(EDGES, dim=3, tau=1.3)
    embedder = LearnedEmbedder(points)
    with Memory.open(tmp_path / "live.db", embedder=embedder, history=True) as mem:
        items = Memory.from_hierarchy(points, EDGES)
        mem.add_many({"text": r.text, "id": r.id, "parent": r.parent_id} for r in items)
        mem.add("poodle puppy", id="puppy", parent="poodle")
        with Memory.open(tmp_path / "live.db", embedder=embedder) as other:
            mem.place_learned(points)
            same(mem, other)
            other.place_learned({"animal": [0.1, 0.1, 0.1], "poodle": None})
            same(mem, other)
            other.link("puppy", "cat")
            other.add("kitten", id="kitten", parent="siamese")
            same(mem, other)
            with contextlib.suppress(RuntimeError), mem.transaction():
                mem.place_learned({"kitten": [0.0, 0.5, 0.5]})
                raise RuntimeError
            same(mem, other)
            mem.place_learned({"animal": None, "poodle": points["poodle"]})
            same(mem, other)
        kept = {id: (mem.depth(id), mem.point(id)) for id in mem.ids}
        mem.compact()
    with Memory.open(tmp_path / "live.db", embedder=embedder) as mem:
        for id, (depth, point) in kept.items():
            assert mem.depth(id) == pytest.approx(depth, rel=1e-15)
            np.testing.assert_allclose(mem.point(id), point, atol=1e-15)


def test_the_past_has_the_places_of_then(tmp_path):
    moments = iter(datetime(2026, 1, day, tzinfo=timezone.utc) for day in range(1, 29))
    points = {"a": [0.5, 0.0], "b": [0.0, 0.5]}
    with Memory.open(
        tmp_path / "m.db", embedder=LearnedEmbedder(points), history=True, clock=lambda: next(moments)
    ) as mem:
        mem.add("a", id="a")
        mem.add("b", id="b", parent="a")
        before = mem.depth("b")
        then = mem.get("b").recorded_at
        mem.place_learned(points)
        later = mem.get("b").recorded_at
        assert later == then and mem.depth("b") == pytest.approx(2 * np.arctanh(0.5))
        now = {hit.id: hit.depth for hit in mem.search("a", k=2, touch=False)}
        assert now["b"] == mem.depth("b")
        past = {hit.id: hit.depth for hit in mem.search("a", k=2, touch=False, as_of=then)}
        assert past["b"] == before


def test_another_embedder_leaves_learnt_places(tmp_path):
    points = {"a": [0.5, 0.0], "b": [0.0, 0.5]}
    first = CallableEmbedder(lambda texts: [[1.0, 1.0]] * len(texts), 2)
    with Memory.open(tmp_path / "m.db", embedder=first) as mem:
        mem.add_many([{"text": "a", "id": "a"}, {"text": "b", "id": "b", "parent": "a"}])
        mem.place_learned({"a": points["a"]})
    second = CallableEmbedder(lambda texts: [[0.0, -1.0]] * len(texts), 2)
    with Memory.open(tmp_path / "m.db", embedder=second, reembed=True) as mem:
        np.testing.assert_allclose(mem.point("a"), points["a"], atol=1e-15)
        assert mem.depth("b") == pytest.approx(mem.depth("a") + 0.5)
    wider = CallableEmbedder(lambda texts: [[0.0, -1.0, 0.0]] * len(texts), 3)
    with pytest.raises(ValueError, match="learnt in 2 dimensions"):
        Memory.open(tmp_path / "m.db", embedder=wider, reembed=True).close()


def test_texts_without_embedding_keep_learnt_directions(tmp_path):
    mem = Memory(embedder=CallableEmbedder(lambda texts: [[0.0, 0.0]] * len(texts), 2))
    mem.add("!!!", id="x")
    mem.add("???", id="root")
    mem.place_learned({"x": [0.3, 0.4], "root": [0.0, 0.0]})
    mem.save(tmp_path / "m.db")
    for other in (mem, Memory.load(tmp_path / "m.db", embedder=mem.embedder)):
        np.testing.assert_allclose(other.point("x"), [0.3, 0.4], atol=1e-15)
        assert other.depth("root") == 0 and not other.point("root").any()
        assert len(other.search("anything", k=2, metric="hyperbolic")) == 2


@pytest.mark.parametrize("depth", ["deep", -1.0, True, 1e101])
def test_a_depth_in_a_file_is_checked(tmp_path, depth):
    _, mem = learnt()
    text = mem.to_json().replace(
        '"learned_depth": 0.0', f'"learned_depth": {str(depth).lower() if depth is True else repr(depth)}'
    )
    text = text.replace("'", '"')
    with pytest.raises(ValueError, match=r"record 0 \('animal'\): learned_depth"):
        Memory.from_json(text, embedder=mem.embedder)


def test_a_depth_follows_its_record_only(tmp_path):
    """Another program edits the text: what was kept beside the old one no longer counts."""
    _, mem = learnt()
    mem.save(tmp_path / "m.db")
    with sqlite3.connect(tmp_path / "m.db") as connection:
        connection.execute("UPDATE records SET text = 'a hound' WHERE id = 'dog'")
    connection.close()
    other = Memory.load(tmp_path / "m.db", embedder=mem.embedder)
    assert other.depth("dog") == other.depth("animal") + other.depth_step
    assert other.depth("poodle") == mem.depth("poodle")


@settings(max_examples=40)
@given(st.data())
def test_radii_are_those_of_the_nearest_learnt_ancestor(tmp_path_factory, data):
    """Any mixture of learnt and ordinary memories, moved about, against a walk up the tree; and after a load."""
    mem = Memory(embedder=CallableEmbedder(lambda texts: [[float(len(t)), 1.0] for t in texts], 2))
    depths: dict[str, float] = {}
    for step in range(data.draw(st.integers(1, 25))):
        ids = mem.ids
        what = data.draw(st.sampled_from(["add", "learn", "forget", "link"])) if ids else "add"
        some = data.draw(st.sampled_from([None, *ids]))
        if what == "add":
            mem.add("x" * (step + 1), id=str(step), parent=some)
        elif what == "link" and some is not None:
            target = data.draw(st.sampled_from([None, *ids]))
            if target is None or (target != some and some not in mem.ancestors(target)):
                mem.link(some, target)
        elif some is not None:
            radius = data.draw(st.floats(0.0, 0.9))
            chosen = data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
            mem.place_learned({id: [radius, 0.0] if what == "learn" else None for id in chosen})
            for id in chosen:
                depths.pop(id, None)
                if what == "learn":
                    depths[id] = 2 * np.arctanh(radius)
    loaded = Memory.from_json(mem.to_json(), embedder=mem.embedder)
    for id in mem.ids:
        chain = [id, *mem.ancestors(id)]
        known = next((i for i, above in enumerate(chain) if above in depths), None)
        wanted = mem.base_depth + 0.5 * mem.level(id) if known is None else depths[chain[known]] + 0.5 * known
        assert mem.depth(id) == pytest.approx(wanted, abs=1e-12)
        assert loaded.depth(id) == pytest.approx(wanted, abs=1e-12)
        np.testing.assert_allclose(loaded.point(id), mem.point(id), atol=1e-12)
