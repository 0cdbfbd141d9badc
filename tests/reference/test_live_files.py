"""The reference loads the file of a live store: closed, and while others have it open and write."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poincare_memory import HalfLife, HashingEmbedder, Memory
from reference.harness import Reference

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def view(payload):
    from datetime import datetime, timezone

    from poincare_memory import HashingEmbedder, Memory

    mem = Memory.load(payload["path"], embedder=HashingEmbedder(dim=32))
    records = {
        id: (
            mem.get(id).text,
            mem.get(id).meta,
            mem.get(id).t,
            mem.get(id).valid_until,
            mem.get(id).access_count,
            mem.parent(id),
            mem.depth(id),
            mem.point(id),
        )
        for id in mem.ids
    }
    noon = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    found = [(hit.id, hit.score) for hit in mem.search("heron by the lake", k=3, at_time=noon, touch=False)]
    return {"records": records, "found": found}


def written(path: Path, **options: Any) -> Memory:
    """A live store with a past of every kind of edit."""
    mem = Memory.open(
        path, embedder=HashingEmbedder(dim=32), decay=HalfLife(hours=12), time_coef=0.3, **options
    )
    mem.add("birds", id="birds", t=NOON - timedelta(days=2))
    mem.add("a heron by the lake", id="heron", parent="birds", t=NOON - timedelta(hours=5), meta={"legs": 2})
    mem.add_many(
        {"text": f"a bird numbered {i}", "id": f"b{i}", "parent": "birds", "t": NOON - timedelta(hours=i)}
        for i in range(6)
    )
    mem.add("fish", id="fish", t=NOON, valid_until=NOON + timedelta(days=1))
    mem.update("b1", text="a bird of another name", meta={"seen": "twice"})
    mem.link("fish", "b2")
    mem.remove("b3")
    with mem.transaction():
        mem.add("a pike", id="pike", parent="fish", t=NOON)
        mem.update("heron", meta={"legs": 1})
    return mem


def assert_same(seen: dict[str, Any], mem: Memory) -> None:
    assert list(seen["records"]) == mem.ids
    for id, record in seen["records"].items():
        ours = mem.get(id)
        assert record[:6] == (
            ours.text,
            ours.meta,
            ours.t,
            ours.valid_until,
            ours.access_count,
            mem.parent(id),
        )
        assert record[6] == pytest.approx(mem.depth(id), abs=1e-9)
        np.testing.assert_allclose(record[7], mem.point(id), atol=1e-12)
    hits = mem.search("heron by the lake", k=3, at_time=NOON, touch=False)
    assert [id for id, _ in seen["found"]] == [hit.id for hit in hits]
    np.testing.assert_allclose([score for _, score in seen["found"]], [hit.score for hit in hits], atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"history": True}, {"synchronous": "full"}], ids=str)
def test_a_closed_store(reference: Reference, tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "m.db"
    written(path, **options).close()
    seen = reference.call(view, {"path": str(path)})
    with Memory.open(path, embedder=HashingEmbedder(dim=32)) as mem:
        assert_same(seen, mem)


def test_while_it_is_open(reference: Reference, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with written(path) as mem:
        assert_same(reference.call(view, {"path": str(path)}), mem)
        mem.add("a tench", id="tench", parent="fish", t=NOON)
        assert "tench" in reference.call(view, {"path": str(path)})["records"]
