"""Training-free tree embedding by Sarkar's combinatorial construction.

Sarkar (2011) showed that any tree embeds in the hyperbolic plane with arbitrarily low distortion: put the
root at the origin, place its children on a circle of hyperbolic radius ``tau`` at evenly spaced angles,
then for every child move it to the origin by an isometry, place its own children on a circle around it
while avoiding the direction of its parent, and move everything back. Sala, De Sa, Gu & Ré (2018) analysed
the construction and extended it to higher dimensions by spreading the directions of the children over a
sphere.

Here the nodes are kept in polar coordinates, where no depth saturates; ball points are taken at the end. With
``φ`` the angle between the ray to a node at radius ``r`` and the edge (of length ``l``) to its child, the
child lies at radius ``s`` and at angle ``θ`` from its parent's ray::

    sinh²(s/2)   = sinh²((r+l)/2)·cos²(φ/2) + sinh²((r−l)/2)·sin²(φ/2)
    sinh s·cos θ = sinh(r+l)·cos²(φ/2) + sinh(r−l)·sin²(φ/2)
    sinh s·sin θ = sinh l · sin φ

and in the Euclidean coordinates of the ball the edge turns by ``−2·arg(1 + tanh(r/2)·tanh(l/2)·e^{iφ})`` on
its way, which gives the direction that the child's own children avoid. (Radii and lengths times √c.)

References
----------
R. Sarkar, "Low distortion Delaunay embedding of trees in hyperbolic plane", Graph Drawing 2011.
F. Sala, C. De Sa, A. Gu & C. Ré, "Representation tradeoffs for hyperbolic embeddings", ICML 2018.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from .._core import _kernels
from ..arguments import finite_number, integer, positive_number
from ..geometry.poincare import PoincareBall
from ..geometry.polar import polar_to_ball
from ..threads import resolve_threads
from .precise import PreciseLayout
from .safe_radius import max_safe_depth, warn_beyond_precise_radius, warn_beyond_safe_radius
from .spreading import ITERATIONS, seed_word, spread_directions
from .tree import children_map

__all__ = ["max_safe_depth", "sarkar_layout", "spread_directions"]

N = TypeVar("N", bound=Hashable)
FloatArray = npt.NDArray[np.floating[Any]]

_BLOCK = 1 << 14  # rows


@overload
def sarkar_layout(
    edges: Sequence[tuple[N, N]],
    ball: PoincareBall | None = None,
    dim: int = 2,
    tau: float = 1.0,
    edge_length: Mapping[tuple[N, N], float] | None = None,
    root: N | None = None,
    seed: int = 0,
    *,
    forest: bool = False,
    precision: Literal["float64"] = "float64",
    n_threads: int | None = None,
) -> dict[N, npt.NDArray[np.float64]]: ...
@overload
def sarkar_layout(
    edges: Sequence[tuple[N, N]],
    ball: PoincareBall | None = None,
    dim: int = 2,
    tau: float = 1.0,
    edge_length: Mapping[tuple[N, N], float] | None = None,
    root: N | None = None,
    seed: int = 0,
    *,
    forest: bool = False,
    precision: Literal["double-double"],
    n_threads: int | None = None,
) -> PreciseLayout[N]: ...
def sarkar_layout(
    edges: Sequence[tuple[N, N]],
    ball: PoincareBall | None = None,
    dim: int = 2,
    tau: float = 1.0,
    edge_length: Mapping[tuple[N, N], float] | None = None,
    root: N | None = None,
    seed: int = 0,
    *,
    forest: bool = False,
    precision: Literal["float64", "double-double"] = "float64",
    n_threads: int | None = None,
) -> dict[N, npt.NDArray[np.float64]] | PreciseLayout[N]:
    """Embed a rooted tree given as (parent, child) edges.

    Every child is placed at hyperbolic distance ``tau * edge_length[(parent, child)]`` from its parent
    (``edge_length`` defaults to 1). A larger ``tau`` lowers the distortion, and pushes deep nodes towards the
    boundary: :func:`max_safe_depth` tells how far a tree may reach.

    The result depends on the order of each parent's children, and on no other order of ``edges``.

    Parameters
    ----------
    edges : sequence of (parent, child)
        An edge given twice counts once.
    ball : PoincareBall, optional
        Default: curvature 1.
    dim : int, default 2
        Dimension of the ball, at least 2. In two dimensions the children of a node fill the circle around
        it evenly, their parent in one slot; beyond, see :func:`spread_directions`.
    tau : float, default 1.0
        Length of an edge in hyperbolic units; above 0 and finite.
    edge_length : mapping of (parent, child) to float, optional
        Lengths in units of ``tau``, 1 where an edge is missing. At length 0 both nodes coincide, and the
        edges that leave either of them spread around the place they share.
    root : node, optional
        The node at the origin; only the nodes below it are placed. Default: the only node without a parent.
    seed : int or None, default 0
        For the directions beyond two dimensions; None draws one from the system.
    forest : bool, default False
        Lay several trees out together: their roots become children, at distance ``tau``, of a virtual root at
        the origin, which is not returned. A lone tree has its root at the origin as ever.
    precision : {"float64", "double-double"}, default "float64"
        "double-double" gives directions 106 bits, for trees that reach beyond radius 12/√c up to 60/√c, and
        returns a :class:`PreciseLayout`, which evaluates distances in them.
    n_threads : int, optional
        Default: all processors that this process may use. The result does not depend on it.

    Returns
    -------
    dict, or PreciseLayout for ``precision="double-double"``
        Node to point, a float64 array of shape (dim,). Parents come before their children, siblings together.

    Raises
    ------
    ValueError
        If the edges are no forest, ``root`` is not among the nodes, there is none or more than one root and
        neither ``root`` nor ``forest`` is given, ``edge_length`` names an edge that is not in ``edges`` or
        holds a length that is negative or not finite, or another argument is out of range.

    Warns
    -----
    RuntimeWarning
        If a node lies beyond 95 % of the safe radius ``max_safe_depth(ball, 1.0)``. Distances between
        the points returned are right to about 1e-16·e^(√c·r) at radius r: 1e-10 at the safe radius, 1e-6 at
        23/√c. From about 36/√c on, float64 has no point so close to the boundary, and the largest norm
        below it is returned. With ``precision="double-double"``: beyond 95 % of radius 48/√c, where 106 bits
        keep what float64 keeps at its safe radius.

    Examples
    --------
    >>> from poincare_memory.geometry import PoincareBall
    >>> points = sarkar_layout([("animal", "dog"), ("animal", "cat"), ("dog", "poodle")], tau=2.0)
    >>> round(float(PoincareBall().distance(points["dog"], points["poodle"])), 9)
    2.0
    >>> points["animal"].tolist()
    [0.0, 0.0]
    """
    space = chosen_ball(ball)
    if precision not in ("float64", "double-double"):
        raise ValueError(f'precision: expected "float64" or "double-double", got {precision!r}')
    columns = integer("dim", dim, least=2)
    unit = positive_number("tau", tau) * space.sqrt_c
    word = seed_word(seed)
    threads = resolve_threads(n_threads)
    children, roots = children_map(edges)
    lengths = edge_lengths(edge_length, children, unit)
    origin = _joined(children, roots) if forest and root is None else _origin(children, roots, root)
    place, child_count, length = _breadth_first(children, origin, lengths, unit)
    nodes = [node for node in _families(children, origin) if not isinstance(node, _VirtualRoot)]
    rows = [place[node] for node in nodes]
    del children, place  # as large as the points; they are let go before these are made

    places = len(child_count)
    direction, radius = np.empty((places, columns)), np.empty(places)
    low = np.empty((places, columns)) if precision == "double-double" else None
    _kernels.sarkar_polar(
        child_count,
        length,
        word,
        ITERATIONS,
        direction,
        radius,
        threads,
        low,
    )
    if low is not None:
        radius /= space.sqrt_c
        warn_beyond_precise_radius(space, float(radius.max()))
        return PreciseLayout(nodes, direction[rows], low[rows], radius[rows], space.c)
    warn_beyond_safe_radius(space, radius / space.sqrt_c)
    points = _ball_points(direction, radius, space.sqrt_c)
    if lengths:  # nodes may share a place, but no array
        return dict(zip(nodes, points[rows], strict=True))
    return dict(zip(nodes, map(points.__getitem__, rows), strict=True))


def _ball_points(
    direction: npt.NDArray[np.float64], radius: npt.NDArray[np.float64], sqrt_c: float
) -> npt.NDArray[np.float64]:
    """Points in the place of their directions; radii are those of curvature 1."""
    for first in range(0, len(direction), _BLOCK):
        part = slice(first, first + _BLOCK)
        direction[part] = polar_to_ball(direction[part], radius[part], 1.0)
        direction[part] /= sqrt_c
    return direction


class _VirtualRoot:
    """The node that joins the trees of a forest."""


def chosen_ball(ball: PoincareBall | None) -> PoincareBall:
    """That ball, or the one of curvature 1."""
    if ball is None:
        return PoincareBall()
    if not isinstance(ball, PoincareBall):
        raise TypeError(f"ball: expected a PoincareBall or None, got {ball!r}")
    return ball


def _joined(children: dict[N, list[N]], roots: list[N]) -> N:
    """The root of a forest: of several trees a virtual one, which is entered into `children`."""
    if len(roots) <= 1:
        return _origin(children, roots, None)
    origin = cast(N, _VirtualRoot())
    children[origin] = roots
    return origin


def _origin(children: Mapping[N, Sequence[N]], roots: Sequence[N], root: N | None) -> N:
    if root is not None:
        known = root in children or root in roots or any(root in below for below in children.values())
        if known or not children:
            return root
        raise ValueError(f"root: {root!r} is no node of edges; expected one, such as {roots[0]!r}")
    if len(roots) == 1:
        return roots[0]
    if not roots:
        raise ValueError(
            "edges: expected at least one (parent, child) edge, got none; for a lone node give root="
        )
    shown = ", ".join(repr(node) for node in roots[:3]) + (", …" if len(roots) > 3 else "")
    raise ValueError(
        f"edges: expected exactly one root, got {len(roots)} ({shown}): choose one with root=, or lay "
        "all trees out with forest=True"
    )


def edge_lengths(
    edge_length: Mapping[tuple[N, N], float] | None, children: Mapping[N, Sequence[N]], unit: float
) -> dict[tuple[N, N], float]:
    """Checked lengths in units of curvature −1."""
    if edge_length is None:
        return {}
    if not isinstance(edge_length, Mapping):
        raise TypeError(
            "edge_length: expected a mapping of (parent, child) to a length, got "
            f"{type(edge_length).__name__}"
        )
    edges = {(parent, child) for parent, below in children.items() for child in below}
    lengths = {}
    for edge, value in edge_length.items():
        if edge not in edges:
            hint = " (the parent comes first)" if _is_reversed(edge, edges) else ""
            raise ValueError(f"edge_length: {edge!r} is no edge of the tree{hint}")
        name = f"edge_length[{edge!r}]"
        scaled = finite_number(name, value) * unit
        if not (scaled >= 0.0 and math.isfinite(scaled)):
            raise ValueError(
                f"{name}: expected a length of at least 0 whose multiple by tau is finite, got {value!r}"
            )
        lengths[edge] = scaled
    return lengths


def _is_reversed(edge: object, edges: set[tuple[N, N]]) -> bool:
    return isinstance(edge, tuple) and edge[::-1] in edges


def _breadth_first(
    children: Mapping[N, Sequence[N]], root: N, lengths: Mapping[tuple[N, N], float], unit: float
) -> tuple[dict[N, int], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Places in breadth-first order: the place of every node, and children and edge length of every place.

    Nodes joined by edges of length 0 share a place, and its children are all of theirs.
    """
    place: dict[N, int] = {}
    child_count, length = array("q"), array("d", [unit])
    first_nodes = [root]
    for number, first in enumerate(first_nodes):
        placed_before = len(first_nodes)
        together = [first]
        for node in together:
            place[node] = number
            for child in children.get(node, ()):
                edge = lengths.get((node, child), unit) if lengths else unit
                if edge == 0.0:
                    together.append(child)
                else:
                    first_nodes.append(child)
                    length.append(edge)
        child_count.append(len(first_nodes) - placed_before)
    return place, np.frombuffer(child_count, np.int64), np.frombuffer(length, np.float64)


def _families(children: Mapping[N, Sequence[N]], root: N) -> list[N]:
    """All nodes below ``root`` and itself, each family together, the last family met first."""
    order, waiting = [root], [root]
    while waiting:
        below = children.get(waiting.pop(), ())
        order.extend(below)
        waiting.extend(below)
    return order
