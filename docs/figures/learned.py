"""WordNet's mammals learnt in two dimensions, where WordNet is installed; else a synthetic taxonomy of their size.

    python docs/figures/learned.py [FILE]

FILE has a child and its parent a line, with a tab between them. Without it WordNet is looked for, by NLTK or in
Debian's `wordnet-base`. (WordNet 3.0, © 2006 by Princeton University; it is not part of this project.)
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from style import COLOURS as BASIC
from style import save

from poincare_memory import PoincareBall
from poincare_memory.hierarchy import closure_of_dag, io, recipes

ROOT = "mammal.n.01"
NODES = 1_170
COLOURS = (*BASIC, "#3a9188", "#a23b72", "#6b705c")


def edges_to_learn() -> list[tuple[str, str]]:
    """(parent, child), and what they are of."""
    if len(sys.argv) > 1:
        lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
        return [(parent, child) for child, parent in (line.split("\t") for line in lines)]
    debian = Path("/usr/share/wordnet")
    try:
        found = (io.read_wordnet(debian) if (debian / "data.noun").exists() else io.from_nltk()).edges
    except (ImportError, LookupError):
        return synthetic()
    below = {child for parent, child in closure_of_dag(found) if parent == ROOT} | {ROOT}
    return [(parent, child) for parent, child in found if parent in below and child in below]


def synthetic() -> list[tuple[str, str]]:
    """A tree in which early nodes have many children, as taxonomies do."""
    draw = np.random.default_rng(0)
    return [(str(int(i * draw.random() ** 1.6)), str(i)) for i in range(1, NODES)]


def shown(points: np.ndarray) -> np.ndarray:
    """Points of the ball with their hyperbolic radius in place of their norm: next to the rim there is room then."""
    norms = np.linalg.norm(points, axis=-1, keepdims=True)
    return points * (2 * np.arctanh(norms) / np.maximum(norms, 1e-12))


def largest_branches(closure: list[tuple[str, str]], nodes: int) -> dict[str, str]:
    """Node to the branch it lies in: those that a fortieth to a fifth of all nodes lie below."""
    size = Counter(above for above, _ in closure)
    branch: dict[str, str] = {}
    chosen = 0
    for node, count in size.most_common():
        if chosen < len(COLOURS) and nodes / 40 < count < nodes / 5 and node not in branch:
            chosen += 1
            branch[node] = node
            branch.update({below: node for above, below in closure if above == node})
    return branch


def crowd(angles: np.ndarray) -> float:
    """The angle that most others lie near."""
    gaps = np.abs((angles[:, None] - angles + np.pi) % (2 * np.pi) - np.pi)
    return float(angles[np.argmax((gaps < 0.25).sum(axis=1))])


edges = edges_to_learn()
closure = closure_of_dag(edges)
upwards = [(below, above) for above, below in closure]
points, _ = recipes.for_reconstruction(2, nodes=len({v for _, v in edges}) + 1).fit(upwards, seed=0)
root = max(points, key=Counter(above for above, _ in closure).__getitem__)
ball = PoincareBall()
names = list(points)
centred = ball.mobius_add(-points[root], np.stack(list(points.values())))  # an isometry
row = {name: i for i, name in enumerate(names)}
place = shown(centred)
reach = float(np.linalg.norm(place, axis=1).max())

branch = largest_branches(closure, len(points))
colour = dict(zip(dict.fromkeys(branch.values()), COLOURS, strict=False))
size = Counter(above for above, _ in closure)

figure, axes = plt.subplots(figsize=(7.2, 7.2))
axes.set_aspect("equal")
axes.axis("off")
axes.set(xlim=(-1.22 * reach, 1.22 * reach), ylim=(-1.12 * reach, 1.12 * reach))
for radius in range(2, int(reach) + 1, 2):
    axes.add_patch(plt.Circle((0, 0), radius, fill=False, ec="#dfe2ea", lw=0.7, zorder=0))
steps = np.linspace(0, 1, 48)
lines = [
    shown(np.array([ball.geodesic(centred[row[parent]], centred[row[child]], t) for t in steps]))
    for parent, child in edges
]
inks = [colour.get(branch.get(child, ""), "#9a9fad") for _, child in edges]
axes.add_collection(LineCollection(lines, colors=inks, lw=0.5, alpha=0.5, zorder=1, rasterized=True))
axes.scatter(
    *place.T,
    s=[3 + 6 * np.log1p(size[name]) for name in names],
    c=[colour.get(branch.get(name, ""), "#667") for name in names],
    lw=0,
    zorder=2,
)
for name, ink in colour.items():
    members = place[[row[node] for node, of in branch.items() if of == name]]
    angle = crowd(np.arctan2(members[:, 1], members[:, 0]))
    side = np.cos(angle)
    axes.text(
        1.03 * reach * np.cos(angle),
        1.03 * reach * np.sin(angle),
        name.split(".")[0].replace("_", " "),
        color=ink,
        weight="bold",
        ha="center" if abs(side) < 0.06 else "left" if side > 0 else "right",
        va="center" if abs(side) >= 0.35 else "bottom" if np.sin(angle) > 0 else "top",
    )
save(figure)
