"""LearnedEmbedder: names, unknown texts, and points it cannot take."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from poincare_memory import CallableEmbedder, HashingEmbedder
from poincare_memory.embed import Embedder, LearnedEmbedder
from poincare_memory.hierarchy import sarkar_layout

POINTS = {"animal": [0.0, 0.0], "dog": [0.5, 0.0], "cat": [0.0, 0.25], "poodle": [0.7, 0.1]}


def test_a_name_gets_the_direction_of_its_node():
    embedder = LearnedEmbedder(POINTS)
    assert isinstance(embedder, Embedder) and embedder.dim == 2
    found = embedder.embed(["dog", " DOG\t", "poodle", "animal"])
    np.testing.assert_allclose(found[:2], [[1, 0], [1, 0]])
    np.testing.assert_allclose(found[2], np.array([0.7, 0.1]) / np.hypot(0.7, 0.1), rtol=1e-15)
    assert not found[3].any()
    assert embedder.embed([]).shape == (0, 2)


def test_nodes_that_share_a_name_give_their_mean():
    points = {1: [0.5, 0.0], 2: [0.0, 0.5], 3: [0.1, 0.1]}
    embedder = LearnedEmbedder(points, {1: "bank", 2: "Bank"})
    np.testing.assert_allclose(embedder.embed(["bank", "3"]), [[0.5**0.5, 0.5**0.5]] * 2)
    opposite = LearnedEmbedder({1: [0.5, 0.0], 2: [-0.5, 0.0]}, {1: "bank", 2: "bank"})
    assert not opposite.embed(["bank"]).any()


def test_other_texts_lie_among_similar_ones():
    vectors = {"dog": [1, 0, 0], "cat": [0, 1, 0], "animal": [0, 0, 1], "poodle": [0.9, 0.1, 0]}
    seen = []

    def embed(texts):
        seen.extend(texts)
        return [vectors.get(text, [1, 0.2, 0] if "hound" in text else [0, 0, 0]) for text in texts]

    embedder = LearnedEmbedder(POINTS, base=CallableEmbedder(embed, 3), neighbours=2)
    embedder.embed(["dog"])
    assert not seen  # names need no base
    hound, noise = embedder.embed(["hound", "?"])
    cosines = np.array([1, np.hypot(0.9, 0.1) ** -1 * 0.92]) / np.hypot(1, 0.2)
    weights = np.exp((cosines - cosines.max()) / 0.02)
    mean = weights @ embedder.embed(["dog", "poodle"])
    np.testing.assert_allclose(hound, mean / np.linalg.norm(mean), atol=1e-5)
    assert not noise.any()
    embedder.embed(["hound"])
    assert seen.count("dog") == 1  # the known texts are embedded once


def test_the_answer_does_not_depend_on_company():
    points = sarkar_layout([((i - 1) // 3, i) for i in range(1, 200)], dim=4, precision="double-double")
    texts = {i: f"thing number {i}" for i in range(200)}
    embedder = LearnedEmbedder(points, texts, HashingEmbedder(dim=64))
    queries = [f"a thing with {i}" for i in range(20)]
    together = embedder.embed(queries)
    assert np.array_equal(np.concatenate([embedder.embed([q]) for q in queries]), together)
    for other in (pickle.loads(pickle.dumps(embedder)), copy.deepcopy(embedder)):
        assert np.array_equal(other.embed(queries), together)
    assert repr(embedder).startswith("LearnedEmbedder(200 points, dim=4, base=HashingEmbedder(")


def test_bad_arguments():
    for points in ({}, {"a": [np.nan]}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": 0.5}, {"a": []}):
        with pytest.raises(ValueError, match="points"):
            LearnedEmbedder(points)
    with pytest.raises(TypeError, match="mapping"):
        LearnedEmbedder([[0.5]])
    with pytest.raises(ValueError, match="neighbours"):
        LearnedEmbedder(POINTS, neighbours=0)
    with pytest.raises(TypeError, match="embedder"):
        LearnedEmbedder(POINTS, base=len)
    with pytest.raises(TypeError, match=r"texts\[1\]"):
        LearnedEmbedder(POINTS, {"dog": 3})
    with pytest.raises(TypeError, match="one str"):
        LearnedEmbedder(POINTS).embed("dog")
