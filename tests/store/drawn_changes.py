"""Changes of every kind, drawn at random, and vectors of odd kinds."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from hypothesis import strategies as st

from poincare_memory import Memory

DIM = 24


class Float32Embedder:
    """A vector of its own for every text, some of an odd kind."""

    dim = DIM

    def embed(self, texts: list[str]) -> Any:
        return np.stack([self.one(text) for text in texts])

    def one(self, text: str) -> Any:
        last = text.rpartition(" ")[2]
        seed = int(last) if last.isdigit() else len(text)
        vector = np.random.default_rng(seed).normal(size=DIM).astype(np.float32)
        kind = seed % 8
        if kind == 1:
            vector[::3] = 0
        elif kind == 2:
            vector[0] = 1e-12  # so much smaller than the rest that float64 does not hold both
        elif kind == 3:
            vector[1] = -0.0
        elif kind == 4:
            vector[:] = 0
        elif kind == 5:
            vector *= np.float32(1e-41)
        elif kind == 6:
            vector = Float32Embedder.one(self, "0")  # as another memory's
        return vector


names = st.integers(0, 11).map(str)
texts = st.integers(0, 60).map(lambda i: f"t {i}")
steps = st.one_of(
    st.tuples(st.just("add"), names, texts, st.none() | names),
    st.tuples(st.just("update"), names, texts, st.none()),
    st.tuples(st.just("link"), names, st.just(""), st.none() | names),
    st.tuples(st.just("remove"), names, st.just(""), st.none()),
    st.tuples(st.just("learn"), names, st.just(""), st.none() | names),
    st.tuples(st.just("fail"), names, texts, st.none() | names),
    st.tuples(st.just("compact"), st.just(""), st.just(""), st.none()),
    st.tuples(st.just("copy"), st.just(""), st.just(""), st.none()),
)


def do(mem: Memory, kind: str, id: str, text: str, other: str | None) -> Memory:
    if kind == "add":
        mem.add(text, id=id, parent=other)
    elif kind == "update":
        mem.update(id, text=text)
    elif kind == "link":
        mem.link(id, other)
    elif kind == "remove":
        mem.remove(id, cascade=True)
    elif kind == "learn":
        mem.place_learned({id: None if other is None else np.full(DIM, 0.01 * (int(other) + 1))})
    elif kind == "compact":
        mem.compact()
    elif kind == "copy":
        return copy.copy(mem)
    else:
        with mem.transaction():
            for part in ("link", "update", "learn", "remove"):
                do(mem, part, id, text, other)
            raise ValueError("taken back")
    return mem
