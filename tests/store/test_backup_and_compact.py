"""Copies of a store in use, and room given back."""

from __future__ import annotations

import os
import stat
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import Memory
from store.snapshots import contents, everything
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def opened(path: Path) -> Memory:
    return Memory.open(path, embedder=CheapEmbedder(), clock=lambda: NOW, busy_timeout=30)


def filled(mem: Memory, count: int = 300) -> Memory:
    mem.add_many(
        {
            "text": f"text {i} " + "long " * 20,
            "id": str(i),
            "parent": str(i // 7) if i else None,
            "pin": i % 5 == 0,
        }
        for i in range(count)
    )
    mem.link("8", "0")
    return mem


@pytest.mark.parametrize("live", [True, False])
def test_a_backup_is_a_store_of_its_own(tmp_path, live):
    mem = filled(opened(tmp_path / "m.db") if live else Memory(CheapEmbedder(), clock=lambda: NOW))
    mem.search("text 3")
    (tmp_path / "b.db").touch(mode=0o600)
    mem.backup(tmp_path / "b.db")
    assert stat.S_IMODE((tmp_path / "b.db").stat().st_mode) == 0o600
    want = contents(mem)
    mem.add("later", id="later")
    assert contents(Memory.load(tmp_path / "b.db", embedder=CheapEmbedder(), clock=lambda: NOW)) == want
    with opened(tmp_path / "b.db") as copy:
        assert contents(copy) == want
        copy.add("only there", id="there")
    assert "there" not in mem
    mem.backup(tmp_path / "b.db")
    assert "later" in Memory.load(tmp_path / "b.db", embedder=CheapEmbedder())
    mem.close()


def test_a_backup_never_takes_the_place_of_something_else(tmp_path):
    mem = filled(opened(tmp_path / "m.db"), 9)
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(ValueError, match="not replaced"):
        mem.backup(tmp_path / "notes")
    with pytest.raises(ValueError, match="another file"):
        mem.backup(tmp_path / "m.db")
    assert (tmp_path / "notes").read_text() == "mine"
    mem.close()


def test_backups_while_others_write_are_whole(tmp_path):
    mem = opened(tmp_path / "m.db")
    over = threading.Event()

    def write(name: str) -> None:
        n = 0
        while not over.is_set():
            with mem.transaction():
                first = mem.add(f"{name} {n}", id=f"{name}{n}")
                mem.add("child", parent=first)
            n += 1

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    counts = []
    for i in range(8):
        mem.backup(tmp_path / f"b{i}.db")
        copy = Memory.load(tmp_path / f"b{i}.db", embedder=CheapEmbedder())
        assert all(len(copy.children(root)) == 1 for root in copy.roots())
        counts.append(len(copy))
    over.set()
    for thread in threads:
        thread.join()
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]
    mem.close()


@pytest.mark.parametrize("live", [True, False])
def test_compacting_changes_nothing_but_the_room(tmp_path, live):
    mem = filled(opened(tmp_path / "m.db") if live else Memory(CheapEmbedder(), clock=lambda: NOW), 3000)
    mem.build_index("hnsw")
    records = [mem.get(str(i)) for i in range(0, 3000, 7)]
    for i in range(2999, 400, -1):
        mem.remove(str(i))
    big = os.path.getsize(tmp_path / "m.db") + os.path.getsize(tmp_path / "m.db-wal") if live else 0
    hits = [hit.id for hit in mem.search("text 17", use_index=True, touch=False)]
    before, seen = everything(mem), [repr(record) for record in records]
    mem.compact()
    assert everything(mem) == before
    assert [repr(record) for record in records] == seen
    assert mem._store.columns.capacity == 401
    if live:
        small = os.path.getsize(tmp_path / "m.db") + os.path.getsize(tmp_path / "m.db-wal")
        assert small < big / 3
    assert [hit.id for hit in mem.search("text 17", use_index=True)] == hits
    records[0].meta = {"still": "live"}
    mem.add("more", id="more", parent="3")
    mem.remove("399")
    assert mem.get("0").meta == {"still": "live"}
    with pytest.raises(RuntimeError, match="transaction"), mem.transaction():
        mem.compact()
    want = contents(mem)
    mem.compact()
    assert contents(mem) == want
    mem.remove("0", cascade=True)
    for id in mem.ids:
        if id in mem:
            mem.remove(id, cascade=True)
    mem.compact()
    mem.add("again", id="again")
    assert mem.ids == ["again"]
    mem.close()


def test_searches_under_way_find_their_memories_again():
    mem = filled(Memory(CheapEmbedder(), clock=lambda: NOW), 60)

    def slow(record: Any) -> bool:
        if record.id == "40":
            mem.remove("3", cascade=True)
            mem.compact()
        return int(record.id) % 2 == 1

    hits = mem.search("text 9", k=99, filters=slow)
    left = [id for id in mem.ids if int(id) % 2]
    assert sorted(hit.id for hit in hits) == sorted(left)
    assert all(mem.get(id).access_count == 1 for id in left)
    assert all(np.isclose(hit.depth, mem.depth(hit.id)) for hit in hits)


def test_an_update_under_way_finds_its_memory_again():
    mem = filled(Memory(CheapEmbedder(), clock=lambda: NOW), 20)

    class Compacting(CheapEmbedder):
        def embed(self, texts: Any) -> Any:
            if "new" in texts and "1" in mem:
                mem.remove("1", cascade=True)
                mem.compact()
            return super().embed(texts)

    mem.embedder = Compacting()
    mem.update("19", text="new")
    assert mem.get("19").text == "new"
    assert mem.get("18").text.startswith("text 18")
