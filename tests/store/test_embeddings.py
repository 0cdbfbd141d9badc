"""float32 embeddings come back to the bit, although directions are what is kept of them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poincare_memory import Memory
from poincare_memory._core import _kernels
from store.drawn_changes import Float32Embedder, do, steps


def kept(mem: Memory) -> dict[str, bytes]:
    with mem._store.reading() as columns:
        rows = columns.live_rows()
        vectors = columns.embeddings(rows)
        return {columns.ids[row]: vector.tobytes() for row, vector in zip(rows, vectors, strict=True)}


def expected(mem: Memory) -> dict[str, bytes]:
    return {record.id: mem.embedder.embed([record.text])[0].tobytes() for record in mem}


def held(mem: Memory) -> int:
    return len(mem._store.columns._held)


@pytest.mark.parametrize("inherit", [0.0, 0.25, 0.6, 0.95, 1.0])
@pytest.mark.parametrize("cone_constrained", [False, True])
def test_every_bit_of_every_kind(inherit: float, cone_constrained: bool) -> None:
    mem = Memory(Float32Embedder(), inherit=inherit, cone_constrained=cone_constrained)
    mem.add_many(
        {"id": str(i), "text": f"t {i}", "parent": str((i - 1) // 3) if i % 5 else None} for i in range(200)
    )
    mem.add("alone 1001", parent="3")
    assert kept(mem) == expected(mem)


def test_ordinary_embeddings_take_no_room_of_their_own() -> None:
    mem = Memory(Float32Embedder())
    mem.add_many(
        {"id": str(i), "text": f"t {8 * i}", "parent": str(i // 2) if i else None} for i in range(500)
    )
    mem.add_many({"text": f"t {8 * i + 1}", "parent": "7"} for i in range(100))  # zeros among them
    assert kept(mem) == expected(mem)
    assert held(mem) == 0
    mem.link("7", "1")
    mem.update("1", text="t 80008")
    assert kept(mem) == expected(mem)
    assert held(mem) == 0


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=25))
def test_no_change_loses_a_bit(changes: list[Any]) -> None:
    mem = Memory(Float32Embedder())
    mem.add_many({"id": str(i), "text": f"t {i}", "parent": str(i - 1) if i % 4 else None} for i in range(8))
    learnt = set()
    for kind, id, text, other in changes:
        try:
            mem = do(mem, kind, id, text, other)
        except (KeyError, ValueError):
            continue
        if kind == "learn":
            learnt.add(id)
        now, wanted = kept(mem), expected(mem)
        for name in learnt:  # a learnt place of a text without embedding takes its place
            if name in now and not any(wanted[name]):
                now.pop(name), wanted.pop(name)
        assert now == wanted


def test_a_file_that_two_write(tmp_path: Path) -> None:
    one = Memory.open(tmp_path / "m.db", embedder=Float32Embedder())
    other = Memory.open(tmp_path / "m.db", embedder=Float32Embedder())
    one.add_many(
        {"id": str(i), "text": f"t {i}", "parent": str((i - 1) // 2) if i else None} for i in range(40)
    )
    assert kept(other) == expected(one)
    other.update("3", text="t 77")
    other.link("4", "2")
    other.remove("5", cascade=True)
    other.add("t 99", id="5", parent="1")
    assert kept(one) == expected(other) == kept(other)
    one.link("3", "5")
    one.update("0", text="t 16")
    assert kept(other) == expected(one) == kept(one)
    one.close(), other.close()
    again = Memory.open(tmp_path / "m.db", embedder=Float32Embedder())
    assert kept(again) == expected(again)
    again.save(tmp_path / "copy.db")
    again.close()
    loaded = Memory.load(tmp_path / "copy.db", embedder=Float32Embedder())
    assert kept(loaded) == expected(loaded)
    assert loaded._store.columns.embedding_dtype == np.float32


def test_float64_widens_what_was_folded_and_what_was_held() -> None:
    class Changing(Float32Embedder):
        dtype: Any = np.float32

        def embed(self, texts: list[str]) -> Any:
            return super().embed(texts).astype(self.dtype)

    mem = Memory(Changing())
    mem.add_many({"id": str(i), "text": f"t {i}", "parent": str(i // 2) if i else None} for i in range(30))
    mem.embedder.dtype = np.float64
    mem.update("4", text="t 9")
    mem.add("t 31", parent="4")
    assert kept(mem) == expected(mem)


@pytest.mark.parametrize("first", ["remove", "update above and remove", "remove everything"])
def test_float64_that_is_taken_back_leaves_what_was_removed_before_it(first: str) -> None:
    class Changing(Float32Embedder):
        dtype: Any = np.float32

        def embed(self, texts: list[str]) -> Any:
            return super().embed(texts).astype(self.dtype)

    mem = Memory(Changing(), inherit=0.6)
    mem.add_many({"id": str(i), "text": f"t {i}", "parent": str(i // 2) if i else None} for i in range(30))
    before = {id: np.frombuffer(bits, np.float32) for id, bits in kept(mem).items()}
    assert held(mem)
    with contextlib.suppress(ZeroDivisionError), mem.transaction():
        if first == "update above and remove":
            mem.update("1", text="t 50")
        mem.remove("0" if first == "remove everything" else "2", cascade=True)
        mem.embedder.dtype = np.float64
        mem.add("t 31", id="31")
        if first != "remove everything":
            mem.update("1", text="t 51")
        raise ZeroDivisionError
    after = {id: np.frombuffer(bits, np.float64) for id, bits in kept(mem).items()}
    assert after.keys() == before.keys()
    for id, embedding in before.items():
        assert after[id].tobytes() == embedding.astype(np.float64).tobytes(), id


def test_folding_is_exact_or_says_so() -> None:
    rng = np.random.default_rng(3)
    n, dim = 300, 40
    direction = rng.normal(size=(n, dim))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    parent = np.where(rng.random(n) < 0.3, -1, rng.integers(0, n, n)).astype(np.int32)
    own, above = np.empty(n), np.empty(n)
    rows = rng.permutation(n)[:250].astype(np.int32)
    embedding = (direction[rows] * 3 - 0.5 * direction[parent[rows]] * (parent[rows] >= 0)[:, None]).astype(
        np.float32
    )
    embedding[::7] = rng.normal(size=embedding[::7].shape)  # of no such kind
    flags = np.empty(len(rows), np.uint8)
    _kernels.fold_embeddings(embedding, direction, parent, own, above, rows, flags)
    out = np.empty_like(embedding)
    _kernels.unfold_embeddings(direction, parent, own, above, rows, out)
    assert flags[::7].all() and not flags.all()
    assert not out[flags == 1].any()
    assert out[flags == 0].tobytes() == embedding[flags == 0].tobytes()
    with pytest.raises(ValueError, match="one embedding"):
        _kernels.fold_embeddings(embedding[1:], direction, parent, own, above, rows, flags)
    with pytest.raises(ValueError, match="one row"):
        _kernels.unfold_embeddings(direction, parent, own, above, rows, out[1:])


def test_embeddings_folded_on_the_way_are_those_folded_after() -> None:
    random = np.random.default_rng(3)
    n, dim = 300, 24
    parent = np.array([-1, *(int(random.integers(i)) if i % 5 else -1 for i in range(1, n))], np.int32)
    embedding = random.normal(size=(n, dim)).astype(np.float32)
    embedding[7] = 0
    embedding[20:40, 3] = 1e-30  # lost among the others, so those below a parent must be kept
    rows = np.arange(n, dtype=np.int32)

    def placed(*folded: Any) -> Any:
        columns = np.zeros((n, dim)), np.zeros(n), np.zeros(n, np.int32), parent, np.zeros(n, np.uint8)
        _kernels.place_rows(
            embedding, *columns, rows, 1.0, 0.5, 0.25, 1.0, False, 0.1, 0, np.zeros(n, np.uint8), *folded
        )
        return columns[0]

    own, above, kept = np.ones(n), np.ones(n), np.full(n, 7, np.uint8)
    direction = placed(own, above, kept)
    np.testing.assert_array_equal(direction, placed())
    expected = np.ones(n), np.ones(n), np.full(n, 7, np.uint8)
    many = _kernels.fold_embeddings(embedding, direction, parent, *expected[:2], rows, expected[2])
    for got, wanted in zip((own, above, kept), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert 0 < many == kept.sum() < n
    with pytest.raises(ValueError, match="kept: expected one place a row"):
        placed(own, above, kept[1:])
