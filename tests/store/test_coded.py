"""A store's codes follow its directions through every kind of change."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import Memory
from poincare_memory._core import _kernels
from poincare_memory.store.coded import FEW, CodedRows
from poincare_memory.store.state import Store

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


def make() -> Memory:
    return Memory(clock=lambda: NOW)


def check(store: Store) -> None:
    columns = store.columns
    with store.lock.read():
        coded = store.coded.of(columns, 10**6)
        live = columns.live_rows()
    assert coded is not None
    wanted = CodedRows(np.zeros_like(coded.codes), np.zeros_like(coded.scale), np.zeros_like(coded.error))
    _kernels.encode_rows(columns.direction, live, *wanted)
    assert all(np.array_equal(coded[i][live], wanted[i][live]) for i in range(3))


def taken_back(memory: Memory, some: str, step: int) -> None:
    with memory.transaction():
        memory.add(f"undone {step}")
        memory.update(some, text=f"undone {step}")
        memory.remove(memory.ids[step % len(memory)], cascade=True)
        raise KeyboardInterrupt


def change(memory: Memory, rng: Any, step: int) -> None:
    ids = memory.ids
    some = str(rng.choice(ids)) if ids else None
    kind = int(rng.integers(0, 9))
    if kind == 0 or some is None:
        memory.add_many(
            [{"text": f"batch {step} {i}", "parent": some} for i in range(int(rng.integers(1, 40)))]
        )
    elif kind == 1:
        memory.add(f"one {step}", parent=some)
    elif kind == 2:
        memory.update(some, text=f"other {step}")
    elif kind == 3:
        memory.remove(some, cascade=True)
    elif kind == 4:
        above = str(rng.choice(ids))
        below = {result.id for result in memory.search(mode="subtree", root=some, k=10**6, touch=False)}
        if above not in below:
            memory.link(some, above)
    elif kind == 5:
        with pytest.raises(KeyboardInterrupt):
            taken_back(memory, some, step)
    elif kind == 6:
        memory.compact()
    elif kind == 7:
        place = rng.normal(size=memory.dim)
        memory.place_learned({some: None if rng.random() < 0.3 else place * 0.5 / np.linalg.norm(place)})
    else:
        for id in list(memory.ids)[: len(ids) // 2]:
            if id in memory:
                memory.remove(id, cascade=True)


@pytest.mark.parametrize("seed", range(4))
def test_codes_follow_every_change(seed: int) -> None:
    rng = np.random.default_rng(seed)
    memory = make()
    for step in range(80):
        change(memory, rng, step)
        if rng.random() < 0.7:
            check(memory._store)
    for id in list(memory.ids):
        if id in memory:
            memory.remove(id, cascade=True)
    check(memory._store)
    memory.add("after all are gone")
    check(memory._store)


@pytest.mark.parametrize("seed", range(2))
def test_codes_follow_what_another_wrote_into_the_file(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path / "memories.db"
    with Memory.open(path, clock=lambda: NOW) as one, Memory.open(path, clock=lambda: NOW) as other:
        for step in range(30):
            change(one, rng, step)
            if rng.random() < 0.6:
                assert other.search("other", k=1, touch=False) or not other.ids
                check(other._store)
                change(other, rng, 1000 + step)
            if rng.random() < 0.6:
                assert len(one) == len(other)
                check(one._store)


def test_copies_make_codes_of_their_own() -> None:
    memory = Memory()
    memory.add_many([{"text": f"memory {i}"} for i in range(50)])
    check(memory._store)
    for twin in (pickle.loads(pickle.dumps(memory)), copy.deepcopy(memory)):
        twin.add("only here")
        check(twin._store)
    check(memory._store)


def test_searches_with_and_without_codes_find_the_same() -> None:
    memory = make()
    memory.add_many([{"text": f"note {i % 97} about {i % 13} and {i}"} for i in range(2 * FEW)])
    whole = [(r.id, r.score) for r in memory.search("note about 7", k=len(memory), touch=False)]
    for k in (1, 5, 60):
        found = memory.search("note about 7", k=k, touch=False)
        assert [(r.id, r.score) for r in found] == whole[:k]


def test_a_search_among_few_does_not_encode_a_whole_store() -> None:
    memory = make()
    top = memory.add("top")
    memory.add_many([{"text": f"below {i}", "parent": top} for i in range(10)])
    memory.add_many([{"text": f"elsewhere {i}"} for i in range(2 * FEW)])
    columns, coded = memory._store.columns, memory._store.coded
    assert len(memory.search("below 3", mode="subtree", root=top)) == 5
    assert len(memory.search_many(["below 3", "below 4"], mode="subtree", root=top)[1]) == 5
    assert coded.of(columns, FEW - 1) is None
    memory.search("below 3")
    assert coded.of(columns, FEW - 1) is not None


@pytest.mark.parametrize("count", [300, 5_000, 40_000])
def test_codes_begin_at_a_cache_line(count: int) -> None:
    """A wide read of a row whose codes fill whole lines never takes two of them."""
    store = make()._store
    store.columns.reserve(count, np.dtype(np.float32))
    assert store.coded._up_to_date(store.columns).codes.ctypes.data % 64 == 0
