"""Entailment cones of three memories, each inside that of the one above."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from style import COLOURS, disk, save

from poincare_memory import PoincareBall, cone_energy

ball = PoincareBall()
figure, axes = plt.subplots(figsize=(5.2, 5.2))
disk(axes)
side = np.linspace(-1, 1, 900)
grid = np.stack(np.meshgrid(side, side), axis=-1)
inside = np.linalg.norm(grid, axis=-1) < 0.999
apexes = [("limb", 0.8, 20.0), ("leg", 1.7, 28.0), ("knee", 2.6, 32.0)]
for (name, depth, degrees), colour in zip(apexes, COLOURS, strict=False):
    direction = np.array([[np.cos(np.radians(degrees)), np.sin(np.radians(degrees))]])
    apex = ball.point_at(direction, depth)[0]
    energy = np.full(inside.shape, 1.0)
    energy[inside] = cone_energy(apex[None], grid[inside], ball, 0.35)
    axes.contourf(side, side, energy, levels=[-1, 1e-9], colors=[colour], alpha=0.22)
    axes.contour(side, side, energy, levels=[1e-9], colors=[colour], linewidths=0.9)
    axes.plot(*apex, "o", color=colour, ms=5)
    axes.annotate(name, apex, xytext=(-8, -10), textcoords="offset points", ha="right")
axes.plot(0, 0, "+", color="#666")
save(figure)
