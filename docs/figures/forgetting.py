"""Weight of a memory by its age, as the built-in policies give it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import matplotlib.pyplot as plt
import numpy as np
from style import COLOURS, save

from poincare_memory import Ebbinghaus, HalfLife, ValidityWindow, generative_agents_recency

born = datetime(2026, 1, 1, tzinfo=timezone.utc)
days = np.linspace(0, 60, 481)
policies = [
    ("HalfLife(24 * 14)", HalfLife(24 * 14), 0),
    ("Ebbinghaus(24 * 14), never recalled", Ebbinghaus(24 * 14, 0.5), 0),
    ("… recalled four times", Ebbinghaus(24 * 14, 0.5), 4),
    ("generative_agents_recency()", generative_agents_recency(), 0),
    ("ValidityWindow(), valid for 40 days", ValidityWindow(), 0),
]
until = born + timedelta(days=40)

figure, axes = plt.subplots(figsize=(6.4, 3.6))
for (name, policy, recalls), colour in zip(policies, COLOURS, strict=True):
    weights = [
        policy.weight(born + timedelta(days=float(day)), [born], [recalls], [None], [until])[0]
        for day in days
    ]
    axes.plot(days, weights, color=colour, label=name)
axes.set_xlabel("age (days)")
axes.set_ylabel("weight")
axes.set_ylim(0, 1.05)
axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2)
save(figure)
