"""The inspector's data block: strict JSON that is safe inside a script element.

Node for node it says what :func:`~poincare_memory.viz.to_dict` says. It is written column by column, since a
JSON encoder that meets each of 20,000 nodes as a dictionary takes twice as long.
"""

from __future__ import annotations

from collections.abc import Callable
from json.encoder import JSONEncoder, encode_basestring_ascii
from math import isfinite
from typing import Any

import numpy as np

from .export import columns, config
from .overlay import QueryOverlay
from .snapshot import Snapshot

# Up to here one object a node, which is easy to read; above it one array a key, which is small and fast.
LARGEST_NODE_LIST = 20_000

_DEEPEST_META = 64
_json = JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def data_block(snapshot: Snapshot, query: QueryOverlay | None = None) -> str:
    """JSON text of ``{"config", "nodes", "edges"}``, or of ``{"config", "columns", "edges"}`` when large.

    Where memories are pinned, ``"pinned"`` holds their places; ``"query"`` is what a query found; in a sample,
    ``"sampled"`` holds how many children each memory has in the store, and ``config`` counts the store's.

    Only ASCII, and no ``<`` at all: no text, id or metadata can close the element or open a comment in it.
    """
    table = columns(snapshot)
    encoded = {key: _ENCODERS.get(key, _numbers)(values) for key, values in table.items()}
    body = _node_list(encoded) if len(snapshot) <= LARGEST_NODE_LIST else _column_lists(encoded)
    if snapshot.pinned.any():
        body += f',"pinned":{np.flatnonzero(snapshot.pinned).tolist()}'
    if snapshot.child_counts is not None:
        body += f',"sampled":{{"children":{_json(snapshot.child_counts.tolist())}}}'
    if query is not None:
        body += f',"query":{_json(query.plain())}'
    settings = config(snapshot) | {"cone_k": snapshot.cone_k}
    return f'{{"config":{_json(settings)},{body},"edges":{_edge_list(encoded)}}}'.replace("<", "\\u003c")


def _node_list(encoded: dict[str, list[str]]) -> str:
    fields, varying = [], []
    for key, cells in encoded.items():
        same = bool(cells) and cells.count(cells[0]) == len(cells)  # as the windows of memories without any
        fields.append(f"{_json(key)}:" + (cells[0].replace("%", "%%") if same else "%s"))
        if not same:
            varying.append(cells)
    node = "{" + ",".join(fields) + "}"
    count = len(encoded["id"])
    rows = zip(*varying, strict=True) if varying else [()] * count
    return '"nodes":[' + ",".join([node % cells for cells in rows]) + "]"


def _column_lists(encoded: dict[str, list[str]]) -> str:
    lists = [f"{_json(key)}:[" + ",".join(cells) + "]" for key, cells in encoded.items()]
    return '"columns":{' + ",".join(lists) + "}"


def _edge_list(encoded: dict[str, list[str]]) -> str:
    pairs = zip(encoded["parent"], encoded["id"], strict=True)
    edges = [f'{{"source":{parent},"target":{id}}}' for parent, id in pairs if parent != "null"]
    return "[" + ",".join(edges) + "]"


def _strings(values: list[str | None]) -> list[str]:
    return ["null" if value is None else encode_basestring_ascii(value) for value in values]


def _numbers(values: list[float | None]) -> list[str]:
    if not values:
        return []
    # One call for all: the list's own repr writes numbers as JSON does, faster than a loop over them.
    return repr(values)[1:-1].replace("None", "null").split(", ")


def _metas(values: list[dict[str, Any]]) -> list[str]:
    return [_meta(value) if value else "{}" for value in values]


def _meta(meta: dict[str, Any]) -> str:
    try:
        return _json(meta)
    except (TypeError, ValueError, RecursionError):
        # Metadata that changed behind the store's back: shown as well as JSON can.
        return _json(_presentable(meta, _DEEPEST_META))


def _presentable(value: Any, levels_left: int) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return _presentable(value.item(), levels_left)
    if isinstance(value, (int, float)):
        return value if isinstance(value, int) or isfinite(value) else str(value)
    if levels_left == 0:
        return "…"
    if isinstance(value, dict):
        return {str(key): _presentable(item, levels_left - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_presentable(item, levels_left - 1) for item in value]
    return str(value)


_ENCODERS: dict[str, Callable[[Any], list[str]]] = {
    "id": _strings,
    "text": _strings,
    "parent": _strings,
    "t": _strings,
    "valid_from": _strings,
    "valid_until": _strings,
    "meta": _metas,
}
