"""Distances and maps of the ball."""

from __future__ import annotations

import numpy as np

from poincare_memory import PoincareBall, cone_energy, sarkar_layout


class Distance:
    params = ([np.float32, np.float64], [16, 384])
    param_names = ("dtype", "dimensions")

    def setup(self, dtype: type, dimensions: int) -> None:
        self.ball = PoincareBall()
        self.points = self.ball.random_points(1000, dimensions, 5.0, seed=0).astype(dtype)
        self.others = self.ball.random_points(1000, dimensions, 5.0, seed=1).astype(dtype)

    def time_pairwise(self, *_: object) -> None:
        self.ball.pairwise_distance(self.points, self.others)

    def time_row_by_row(self, *_: object) -> None:
        self.ball.distance(self.points, self.others)

    def time_cone_energy(self, *_: object) -> None:
        cone_energy(self.points, self.others, self.ball)


class Layout:
    def setup(self) -> None:
        self.edges = [((i - 1) // 3, i) for i in range(1, 3000)]

    def time_sarkar(self) -> None:
        sarkar_layout(self.edges, tau=0.5)
