"""A memory as a point of Qdrant: its payload, and the facts of its metadata that conditions can ask for."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from ..retrieval.conditions import EXACT
from .rows import TIMES, Row, micros, optional

try:
    from qdrant_client import models
except ImportError as error:
    raise ImportError(
        'Memory.connect("qdrant://...") needs the "qdrant" extra: pip install "poincare-memory[qdrant]"'
    ) from error

__all__ = [
    "CONTAINS",
    "EVERYTHING",
    "HAS",
    "IS",
    "STRING",
    "fact",
    "facts_of",
    "point_id",
    "point_of",
    "row_of",
]

HAS, IS, CONTAINS, STRING = "has", "is", "contains", "string"
EVERYTHING: Final = "*"  # of a memory whose facts are too many, or cannot be sent: it passes every condition
LONGEST_FACT: Final = 300  # characters of a string
MOST_FACTS: Final = 1000


def point_id(id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, id))


# --- facts ------------------------------------------------------------------------------------------------------


def fact(kind: str, key: str, value: Any = None) -> str | None:
    """What a condition asks for by name: one keyword, whatever the key; None for values that have none.

    Values that are equal in Python have the same: 1, 1.0 and True.
    """
    if isinstance(value, bool):
        value = int(value)
    elif isinstance(value, float):
        if not -EXACT <= value <= EXACT:
            return None
        value = int(value) if value.is_integer() else value
    elif isinstance(value, int):
        if not -EXACT <= value <= EXACT:
            return None
    elif isinstance(value, str):
        if len(value) > LONGEST_FACT:
            return None
    elif value is not None:
        return None
    return json.dumps([kind, key, value], ensure_ascii=True)


def facts_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a payload that conditions on metadata are asked of."""
    facts: dict[str, None] = {}
    numbers: dict[str, float] = {}
    for key, value in _reachable(meta):
        said = [fact(HAS, key)]
        if isinstance(value, Mapping | list | tuple):  # the keys of a mapping
            said += [fact(CONTAINS, key, one) for one in value if not isinstance(one, Mapping | list | tuple)]
        else:
            said.append(fact(IS, key, value))
        if isinstance(value, str):
            said.append(fact(STRING, key))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers[key] = float(max(-2 * EXACT, min(2 * EXACT, value)))
        facts |= dict.fromkeys(one for one in said if one is not None)
        if len(facts) > MOST_FACTS:
            return {"facts": [EVERYTHING], "numbers": {}}
    return {"facts": list(facts), "numbers": numbers}


def _reachable(meta: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a key, or a path with dots, of a filter finds."""
    waiting = [("", meta)]
    while waiting:
        path, here = waiting.pop()
        for key, value in here.items():
            own = path + key
            if path and "." in key:  # no path leads there
                continue
            if not path or own not in meta:  # a key of that very name comes first
                yield own, value
            if isinstance(value, Mapping) and "." not in key:
                waiting.append((own + ".", value))


# --- points -----------------------------------------------------------------------------------------------------


def point_of(row: Row) -> Any:
    kind = "f" if row.embedding.dtype == np.float32 else "d"
    payload = {
        "id": row.id,
        "text": row.text,
        "up": row.parent or "",
        "path": row.path,
        "branch": row.branch,
        "order": row.order,
        "level": row.level,
        "radius_key": repr(row.radius),
        "exact": _text(row.direction.astype("<f8").tobytes()),
        "embedding": kind + _text(row.embedding.astype(f"<{kind}").tobytes()),
        "access_count": row.access_count,
        "pinned": row.pinned,
        "meta": json.dumps(row.meta),
        **facts_of(row.meta),
        **{name: optional(getattr(row, name)) for name in TIMES},
    }
    return models.PointStruct(
        id=point_id(row.id), vector=row.direction.astype(np.float32).tolist(), payload=payload
    )


def row_of(payload: Any) -> Row:
    times = {name: micros(payload.get(name)) for name in TIMES}
    kind, embedding = payload["embedding"][0], base64.b64decode(payload["embedding"][1:])
    return Row(
        id=payload["id"],
        text=payload["text"],
        parent=payload["up"] or None,
        path=list(payload["path"]),
        branch=list(payload["branch"]),
        order=payload["order"],
        level=payload["level"],
        radius=float(payload["radius_key"]),
        direction=np.frombuffer(base64.b64decode(payload["exact"]), "<f8").copy(),
        embedding=np.frombuffer(embedding, f"<{kind}").copy(),
        access_count=payload["access_count"],
        pinned=payload["pinned"],
        meta=json.loads(payload["meta"]),
        **times,
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
