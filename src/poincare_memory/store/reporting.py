"""What a store looks like: numbers, rows, text. Every function reads one consistent moment."""

from __future__ import annotations

import copy
import importlib
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..collector import CollectorPaused
from ..temporal.instants import iso, to_micros
from ..temporal.specs import policy_spec
from .state import Store
from .weights import TimeColumns

if TYPE_CHECKING:
    from .arrays import Rows
    from .columns import Columns

# The tree drawing
LARGEST_DRAWING: Final = 1 << 29  # characters of indents
FORK, LAST, PIPE, GAP = "├── ", "└── ", "│   ", "    "


def moment_of(store: Store, at_time: datetime | None) -> int:
    """`at_time`, or the clock's time, in UTC microseconds."""
    return store.now() if at_time is None else to_micros(at_time, "at_time")


def stats(store: Store, at_time: datetime | None = None) -> dict[str, Any]:
    """Summary numbers; see `Memory.stats`."""
    now = moment_of(store, at_time)
    columns = store.columns
    with store.reading():
        rows = columns.live_rows().copy()
        n = len(rows)
        level, depth = columns.level[rows], columns.radius[rows]
        times = TimeColumns.of(store, rows)
    weights, t = times.weights(now), times.t
    counts = np.bincount(level)
    return {
        "count": n,
        "roots": int(counts[0]) if n else 0,
        "max_level": int(level.max()) if n else 0,
        "levels": {i: int(count) for i, count in enumerate(counts.tolist()) if count},
        "dim": columns.dim,
        "curvature": store.ball.c,
        "metric": store.metric,
        "decay": policy_spec(store.decay),
        "depth_min": float(depth.min()) if n else None,
        "depth_max": float(depth.max()) if n else None,
        "oldest": iso(int(t.min())) if n else None,
        "newest": iso(int(t.max())) if n else None,
        "mean_time_weight": float(weights.mean()) if n else None,
        "accesses": int(times.access_count.sum()),
    }


def table(store: Store, at_time: datetime | None = None) -> list[dict[str, Any]]:
    """One dict a memory; see `Memory.table`."""
    now = moment_of(store, at_time)
    with CollectorPaused():
        return _table(store, now)


def _table(store: Store, now: int) -> list[dict[str, Any]]:
    columns = store.columns
    with store.reading():
        rows = columns.live_rows().copy()
        places = rows.tolist()
        ids = [columns.ids[row] for row in places]
        texts = [columns.texts[row] for row in places]
        metas = [copy.deepcopy(columns.metas[row] or {}) for row in places]
        parents = [columns.ids[row] if row >= 0 else None for row in columns.parent[rows].tolist()]
        levels, depths = columns.level[rows].tolist(), columns.radius[rows].tolist()
        in_time = TimeColumns.of(store, rows)
    weights = in_time.weights(now).tolist()
    times, accesses = in_time.t.tolist(), in_time.access_count.tolist()
    return [
        {
            "id": ids[i],
            "text": texts[i],
            "parent": parents[i],
            "level": levels[i],
            "depth": round(depths[i], 4),
            "t": iso(times[i]),
            "weight": round(weights[i], 6),
            "accesses": accesses[i],
            "meta": metas[i],
        }
        for i in range(len(places))
    ]


TABLE_COLUMNS = ("id", "text", "parent", "level", "depth", "t", "weight", "accesses", "meta")
FRAME_LIBRARIES = ("pandas", "polars")


def dataframe(store: Store, at_time: datetime | None = None, library: str = "pandas") -> Any:
    """`table` as a frame; see `Memory.to_dataframe`."""
    if library not in FRAME_LIBRARIES:
        raise ValueError(f"library must be 'pandas' or 'polars', got {library!r}")
    try:
        frames = importlib.import_module(library)
    except ImportError as error:
        raise ImportError(
            f'to_dataframe needs {library}: pip install "poincare-memory[{library}]"'
        ) from error
    rows = table(store, at_time)
    if library == "pandas":
        return frames.DataFrame(rows, columns=list(TABLE_COLUMNS))
    import json

    for row in rows:
        # A column has one type, and every memory its own metadata.
        row["meta"] = json.dumps(row["meta"], ensure_ascii=False)
    text, whole, number = frames.String, frames.Int64, frames.Float64
    types = (text, text, text, whole, number, text, number, whole, text)
    return frames.DataFrame(rows, schema=dict(zip(TABLE_COLUMNS, types, strict=True)))


def tree(store: Store, root: str | None = None, max_text: int = 60) -> str:
    """Drawing of the hierarchy; see `Memory.tree`."""
    if max_text < 1:
        raise ValueError(f"max_text must be at least 1, got {max_text}")
    columns = store.columns
    with store.reading():
        tops = columns.root_rows().tolist() if root is None else [columns.row_of[root]]
        _refuse_what_is_too_deep(columns, None if root is None else tops[0])
        lines: list[str] = []
        for top in tops:
            _draw(columns, top, max_text, lines)
    return "\n".join(lines)


def _refuse_what_is_too_deep(columns: Columns, top: int | None) -> None:
    """The indents of a chain grow with the square of its length: 40 gigabytes for one of 100,000."""
    rows = columns.live_rows() if top is None else columns.subtree_rows(top)
    levels = columns.level[rows].astype(np.int64) - (0 if top is None else int(columns.level[top]))
    size = len(FORK) * int(levels.sum())
    if size > LARGEST_DRAWING:
        raise ValueError(
            f"tree: {len(rows)} memories down to level {int(levels.max())} would be indented by {size:.1e} characters; "
            f"draw a branch of them (root=), or ask for paths"
        )


def _draw(columns: Columns, top: int, max_text: int, lines: list[str]) -> None:
    lines.append(_label(columns, top, max_text))
    waiting = _branches(columns.children_rows(top), "")
    while waiting:
        row, indent, is_last = waiting.pop()
        lines.append(indent + (LAST if is_last else FORK) + _label(columns, row, max_text))
        if columns.first_child[row] >= 0:
            waiting.extend(_branches(columns.children_rows(row), indent + (GAP if is_last else PIPE)))


def _branches(children: Rows, indent: str) -> list[tuple[int, str, bool]]:
    """Children as a stack, the eldest on top."""
    youngest_first = children[::-1].tolist()
    return [(row, indent, i == 0) for i, row in enumerate(youngest_first)]


def _label(columns: Columns, row: int, max_text: int) -> str:
    text = one_line(columns.texts[row])
    if len(text) > max_text:
        text = text[: max_text - 1] + "…"
    return f"{text}  [{one_line(columns.ids[row])} d={columns.radius[row]:.2f}]"


def one_line(text: str | None) -> str:
    """A text or an id without line breaks: a line a memory, and none that is not there."""
    return " ".join((text or "").splitlines())
