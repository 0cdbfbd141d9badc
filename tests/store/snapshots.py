"""Everything a store holds, as values that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from poincare_memory import Memory
from poincare_memory.store.columns import SCALARS, VECTORS

LINKS = ("parent", "first_child", "last_child", "next_sibling", "prev_sibling")
ROW_NUMBERS = (*LINKS, "changed_at", "order", "attached")
WEIGHTS = ("own", "above")  # how an embedding is kept, which may be one way or another

FIELDS = [name for name in SCALARS if name not in (*ROW_NUMBERS, *WEIGHTS)]


def everything(mem: Memory) -> Any:
    """All fields of all memories, bit by bit, in order; the tree by names, from both ends."""
    columns = mem._store.columns
    with mem._store.reading():
        rows = columns.live_rows()
        assert list(columns.row_of.values()) == rows.tolist()
        assert columns.n == len(rows) == len(mem.ids)
        memories = []
        for row in rows.tolist():
            values = {name: getattr(columns, name)[row].item() for name in FIELDS}
            vectors = [getattr(columns, name)[row].tolist() for name in VECTORS]
            links = {name: name_of(columns, int(getattr(columns, name)[row])) for name in LINKS}
            names = (columns.ids[row], columns.texts[row], dict(columns.metas[row] or {}))
            memories.append((names, values, vectors, embedding_of(columns, row).tolist(), links))
        return memories, mem.tree()


def embedding_of(columns: Any, row: int) -> Any:
    return columns.embeddings(np.array([row], np.int32))[0]


def name_of(columns: Any, row: int) -> str | None:
    return columns.ids[row] if row >= 0 else None


def contents(mem: Memory) -> Any:
    """What a file keeps of every memory, and the tree with its order of siblings."""
    return mem.table(), mem.tree(), mem.ids, [repr(record) for record in mem]
