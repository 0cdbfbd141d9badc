"""Distance of a query to memories at three depths by the angle between them: raw, and on the shell of the roots."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from style import COLOURS, save

from poincare_memory import PoincareBall

ball = PoincareBall()
angles = np.linspace(0, np.pi, 400)
directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
query = ball.point_at(directions[:1], 1.0)

figure, axes = plt.subplots(figsize=(6.4, 3.6))
for depth, colour in zip((1.0, 2.0, 3.0), COLOURS, strict=False):
    distances = ball.distance(query, ball.point_at(directions, depth))
    label = f"depth {depth:g}" + (" (and every depth, on the shell)" if depth == 1 else "")
    axes.plot(np.degrees(angles), distances, color=colour, label=label)
axes.axhline(
    float(ball.distance(query, ball.point_at(directions[200:201], 1.0))[0]), color="#99a", lw=0.8, ls=":"
)
axes.set_xlabel("angle between query and memory (degrees)")
axes.set_ylabel("hyperbolic distance")
axes.set_xticks(range(0, 181, 30))
axes.legend(frameon=False)
save(figure)
