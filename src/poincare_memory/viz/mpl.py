"""A memory as a matplotlib figure: the disk, geodesic edges, colour by level, opacity by time weight."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..geometry.numerics import FloatArray
from .snapshot import Snapshot, take_snapshot

if TYPE_CHECKING:
    from ..store.memory import Memory

LABEL_LENGTH = 24

_STEPS = 24  # straight pieces an edge is drawn with
_FAINTEST = 0.25


def plot_memory(
    memory: Memory,
    ax: Any = None,
    labels: bool = False,
    at_time: datetime | None = None,
) -> Any:
    """Draw a memory on the Poincaré disk with matplotlib.

    Parameters
    ----------
    memory : Memory
        What to draw; it may be empty.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    labels : bool
        Write the beginning of each text beside its point.
    at_time : datetime, optional
        Moment of the time weights, which set the opacity; the memory's clock by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        Without matplotlib: ``pip install "poincare-memory[viz]"``.
    """
    try:
        from matplotlib import pyplot
        from matplotlib.collections import LineCollection
        from matplotlib.patches import Circle
    except ImportError as error:
        raise ImportError('plot needs matplotlib: pip install "poincare-memory[viz]"') from error
    snapshot = take_snapshot(memory, at_time)
    if ax is None:
        _, ax = pyplot.subplots(figsize=(8, 7), layout="constrained")
    ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, edgecolor="0.6", linewidth=1.0))
    ax.add_collection(LineCollection(list(_edge_paths(snapshot)), colors="0.7", linewidths=0.8, zorder=1))
    _draw_points(ax, snapshot)
    if labels:
        _draw_labels(ax, snapshot)
    count = len(snapshot)
    ax.set_title(
        f"poincare-memory · {count} {'memory' if count == 1 else 'memories'} · "
        f"c={snapshot.settings['curvature']:g}"
    )
    ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
    ax.set_axis_off()
    return ax


def _draw_points(ax: Any, snapshot: Snapshot) -> None:
    if not len(snapshot):
        return
    x, y = snapshot.coordinates.T
    opacity = _FAINTEST + (1.0 - _FAINTEST) * snapshot.weights
    ax.scatter(x, y, c="white", s=34, zorder=2)  # the ground, so that no edge shines through
    points = ax.scatter(x, y, c=snapshot.levels, s=34, alpha=opacity, cmap="viridis", zorder=2)
    bar = ax.figure.colorbar(points, ax=ax, shrink=0.6, pad=0.1, label="hierarchy level")
    bar.solids.set_alpha(1.0)
    bar.ax.yaxis.get_major_locator().set_params(integer=True)


def _draw_labels(ax: Any, snapshot: Snapshot) -> None:
    for (x, y), text in zip(snapshot.coordinates.tolist(), snapshot.texts, strict=True):
        shown = " ".join(text[:LABEL_LENGTH].split())
        # A memory is no markup: matplotlib would read a pair of dollars as mathematics.
        ax.annotate(
            shown, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7, parse_math=False, zorder=3
        )


def _edge_paths(snapshot: Snapshot) -> FloatArray:
    """Points along every edge's geodesic, shape (edges, steps, 2)."""
    children = np.flatnonzero(snapshot.parents >= 0)
    start = _complex(snapshot.coordinates[snapshot.parents[children]])[:, None]
    end = _complex(snapshot.coordinates[children])[:, None]
    # Seen from its start a geodesic is a straight line: move the start to the centre, walk, move back.
    seen = (end - start) / (1.0 - start.conj() * end)
    length = np.abs(seen)
    reach = np.tanh(np.linspace(0.0, 1.0, _STEPS) * np.arctanh(np.minimum(length, 1.0 - 1e-15)))
    step = seen / np.where(length > 0.0, length, 1.0) * reach
    path = (step + start) / (1.0 + start.conj() * step)
    return np.stack([path.real, path.imag], axis=-1)


def _complex(coordinates: FloatArray) -> Any:
    return coordinates[:, 0] + 1j * coordinates[:, 1]
