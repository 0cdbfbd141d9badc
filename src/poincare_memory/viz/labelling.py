"""Places for labels beside points, so that none covers a point or another label."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..geometry.numerics import FloatArray

GAP = 3.0  # pixels between a point and its label
_CELL = 64.0  # pixels; boxes are looked up by the cells they touch

Box = tuple[float, float, float, float]  # left, bottom, right, top


class Occupied:
    """Boxes that are taken."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[Box]] = {}

    def add(self, box: Box) -> None:
        """Take a box."""
        for cell in _cells(box):
            self._cells.setdefault(cell, []).append(box)

    def is_free(self, box: Box) -> bool:
        """Whether nothing taken overlaps it."""
        return not any(_overlap(box, other) for cell in _cells(box) for other in self._cells.get(cell, ()))


def place_labels(
    points: FloatArray, sizes: FloatArray, radius: float, bounds: Box, obstacles: Iterable[Box] = ()
) -> list[Box | None]:
    """A box for each of the first labels, None where there is no room; earlier labels choose first.

    Parameters
    ----------
    points : ndarray, shape (n, 2)
        All points, in pixels; the first ``len(sizes)`` have labels.
    sizes : ndarray, shape (m, 2)
        Width and height of the labels.
    radius : float
        Of a point.
    bounds : Box
        In which labels have to stay.
    obstacles : iterable of Box
        What else may not be covered.
    """
    taken = Occupied()
    for obstacle in obstacles:
        taken.add(obstacle)
    for x, y in points.tolist():
        taken.add((x - radius, y - radius, x + radius, y + radius))
    middle = (bounds[0] + bounds[2]) / 2.0
    boxes: list[Box | None] = []
    for (x, y), (width, height) in zip(points.tolist(), sizes.tolist(), strict=False):
        free = (
            box for box in _candidates(x, y, width, height, radius + GAP, x >= middle) if _inside(box, bounds)
        )
        box = next(filter(taken.is_free, free), None)
        if box is not None:
            taken.add(box)
        boxes.append(box)
    return boxes


def _candidates(x: float, y: float, width: float, height: float, gap: float, right_first: bool) -> list[Box]:
    """Beside the point, on the outer side first; then above and below; then at the corners."""
    right, left = x + gap, x - gap - width
    sides = [right, left] if right_first else [left, right]
    above, below, level = y + gap, y - gap - height, y - height / 2.0
    corners = [(side, bottom) for bottom in (above - gap / 2.0, below + gap / 2.0) for side in sides]
    places = [
        (sides[0], level),
        (sides[1], level),
        (x - width / 2.0, above),
        (x - width / 2.0, below),
        *corners,
    ]
    return [(start, bottom, start + width, bottom + height) for start, bottom in places]


def _inside(box: Box, bounds: Box) -> bool:
    return box[0] >= bounds[0] and box[1] >= bounds[1] and box[2] <= bounds[2] and box[3] <= bounds[3]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _cells(box: Box) -> list[tuple[int, int]]:
    left, bottom, right, top = (int(np.floor(edge / _CELL)) for edge in box)
    return [(column, line) for column in range(left, right + 1) for line in range(bottom, top + 1)]
