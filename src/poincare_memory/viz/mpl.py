"""A memory as a matplotlib figure: the disk, geodesic edges, colour by any column, opacity by time weight."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.numerics import FloatArray
from .colouring import Amounts, Classes, colouring
from .labelling import Box, place_labels
from .sampling import part_of, sampled_places
from .snapshot import Snapshot, take_snapshot

if TYPE_CHECKING:
    from ..store.memory import Memory

LABEL_LENGTH = 28
MOST_POINTS = 100_000  # of a larger memory an even sample, which the title tells

_STEPS, _FEW_STEPS = 24, 6  # straight pieces an edge is drawn with
_MANY = 3000  # points; above it edges take few pieces and points shrink
_MOST_LABELS = 300
_FAINTEST = 0.25
_LABEL_SIZE = 7.0  # points
_PALETTE = ("#2f6fde", "#cf6a1e", "#2f9150", "#a245b5", "#0e8f9c", "#cb3f5b", "#8f7d10", "#6558d3", "#7d8695")


def plot_memory(
    memory: Memory,
    ax: Any = None,
    labels: bool = False,
    at_time: datetime | None = None,
    *,
    color: str | Sequence[Any] | NDArray[Any] = "level",
    layout: str = "auto",
    center: str | None = None,
    legend: bool = True,
) -> Any:
    """Draw a memory on the Poincaré disk with matplotlib.

    Parameters
    ----------
    memory : Memory
        What to draw; it may be empty. Of more than 100,000 memories an even sample is drawn, which the title tells.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    labels : bool
        Write the beginning of each text beside its point, where it covers neither a point nor another label;
        shallow memories come first.
    at_time : datetime, optional
        Moment of the time weights, which set the opacity; the memory's clock by default.
    color : str or sequence
        What the colour says: ``"level"``, ``"depth"``, ``"weight"``, ``"age"`` (hours), ``"accesses"``, ``"root"``,
        any key of the metadata, or one value a memory, in order of insertion. Many different numbers have a colour
        bar, everything else a legend of its most frequent values.
    layout : {"auto", "structural", "projection"}
        As for :func:`to_dict`.
    center : str, optional
        Id of a memory that an isometry of the disk moves to its middle.
    legend : bool
        Draw the colour bar or the legend.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        Without matplotlib: ``pip install "poincare-memory[viz]"``.
    ValueError
        If ``layout`` or ``color`` is none of what it may be.
    KeyError
        If there is no memory ``center``.

    Examples
    --------
    >>> from poincare_memory.demo import build_demo_memory
    >>> ax = plot_memory(build_demo_memory(), color="kind", labels=True)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['none', 'event']
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('plot needs matplotlib: pip install "poincare-memory[viz]"') from error
    snapshot = take_snapshot(memory, at_time, layout)
    shades = colouring(snapshot, color)
    if len(snapshot) > MOST_POINTS:
        center_place = [] if center is None else [_place_of(snapshot, center)]
        chosen = sampled_places(snapshot, MOST_POINTS, center_place)
        snapshot, shades = part_of(snapshot, chosen), shades.of(chosen)
    places = _complex(snapshot.coordinates)
    if center is not None:
        places = _seen_from(places, places[_place_of(snapshot, center)])
    if ax is None:
        _, ax = pyplot.subplots(figsize=(8, 7), layout="constrained")
    _draw_disk(ax)
    _draw_edges(ax, snapshot, places)
    _draw_points(ax, snapshot, places, shades, legend)
    ax.set_title(f"poincare-memory · {_how_many(snapshot)} · c={snapshot.settings['curvature']:g}")
    if labels:
        _draw_labels(ax, snapshot, places)
    return ax


def _how_many(snapshot: Snapshot) -> str:
    total = f"{snapshot.total} {'memory' if snapshot.total == 1 else 'memories'}"
    return total if len(snapshot) == snapshot.total else f"{len(snapshot)} of {total}"


def _place_of(snapshot: Snapshot, id: str) -> int:
    try:
        return snapshot.ids.index(id)
    except ValueError:
        raise KeyError(f"center: there is no memory {id!r}") from None


def _seen_from(places: Any, middle: complex) -> Any:
    """The isometry of the disk that moves `middle` to its centre."""
    return (places - middle) / (1.0 - np.conj(middle) * places)


def _draw_disk(ax: Any) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, edgecolor="0.6", linewidth=1.0))
    ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
    ax.set_axis_off()


def _draw_edges(ax: Any, snapshot: Snapshot, places: Any) -> None:
    from matplotlib.collections import LineCollection

    many = len(snapshot) > _MANY
    paths = _edge_paths(snapshot, places, _FEW_STEPS if many else _STEPS)
    width = 0.3 if many else 0.8
    ax.add_collection(LineCollection(list(paths), colors="0.7", linewidths=width, zorder=1))


