"""Vectors and payload in Parquet."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from optional import needs

needs("pyarrow")

import pyarrow.parquet as parquet  # noqa: E402

from poincare_memory import HashingEmbedder, Memory, to_mips_vectors  # noqa: E402
from poincare_memory.store import vectors  # noqa: E402

WHEN = datetime(2026, 5, 1, 12, tzinfo=timezone.utc)


def filled() -> Memory:
    mem = Memory(embedder=HashingEmbedder(dim=16), curvature=0.5)
    mem.add("Drinks", id="drinks", meta={"n": 1, "name": "ü"})
    mem.add("green tea", id="tea", parent="drinks", t=WHEN, valid_until=WHEN, pin=True)
    mem.add("sencha", id="sencha", parent="tea")
    mem.add("!!!", id="none")
    return mem


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_everything_is_there(tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "ROWS_AT_ONCE", at_once)
    mem = filled()
    mem.remove("sencha")
    mem.add("oolong", id="oolong", parent="tea")
    assert mem.export_vectors(tmp_path / "v.parquet") == 4
    table = parquet.read_table(tmp_path / "v.parquet")
    rows = table.to_pylist()
    assert [row["id"] for row in rows] == mem.ids
    for row, record in zip(rows, mem, strict=True):
        assert (row["text"], row["parent"], row["t"]) == (record.text, record.parent_id, record.t)
        assert (row["valid_until"], row["pinned"]) == (record.valid_until, record.pinned)
        assert json.loads(row["meta"]) == record.meta
        assert row["path"] == mem.path(record.id)
        assert (row["level"], row["radius"]) == (mem.level(record.id), mem.depth(record.id))
    lorentz = np.array([row["lorentz"] for row in rows])
    np.testing.assert_allclose(
        lorentz, to_mips_vectors(mem.ball.to_lorentz(mem.points)), rtol=1e-12, atol=1e-12
    )
    lengths = np.linalg.norm([row["direction"] for row in rows], axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 0, 1], atol=1e-6)


def test_an_exact_index_over_the_directions_finds_what_the_memory_finds(tmp_path: Path) -> None:
    mem = Memory(embedder=HashingEmbedder(dim=32))
    mem.add_many({"text": f"note {i} about {i % 7}", "id": str(i)} for i in range(200))
    mem.export_vectors(tmp_path / "v.parquet")
    directions = np.array(parquet.read_table(tmp_path / "v.parquet")["direction"].to_pylist())
    query = mem.embedder.embed(["note 5 about 3"])[0]
    order = np.argsort(-directions @ query, kind="stable")[:5]
    assert {str(i) for i in order} == {hit.id for hit in mem.search("note 5 about 3", k=5)}


def test_what_cannot_be_written_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    path.write_bytes(b"before")
    deep = Memory(embedder=HashingEmbedder(dim=16), base_depth=800.0)
    deep.add("deep", id="deep")
    with pytest.raises(ValueError, match="'deep' is 800 deep: its Lorentz vector is beyond float64"):
        deep.export_vectors(path)
    assert path.read_bytes() == b"before"
    assert Memory().export_vectors(path) == 0
    assert parquet.read_table(path).num_rows == 0
