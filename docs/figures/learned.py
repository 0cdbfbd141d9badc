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
from style import COLOURS, disk, save

from poincare_memory import PoincareBall
from poincare_memory.hierarchy import closure_of_dag, io, recipes

ROOT = "mammal.n.01"
NODES = 1_170


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


edges = edges_to_learn()
closure = closure_of_dag(edges)
points, _ = recipes.for_reconstruction(2, nodes=len({v for _, v in edges}) + 1).fit(closure, seed=0)

# A colour for each of the largest branches: the nodes that a fortieth to a fifth of all lie below.
size = Counter(above for above, _ in closure)
large = [node for node, count in size.most_common() if len(points) / 40 < count < len(points) / 5]
branch: dict[str, str] = {}
chosen: list[str] = []
for node in large:
    if len(chosen) < len(COLOURS) and node not in branch:
        chosen.append(node)
        branch[node] = node
        branch.update({below: node for above, below in closure if above == node})

figure, axes = plt.subplots(figsize=(6.4, 6.4))
disk(axes)
ball = PoincareBall()
for parent, child in edges:
    line = np.array([ball.geodesic(points[parent], points[child], t) for t in np.linspace(0, 1, 8)])
    axes.plot(*line.T, color="#99a", lw=0.3, zorder=1)
for name in ["", *chosen]:
    members = np.array([point for node, point in points.items() if branch.get(node, "") == name])
    label = f"{name.split('.')[0]} and below" if name else None
    colour = COLOURS[chosen.index(name)] if name else "#667"
    axes.scatter(*members.T, s=5, color=colour, label=label, zorder=2)
axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.1), ncol=3, frameon=False, fontsize=8)
save(figure)
