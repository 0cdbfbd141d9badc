"""Live memories for tests."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from poincare_memory import Memory
from store.table_embedder import CheapEmbedder

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def opened(path: Path, **more: Any) -> Memory:
    return Memory.open(path, embedder=CheapEmbedder(), clock=lambda: NOW, **more)


def filled(mem: Memory) -> Memory:
    mem.add_many(
        [
            {"text": "body", "id": "body", "meta": {"n": 1}},
            {"text": "leg", "id": "leg", "parent": "body", "t": NOW - timedelta(days=2)},
            {"text": "knee", "id": "knee", "parent": "leg", "valid_until": NOW},
            {"text": "arm", "id": "arm", "parent": "body"},
            {"text": "!!!", "id": "odd"},
        ]
    )
    return mem