def _draw_points(ax: Any, snapshot: Snapshot, places: Any, shades: Amounts | Classes, legend: bool) -> None:
    if not len(snapshot):
        return
    x, y = places.real, places.imag
    opacity = _FAINTEST + (1.0 - _FAINTEST) * snapshot.weights
    outline = 0.4 if len(snapshot) <= _MANY else 0.0
    look: dict[str, Any] = {"s": _point_area(snapshot), "zorder": 2}
    ax.scatter(x, y, c="white", **look)  # the ground, so that no edge shines through
    look |= {"edgecolors": "0.3", "linewidths": outline}
    if isinstance(shades, Classes):
        ax.scatter(x, y, c=[_PALETTE[place] for place in shades.places], alpha=opacity, **look)
        if legend:
            _draw_legend(ax, shades)
        return
    points = ax.scatter(x, y, c=shades.values, alpha=opacity, cmap="viridis", plotnonfinite=True, **look)
    points.cmap = points.cmap.with_extremes(bad=_PALETTE[-1])
    if legend:
        bar = ax.figure.colorbar(points, ax=ax, shrink=0.6, pad=0.1, label=shades.label)
        bar.solids.set_alpha(1.0)
        if shades.whole:
            bar.ax.yaxis.get_major_locator().set_params(integer=True)


def _point_area(snapshot: Snapshot) -> float:
    """Points squared, as matplotlib counts them."""
    return max(1.0, 34.0 * min(1.0, _MANY / max(1, len(snapshot))))


def _draw_legend(ax: Any, classes: Classes) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], linestyle="", marker="o", color=_PALETTE[place], label=name)
        for place, name in enumerate(classes.names)
    ]
    drawn = ax.legend(
        handles=marks,
        title=classes.label or None,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=9,
    )
    for text in [drawn.get_title(), *drawn.get_texts()]:
        text.set_parse_math(False)


def _draw_labels(ax: Any, snapshot: Snapshot, places: Any) -> None:
    """What does not fit is left out. The figure is laid out now: made larger later, it would have had more room."""
    from matplotlib.patheffects import withStroke

    figure = ax.get_figure()
    while figure is not figure.figure:  # a figure's figure is itself, a sub-figure's the one it is part of
        figure = figure.figure
    figure.draw_without_rendering()
    order = np.lexsort((-snapshot.weights, snapshot.levels))
    pixels = ax.transData.transform(np.column_stack([places.real, places.imag])[order])
    drawn = [
        # A memory is no markup: matplotlib would read a pair of dollars as mathematics.
        ax.annotate(
            _label(snapshot.texts[place]),
            (places[place].real, places[place].imag),
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=_LABEL_SIZE,
            va="bottom",
            parse_math=False,
            zorder=3,
            path_effects=[withStroke(linewidth=2.0, foreground="white", alpha=0.8)],
        )
        for place in order[:_MOST_LABELS].tolist()
    ]
    for label in drawn:
        label.set_in_layout(False)  # else the axes would make room for it, and all places would be others
    extents = [label.get_window_extent() for label in drawn]
    sizes = np.array([(extent.width, extent.height) for extent in extents]).reshape(-1, 2)
    radius = 0.5 * _point_area(snapshot) ** 0.5 * figure.dpi / 72.0
    others = [other for other in [*figure.axes, ax.title, ax.get_legend()] if other not in (ax, None)]
    obstacles = [_edges_of(other.get_tightbbox()) for other in others]
    boxes = place_labels(pixels, sizes, radius, _edges_of(figure.bbox), obstacles)
    for label, box, (x, y) in zip(drawn, boxes, pixels.tolist(), strict=False):
        if box is None:
            label.remove()
        else:
            label.set_position(((box[0] - x) * 72.0 / figure.dpi, (box[1] - y) * 72.0 / figure.dpi))


def _edges_of(box: Any) -> Box:
    return box.x0, box.y0, box.x1, box.y1


def _label(text: str) -> str:
    line = " ".join(text[: 4 * LABEL_LENGTH].split())
    return line if len(line) <= LABEL_LENGTH else f"{line[: LABEL_LENGTH - 1].rstrip()}…"


def _edge_paths(snapshot: Snapshot, places: Any, steps: int) -> FloatArray:
    """Points along every edge's geodesic, shape (edges, steps, 2)."""
    children = np.flatnonzero(snapshot.parents >= 0)
    start = places[snapshot.parents[children]][:, None]
    end = places[children][:, None]
    # Seen from its start a geodesic is a straight line: move the start to the centre, walk, move back.
    seen = (end - start) / (1.0 - start.conj() * end)
    length = np.abs(seen)
    reach = np.tanh(np.linspace(0.0, 1.0, steps) * np.arctanh(np.minimum(length, 1.0 - 1e-15)))
    step = seen / np.where(length > 0.0, length, 1.0) * reach
    path = (step + start) / (1.0 + start.conj() * step)
    return np.stack([path.real, path.imag], axis=-1)


def _complex(coordinates: FloatArray) -> Any:
    return coordinates[:, 0] + 1j * coordinates[:, 1]
