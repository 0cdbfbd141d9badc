"""Memories of a store in faiss, on the shell of the roots."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.numerics import FloatArray
from ..geometry.polar import polar_to_ball
from ..index import Indices

if TYPE_CHECKING:
    from .state import Store


class FaissRows:
    """An index of faiss over the rows that have a direction; made anew after changes, as faiss cannot follow.

    Under the store's shared lock.
    """

    def __init__(self, store: Store, build: Callable[[FloatArray], Any]) -> None:
        self._store, self._build = store, build
        self._building = threading.Lock()
        self._version = -1
        self._rows = np.zeros(0, np.int32)
        self._index: Any = None

    def __len__(self) -> int:
        return len(self._rows)

    def nearest(self, direction: NDArray[np.float64], count: int) -> Indices:
        """Rows of the so many nearest, as far as faiss finds them."""
        self.refresh()
        ball = self._store.ball
        point = polar_to_ball(direction[None], np.array([self._store.base_depth]), ball.c)
        lorentz = np.ascontiguousarray(ball.to_lorentz(point), np.float32)
        found = self._index.search(lorentz, min(count, len(self._rows)))[1][0]
        nearest: Indices = self._rows[found[found >= 0]].astype(np.int64)
        return nearest

    def refresh(self) -> None:
        """Take in what changed."""
        columns, ball = self._store.columns, self._store.ball
        with self._building:
            if self._version == columns.structure_version:
                return
            live = columns.live_rows()
            rows = live[columns.directed[live].astype(bool)]
            points = polar_to_ball(
                columns.direction[rows], np.full(len(rows), self._store.base_depth), ball.c
            )
            self._index, self._rows = self._build(points), rows
            self._version = columns.structure_version
