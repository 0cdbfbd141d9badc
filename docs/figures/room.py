"""A tree that branches in three, five levels deep, laid out exactly: every edge has the same hyperbolic length."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from style import COLOURS, disk, save

from poincare_memory import PoincareBall, sarkar_layout

BRANCHES, LEVELS = 3, 5

edges, level = [], {"": 0}
nodes = [""]
while nodes:
    node = nodes.pop()
    if level[node] == LEVELS:
        continue
    for branch in range(BRANCHES):
        child = f"{node}{branch}"
        edges.append((node, child))
        level[child] = level[node] + 1
        nodes.append(child)

ball = PoincareBall()
points = sarkar_layout(edges, ball, tau=1.2)

figure, axes = plt.subplots(figsize=(5.2, 5.2))
disk(axes)
for parent, child in edges:
    line = np.array([ball.geodesic(points[parent], points[child], t) for t in np.linspace(0, 1, 12)])
    axes.plot(*line.T, color="#99a", lw=0.6, zorder=1)
places = np.array([points[node] for node in level])
depths = np.array(list(level.values()))
colours = [COLOURS[(depth - 1) % len(COLOURS)] if depth else "#222" for depth in depths]
axes.scatter(*places.T, s=26 / (1 + depths) ** 1.1, c=colours, zorder=2)
save(figure)
