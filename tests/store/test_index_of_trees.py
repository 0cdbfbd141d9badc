"""An indexed search by true distance in a deep tree goes through the graph and answers like the exact scan."""

from __future__ import annotations

import numpy as np

from poincare_memory import CallableEmbedder, Memory


def test_indexed_search_in_a_tree_equals_the_scan() -> None:
    rng = np.random.default_rng(0)
    vectors = {str(i): rng.normal(size=16) for i in range(5020)}
    embedder = CallableEmbedder(lambda texts: np.stack([vectors[text] for text in texts]), 16)
    mem = Memory(embedder=embedder, metric="hyperbolic")
    mem.add_many(
        {"text": str(i), "id": str(i), "parent": None if i < 20 else str(rng.integers(0, i))}
        for i in range(5000)
    )
    mem.build_index("hnsw")
    for query in map(str, range(5000, 5020)):
        indexed, exact = (
            [(hit.id, hit.score) for hit in mem.search(query, k=10, use_index=use_index, touch=False)]
            for use_index in (True, False)
        )
        assert indexed == exact
    index = mem._store.index
    with mem._store.lock.read():
        assert index._graph_of("hyperbolic") is not None
