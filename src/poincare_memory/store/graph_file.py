"""The graphs of a live store's index, in a file beside it: ``<file>.graph``.

They are written when the index is built and when the store is closed, in one step. What is read is checked node by
node against the store (see `ShellIndex`): memories that came, went or moved since are taken in, and a graph that is
damaged or of another state is built again. The file can be deleted at any time; then there is no index until the
next `Memory.build_index`.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from ..index import Backend
from .atomic import replacing
from .shell_index import GraphMetric, SavedGraphs, ShellIndex

if TYPE_CHECKING:
    from .state import Store

logger = logging.getLogger("poincare_memory")

MAGIC: Final = b"poincare_memory graph 1\n"
LONGEST_HEADER: Final = 4096  # bytes


def graph_path(store: Store) -> Path | None:
    """Where the graphs of a live store are kept; None for a memory without a file."""
    path = getattr(store.columns.file, "path", None)
    return None if path is None else path.with_name(f"{path.name}.graph")


def keep_graphs(store: Store) -> None:
    """Write the graphs, if there is a file to keep them beside and they are not what was written last.

    An index can be built again: what goes wrong here is logged, not raised.
    """
    path, index = graph_path(store), store.index
    if path is None or not isinstance(index, ShellIndex):
        return
    try:
        saved = index.saved_graphs()
        if saved is None:
            return
        if not saved.graphs:
            path.unlink(missing_ok=True)
            return
        header = {
            "backend": saved.backend,
            "graphs": [[name, len(data)] for name, data in saved.graphs.items()],
        }
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.write(MAGIC + json.dumps(header).encode() + b"\n")
            for data in saved.graphs.values():
                file.write(data)
        index.note_saved(saved)
    except (OSError, ValueError, MemoryError):
        logger.warning("%s: the graphs of the index were not written", path, exc_info=True)


def restore_index(store: Store) -> None:
    """Give a live store the index that was kept beside it, if there is one; its graphs are read when asked."""
    path = graph_path(store)
    if path is None or not path.is_file():
        return
    try:
        saved = _parsed(path.read_bytes())
    except (OSError, ValueError, KeyError, TypeError, MemoryError) as error:
        logger.warning("%s: not a readable index (%s); it is built again", path, error)
        saved = SavedGraphs("auto", {"shell": b""}, -1)
    store.index = ShellIndex(store, saved.backend, saved=saved)


def _parsed(data: bytes) -> SavedGraphs:
    if not data.startswith(MAGIC):
        raise ValueError("it does not begin as one")
    end = data.index(b"\n", len(MAGIC), len(MAGIC) + LONGEST_HEADER)
    header: Any = json.loads(data[len(MAGIC) : end])
    if header["backend"] not in get_args(Backend):
        raise ValueError(f"unknown backend {header['backend']!r:.80}")
    graphs: dict[GraphMetric, bytes] = {}
    at = end + 1
    for name, length in header["graphs"]:
        if name not in get_args(GraphMetric) or not isinstance(length, int) or length < 0:
            raise ValueError("unknown parts")
        graphs[name] = data[at : at + length]
        at += length
    return SavedGraphs(header["backend"], graphs, -1)
