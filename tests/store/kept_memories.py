"""Memories to keep in files, and whether two are the same."""

import json
import sqlite3
from datetime import datetime, timezone

from poincare_memory import (
    HashingEmbedder,
    Memory,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


DIM = 16


def filled(n=6, **settings_):
    memory = Memory(embedder=HashingEmbedder(dim=DIM), clock=lambda: NOW, **settings_)
    parent = None
    for i in range(n):
        parent = memory.add(
            f"node {i}", id=f"n{i}", parent=parent if i % 3 else None, meta={"i": i, "nested": [{"x": None}]}
        )
    return memory


def contents(memory):
    return [
        (r.id, r.text, r.parent_id, r.t, r.meta, r.valid_from, r.valid_until, r.access_count, r.last_accessed)
        for r in memory
    ]


def payload():
    return json.loads(filled(3).to_json())


def tamper(path, sql, *arguments):
    with sqlite3.connect(path) as connection:
        connection.execute(sql, arguments)
    connection.close()
