"""One consistent picture of a memory at one moment, as columns: what every view is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..collector import CollectorPaused
from ..geometry.numerics import FloatArray
from ..store.weights import TimeColumns
from ..temporal.instants import to_micros
from ..temporal.specs import policy_spec
from .layout import directional_coordinates, radial_coordinates

if TYPE_CHECKING:
    from ..store.arrays import Rows
    from ..store.columns import Columns
    from ..store.memory import Memory
    from ..store.state import Store

LAYOUTS = ("auto", "structural", "projection")

Instants = NDArray[np.int64]


@dataclass(frozen=True)
class Snapshot:
    """Columns of one memory, in order of insertion.

    ``parents`` holds places in the columns, -1 for a root; times are UTC microseconds, ``instants.MISSING``
    where absent. Metadata are copied one level deep.
    """

    now: int
    layout: str
    settings: dict[str, Any]
    cone_k: float
    ids: list[str]
    texts: list[str]
    metas: list[dict[str, Any]]
    parents: NDArray[np.intp]
    levels: NDArray[np.int32]
    depths: FloatArray
    coordinates: FloatArray
    weights: FloatArray
    accesses: NDArray[np.int64]
    times: Instants
    valid_from: Instants
    valid_until: Instants
    pinned: NDArray[np.bool_]  # always as new
    total: int  # memories in the store
    child_counts: NDArray[np.intp] | None = None  # in the store; set where only a part of it is here

    def __len__(self) -> int:
        return len(self.ids)


def take_snapshot(memory: Memory, at_time: datetime | None = None, layout: str = "auto") -> Snapshot:
    """Read everything that is drawn, at one moment of the store."""
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(map(repr, LAYOUTS))}, got {layout!r}")
    store = memory._store
    now = store.now() if at_time is None else to_micros(at_time, "at_time")
    with CollectorPaused(), store.reading():
        columns = store.columns
        rows = columns.live_rows()
        places = rows.tolist()
        ids = columns.names(rows)
        texts: list[Any] = [columns.texts[row] for row in places]
        metas = [dict(columns.metas[row] or ()) for row in places]
        parents = _places_of_parents(columns, rows)
        levels, depths = columns.level[rows], columns.radius[rows]
        times = TimeColumns.of(store, rows)
        pinned = columns.pinned[rows] == 1
        if layout == "auto":
            layout = "structural" if (parents >= 0).any() else "projection"
        if layout == "structural":
            coordinates = radial_coordinates(_postorder(columns, rows), parents, depths)
        else:
            coordinates = directional_coordinates(columns.direction[rows], depths, store.ball.sqrt_c)
    # The policy may be the user's own code: it runs with no lock held, on the copies.
    weights = times.weights(now)
    return Snapshot(
        now=now,
        layout=layout,
        settings=_settings(store, times),
        cone_k=store.cone_k,
        ids=ids,
        texts=texts,
        metas=metas,
        parents=parents,
        levels=levels,
        depths=depths,
        coordinates=coordinates,
        weights=weights,
        accesses=times.access_count,
        times=times.t,
        valid_from=times.valid_from,
        valid_until=times.valid_until,
        pinned=pinned,
        total=len(ids),
    )


def _settings(store: Store, times: TimeColumns) -> dict[str, Any]:
    return {
        "curvature": store.ball.curvature,
        "dim": store.columns.dim,
        "base_depth": store.base_depth,
        "depth_step": store.depth_step,
        "decay": policy_spec(times.policy),
    }


def _places_of_parents(columns: Columns, rows: Rows) -> NDArray[np.intp]:
    place = np.full(columns.high_water + 1, -1, dtype=np.intp)  # its last item answers for row -1
    place[rows] = np.arange(len(rows))
    parents: NDArray[np.intp] = place[columns.parent[rows]]
    return parents


def _postorder(columns: Columns, rows: Rows) -> NDArray[np.intp]:
    """Places depth first, every branch before its parent, siblings in the memory's own order."""
    place = np.empty(columns.high_water, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    # Backwards, parents first and youngest branch first is children first and eldest branch first.
    trees = [columns.subtree_rows(root)[::-1] for root in columns.root_rows().tolist()]
    order: NDArray[np.intp] = place[np.concatenate(trees)] if trees else np.empty(0, dtype=np.intp)
    return order
