"""A layout whose directions have 106 bits: what :func:`sarkar_layout` gives with ``precision="double-double"``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from .._core import _kernels
from ..geometry.polar import polar_to_ball
from ..threads import resolve_threads
from .tree import edge_endpoints

__all__ = ["PreciseLayout"]

N = TypeVar("N", bound=Hashable)
FloatArray = npt.NDArray[np.float64]


class PreciseLayout(Mapping[N, FloatArray]):
    """Points of the ball as directions with 106 bits and radii, and their distances.

    As a mapping it gives ball points in float64, which have no room beyond radius 36/√c: there, and for the
    distances of what lies close together, use :meth:`distance`. Distances are right to about
    ``1e-32·e^(√c·r)`` at radius r: to 1e-10 at radius 50/√c, 1e-6 at 60/√c; from 73/√c on siblings cannot be
    told apart.

    Parameters
    ----------
    nodes : sequence of hashable
        One a row.
    direction, correction, radius, curvature
        What the attributes are; the arrays become read-only.

    Attributes
    ----------
    curvature : float
        Magnitude c of the ball's curvature −c.
    direction, correction : float64 array of shape (n, dim), read-only
        The unit direction of every node is ``direction + correction``, a sum that float64 cannot hold; zero at
        the origin. Rows are in the order of iteration.
    radius : float64 array of shape (n,), read-only
        Hyperbolic distances from the origin.

    Examples
    --------
    >>> from poincare_memory.hierarchy import sarkar_layout
    >>> chain = [(i, i + 1) for i in range(40)]
    >>> layout = sarkar_layout(chain, dim=3, precision="double-double")
    >>> round(layout.distance(38, 40), 6) > 1.5, round(layout.distance(39, 40), 9)
    (True, 1.0)
    """

    def __init__(
        self,
        nodes: Sequence[N],
        direction: FloatArray,
        correction: FloatArray,
        radius: FloatArray,
        curvature: float,
    ) -> None:
        self._row = {node: row for row, node in enumerate(nodes)}
        self.direction, self.correction, self.radius = direction, correction, radius
        self.curvature = curvature
        self._scaled = radius * np.sqrt(curvature)
        for values in (direction, correction, radius, self._scaled):
            values.flags.writeable = False

    def __getitem__(self, node: N) -> FloatArray:
        row = self._row[node]
        return polar_to_ball(self.direction[row], self.radius[row], self.curvature)

    def __iter__(self) -> Iterator[N]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __repr__(self) -> str:
        return (
            f"PreciseLayout({len(self)} nodes, dim={self.direction.shape[1]}, curvature={self.curvature!r})"
        )

    def distance(self, x: N, y: N) -> float:
        """Hyperbolic distance between two nodes.

        Parameters
        ----------
        x, y : node

        Returns
        -------
        float
            In hyperbolic units.

        Raises
        ------
        KeyError
            For a node that is not in the layout.
        """
        return float(self.distances([(x, y)])[0])

    def distances(self, pairs: Iterable[tuple[N, N]], *, n_threads: int | None = None) -> FloatArray:
        """Hyperbolic distance of every pair of nodes, shape (len(pairs),).

        Parameters
        ----------
        pairs : iterable of (node, node)
        n_threads : int, optional
            All processors by default; the result does not depend on it.

        Returns
        -------
        float64 array of shape (len(pairs),)

        Raises
        ------
        KeyError
            For a node that is not in the layout.

        Examples
        --------
        >>> from poincare_memory.hierarchy import sarkar_layout
        >>> layout = sarkar_layout([("a", "b"), ("b", "c")], dim=2, precision="double-double")
        >>> layout.distances([("a", "b"), ("b", "c")]).round(9).tolist()
        [1.0, 1.0]
        """
        ends = edge_endpoints(pairs, "x", "y")
        rows = np.fromiter((self._row[node] for node in ends), np.int32, len(ends)).reshape(-1, 2)
        out = np.empty(len(rows))
        first, second = np.ascontiguousarray(rows.T)
        _kernels.polar_pair_distances(
            self.direction, self.correction, self._scaled, first, second, out, resolve_threads(n_threads)
        )
        return np.asarray(out / np.sqrt(self.curvature))

    def rows(self, nodes: Iterable[N]) -> npt.NDArray[np.int32]:
        """Rows of nodes in `direction`, `correction` and `radius`.

        Parameters
        ----------
        nodes : iterable of node

        Returns
        -------
        int32 array of shape (len(nodes),)

        Raises
        ------
        KeyError
            For a node that is not in the layout.

        Examples
        --------
        >>> from poincare_memory.hierarchy import sarkar_layout
        >>> layout = sarkar_layout([("a", "b"), ("b", "c")], dim=2, precision="double-double")
        >>> layout.rows(["c", "a"]).tolist()
        [2, 0]
        """
        return np.array([self._row[node] for node in nodes], np.int32)
