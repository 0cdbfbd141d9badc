"""Random edits of a live store, told before they are made and acknowledged after; and what a store holds, to compare.

`live_child` runs in a process of its own, which its parent kills.
"""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from poincare_memory import HashingEmbedder, Memory

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
DIM = 16
MOST = 60  # memories; beyond, the next edit removes some

Operation = dict[str, Any]
State = dict[str, Any]


def new_memory() -> Memory:
    return Memory(embedder=HashingEmbedder(dim=DIM), clock=lambda: NOW)


def open_memory(path: Any, **options: Any) -> Memory:
    return Memory.open(path, embedder=HashingEmbedder(dim=DIM), clock=lambda: NOW, **options)


def load_memory(path: Any) -> Memory:
    return Memory.load(path, embedder=HashingEmbedder(dim=DIM), clock=lambda: NOW)


def state_of(memory: Memory) -> State:
    """All that a user can see, but for accesses (they may wait) and vectors (see `assert_same_vectors`)."""
    ids = memory.ids
    records = [memory.get(id) for id in ids]
    return {
        "ids": ids,
        "records": [(r.text, r.parent_id, r.t, r.valid_from, r.valid_until, r.meta) for r in records],
        "children": {id: memory.children(id) for id in ids},
        "depths": [memory.depth(id) for id in ids],
        "roots": memory.roots(),
        "time_coef": memory.time_coef,
    }


def assert_same_vectors(one: Memory, other: Memory) -> None:
    """Points and embeddings, and that no embedding is that of another text."""
    np.testing.assert_allclose(one.points, other.points, rtol=0, atol=1e-12)
    columns = one._store.columns
    rows = columns.live_rows()
    if len(rows):
        fresh = HashingEmbedder(dim=DIM).embed([columns.texts[row] for row in rows])
        np.testing.assert_allclose(columns.embeddings(rows), fresh, rtol=0, atol=1e-6)


def draw_operation(draw: random.Random, ids: list[str], serial: int) -> Operation:
    """An edit that is allowed for a store with these ids; `serial` makes new ids and texts unique."""
    if len(ids) > MOST:
        return {"do": "remove", "id": draw.choice(ids[: MOST // 2]), "cascade": True}
    if not ids:
        return _add(draw, ids, serial)
    kind = draw.choice(("add", "add", "add_many", "update", "update", "link", "remove", "together", "set"))
    if kind == "add":
        return _add(draw, ids, serial)
    if kind == "add_many":
        first = {"text": f"first of {serial}", "id": f"{serial}-first", "parent": draw.choice([None, *ids])}
        rest = [
            {"text": f"{i} below {serial}", "id": f"{serial}-{i}", "parent": first["id"]} for i in range(4)
        ]
        return {"do": "add_many", "items": [first, *rest]}
    if kind == "update":
        changes = {"text": f"text {serial}", "meta": {"serial": serial}, "t": serial}
        chosen = draw.sample(sorted(changes), draw.randint(1, 3))
        return {"do": "update", "id": draw.choice(ids), "changes": {name: changes[name] for name in chosen}}
    if kind == "link":
        return {"do": "link", "id": draw.choice(ids), "parent": draw.choice([None, *ids])}
    if kind == "remove":
        return {"do": "remove", "id": draw.choice(ids), "cascade": True}
    if kind == "set":
        return {"do": "set", "time_coef": draw.random()}
    parts = [
        _add(draw, ids, serial),
        {"do": "update", "id": f"{serial}", "changes": {"text": f"anew {serial}"}},
    ]
    victim = draw.choice(ids)
    parts.append({"do": "link", "id": f"{serial}", "parent": draw.choice(ids)})
    parts.append({"do": "remove", "id": victim, "cascade": True})
    return {"do": "together", "parts": parts}


def _add(draw: random.Random, ids: list[str], serial: int) -> Operation:
    parent = draw.choice([None, *ids])
    return {"do": "add", "id": f"{serial}", "text": f"note {serial}", "parent": parent, "meta": {"n": serial}}


def perform(memory: Memory, operation: Operation) -> None:
    """Make an edit. A link that would make a cycle is refused, by every store alike."""
    kind = operation["do"]
    if kind == "add":
        memory.add(
            operation["text"], id=operation["id"], parent=operation["parent"], meta=operation["meta"], t=NOW
        )
    elif kind == "add_many":
        memory.add_many([{"t": NOW, **item} for item in operation["items"]])
    elif kind == "update":
        changes = dict(operation["changes"])
        seen = memory.get(operation["id"]).meta  # handed out, and perhaps replaced by the update
        assert isinstance(seen, dict)
        if "t" in changes:
            changes["t"] = NOW + timedelta(seconds=changes["t"])
        memory.update(operation["id"], **changes)
    elif kind == "link":
        try:
            memory.link(operation["id"], operation["parent"])
        except ValueError as error:
            if "under" not in str(error) and "itself" not in str(error):
                raise
    elif kind == "remove":
        memory.remove(operation["id"], cascade=operation["cascade"])
    elif kind == "set":
        memory.time_coef = operation["time_coef"]
    else:
        with memory.transaction():
            for part in operation["parts"]:
                perform(memory, part)


def live_child(path: str, seed: int, serial: int, told: Connection) -> None:
    """Edit a live store until killed. Tells ["begin", operation], then ["done"], for each."""
    draw = random.Random(seed)
    memory = open_memory(path)
    told.send_bytes(json.dumps(["open", memory.ids]).encode())
    while True:
        operation = draw_operation(draw, memory.ids, serial)
        told.send_bytes(json.dumps(["begin", operation]).encode())
        perform(memory, operation)
        told.send_bytes(json.dumps(["done"]).encode())
        serial += 1
        if draw.random() < 0.3:
            memory.search("note", k=3)
