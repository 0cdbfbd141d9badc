"""The reference reads learnt places out of our files: its points are the truth it knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from poincare_memory import Memory, sarkar_layout
from reference.harness import Reference

EDGES = [("animal", "dog"), ("animal", "cat"), ("dog", "poodle")]


def reference_view(payload):
    import numpy as np

    from poincare_memory import Memory

    class Ones:
        dim = 3

        def embed(self, texts):
            return np.ones((len(texts), 3))

    stores = [
        Memory.load(payload["path"], embedder=Ones()),
        Memory.from_json(payload["json"], embedder=Ones()),
    ]
    return [{id: (mem.depth(id), mem.point(id), mem.parent(id)) for id in mem.ids} for mem in stores]


def test_depths_and_points(reference: Reference, tmp_path: Path) -> None:
    mem = Memory.from_hierarchy(sarkar_layout(EDGES, dim=3), EDGES)
    mem.add("poodle puppy", id="puppy", parent="poodle")
    mem.save(tmp_path / "m.db")
    payload = {"path": str(tmp_path / "m.db"), "json": mem.to_json()}
    for seen in reference.call(reference_view, payload):
        assert list(seen) == mem.ids
        for id, (depth, point, parent) in seen.items():
            assert abs(depth - mem.depth(id)) < 1e-9 and parent == mem.parent(id)
            np.testing.assert_allclose(point, mem.point(id), atol=1e-12)
