"""A memory as plain data: coordinates on the disk, dictionaries that JSON can hold, a networkx graph."""

from __future__ import annotations

import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..collector import CollectorPaused
from ..geometry.numerics import FloatArray
from ..temporal.instants import MISSING
from .layout import disk_coordinates
from .snapshot import Instants, Snapshot, take_snapshot

if TYPE_CHECKING:
    import networkx

    from ..store.memory import Memory

__all__ = ["disk_coordinates", "structural_coordinates", "to_dict", "to_networkx"]


def structural_coordinates(memory: Memory) -> FloatArray:
    """Radial drawing of the stored hierarchy on the unit disk, depths exact.

    Every memory lies at its own depth (``2 artanh |xy|``); leaves are evenly spaced, and a parent is in the
    middle of its leaves. One tree fills the right half of the disk, several share the circle.

    Parameters
    ----------
    memory : Memory
        What to lay out.

    Returns
    -------
    ndarray, shape (n, 2)
        One row a memory, in order of insertion.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> from poincare_memory.viz import structural_coordinates
    >>> mem = Memory()
    >>> tea = mem.add("green tea", parent=mem.add("Drinks"))
    >>> structural_coordinates(mem).round(4).tolist()
    [[0.4621, 0.0], [0.6351, 0.0]]
    """
    return take_snapshot(memory, layout="structural").coordinates


def to_dict(memory: Memory, at_time: datetime | None = None, layout: str = "auto") -> dict[str, Any]:
    """A memory as nodes and edges for any drawing tool; the same data that the inspector page holds.

    Parameters
    ----------
    memory : Memory
        What to export.
    at_time : datetime, optional
        Moment at which the time weights are taken; the memory's clock by default.
    layout : {"auto", "structural", "projection"}
        ``"structural"`` draws the hierarchy (the default where there is one), ``"projection"`` the meaning.

    Returns
    -------
    dict
        ``config``, ``nodes`` (id, text, parent, level, depth, x, y, t, t_ms, weight, accesses, meta, and
        valid_from, valid_until with their milliseconds, None where open) and ``edges`` (source, target).

    Raises
    ------
    ValueError
        If ``layout`` is none of the three.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> from poincare_memory.viz import to_dict
    >>> mem = Memory()
    >>> tea = mem.add("green tea", id="tea", parent=mem.add("Drinks", id="drinks"))
    >>> data = to_dict(mem)
    >>> data["config"]["count"], data["edges"]
    (2, [{'source': 'drinks', 'target': 'tea'}])
    """
    snapshot = take_snapshot(memory, at_time, layout)
    with CollectorPaused():
        return _plain(snapshot)


def _plain(snapshot: Snapshot) -> dict[str, Any]:
    table = columns(snapshot) | {"meta": copy.deepcopy(snapshot.metas)}
    rows = zip(*table.values(), strict=True)
    return {
        "config": config(snapshot),
        "nodes": [dict(zip(table, row, strict=True)) for row in rows],
        "edges": _edges(snapshot),
    }


def to_networkx(memory: Memory) -> networkx.DiGraph[str]:
    """The hierarchy as a ``networkx.DiGraph``, parents pointing at children.

    Nodes are ids; their attributes are those of :func:`to_dict`.

    Parameters
    ----------
    memory : Memory
        What to export.

    Returns
    -------
    networkx.DiGraph

    Raises
    ------
    ImportError
        Without networkx: ``pip install "poincare-memory[viz]"``.

    Examples
    --------
    >>> from poincare_memory import Memory
    >>> from poincare_memory.viz import to_networkx
    >>> mem = Memory()
    >>> tea = mem.add("green tea", id="tea", parent=mem.add("Drinks", id="drinks"))
    >>> graph = to_networkx(mem)
    >>> list(graph.edges), graph.nodes["tea"]["level"]
    ([('drinks', 'tea')], 1)
    """
    try:
        import networkx
    except ImportError as error:
        raise ImportError('to_networkx needs networkx: pip install "poincare-memory[viz]"') from error
    data = to_dict(memory)
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    # (node, attributes) pairs, so that no attribute name can collide with a parameter of networkx.
    graph.add_nodes_from((node.pop("id"), node) for node in data["nodes"])
    graph.add_edges_from((edge["source"], edge["target"]) for edge in data["edges"])
    return graph


def config(snapshot: Snapshot) -> dict[str, Any]:
    """What the views need to know besides the nodes."""
    return {
        **snapshot.settings,
        "now_ms": snapshot.now / 1000.0,
        "count": snapshot.total,
        "layout": snapshot.layout,
    }


def columns(snapshot: Snapshot) -> dict[str, list[Any]]:
    """One list a key of a node, in the order in which a node shows them."""
    ids = snapshot.ids
    return {
        "id": ids,
        "text": snapshot.texts,
        "parent": [ids[place] if place >= 0 else None for place in snapshot.parents.tolist()],
        "level": snapshot.levels.tolist(),
        "depth": snapshot.depths.tolist(),
        "x": snapshot.coordinates[:, 0].tolist(),
        "y": snapshot.coordinates[:, 1].tolist(),
        "t": _iso_texts(snapshot.times),
        "t_ms": _milliseconds(snapshot.times),
        "weight": snapshot.weights.tolist(),
        "accesses": snapshot.accesses.tolist(),
        "meta": snapshot.metas,
        "valid_from": _iso_texts(snapshot.valid_from),
        "valid_from_ms": _milliseconds(snapshot.valid_from),
        "valid_until": _iso_texts(snapshot.valid_until),
        "valid_until_ms": _milliseconds(snapshot.valid_until),
    }


def _edges(snapshot: Snapshot) -> list[dict[str, str]]:
    """From parent to child, in the children's order of insertion."""
    ids = snapshot.ids
    return [
        {"source": ids[parent], "target": id}
        for id, parent in zip(ids, snapshot.parents.tolist(), strict=True)
        if parent >= 0
    ]


def _milliseconds(instants: Instants) -> list[Any]:
    """Unix time, None where absent."""
    values: list[Any] = (instants / 1000.0).tolist()
    for place in np.flatnonzero(instants == MISSING).tolist():
        values[place] = None
    return values


def _iso_texts(instants: Instants) -> list[Any]:
    """ISO 8601 with the offset of UTC as ``datetime.isoformat`` writes it; None where absent."""
    missing = instants == MISSING
    if missing.all():
        return [None] * len(instants)
    moments = np.where(missing, 0, instants).astype("datetime64[us]")
    texts: list[Any] = [
        text.removesuffix(".000000") + "+00:00" for text in np.datetime_as_string(moments).tolist()
    ]
    for place in np.flatnonzero(missing).tolist():
        texts[place] = None
    return texts
