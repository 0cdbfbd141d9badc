"""Small memories to look at."""

from __future__ import annotations

from poincare_memory import Memory

from .conftest import NOW


def small_forest() -> Memory:
    memory = Memory(clock=lambda: NOW)
    memory.add("alpha", id="a", t=NOW, meta={"kind": "plant", "size": 0})
    memory.add("beta", id="b", t=NOW, meta={"kind": "animal", "size": 1})
    for i in range(8):
        memory.add(f"leaf {i}", id=f"a{i}", parent="a", t=NOW, meta={"kind": "plant", "size": 2 + i})
    memory.add("calf", id="b0", parent="b", t=NOW)
    return memory
