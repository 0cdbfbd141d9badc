"""A memory that nobody uses any more gives its room back at once, not when the garbage collector comes by."""

import gc
import weakref
from datetime import datetime, timezone

import pytest

from poincare_memory import Ebbinghaus, HashingEmbedder, Memory, Product, ValidityWindow

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


def filled(folder):
    memory = Memory(
        embedder=HashingEmbedder(dim=16), decay=Product(Ebbinghaus(), ValidityWindow()), clock=lambda: NOW
    )
    memory.add_many(
        [{"text": f"note {i}", "id": str(i), "parent": None if i < 5 else str(i % 5)} for i in range(300)]
    )
    return memory


def saved_and_loaded(folder):
    filled(folder).save(folder / "m.db")
    return Memory.load(folder / "m.db")


def searched(folder):
    memory = filled(folder)
    for mode in ("nearest", "cone", "subtree"):
        memory.search("note 3", k=3, mode=mode, root="3")
    return memory


def edited(folder):
    memory = filled(folder)
    with memory.transaction():
        memory.update("7", text="another", meta={"a": 1})
        memory.remove("4", cascade=True)
    memory.get("7").meta["b"] = 2
    return memory


def inspected(folder):
    memory = filled(folder)
    memory.stats()
    memory.to_json()
    memory.inspect()
    return memory


def live(folder):
    memory = Memory.open(folder / "live.db", embedder=HashingEmbedder(dim=16))
    memory.add("a", id="a")
    assert memory.search("a", k=1)
    return memory


@pytest.mark.parametrize("used", [filled, saved_and_loaded, searched, edited, inspected, live])
def test_columns_go_with_their_memory(tmp_path, no_collector, used):
    memory = used(tmp_path)
    columns = weakref.ref(memory._store.columns)
    record = memory.get(memory.ids[0])
    del memory
    assert columns() is not None
    assert record.text
    del record
    assert columns() is None
