"""The demo's memories: direction from the text and the parent, depth from the level."""

from __future__ import annotations

from datetime import datetime, timezone

import matplotlib.pyplot as plt
from style import save

from poincare_memory.demo import build_demo_memory

memory = build_demo_memory(clock=lambda: datetime(2026, 1, 1, tzinfo=timezone.utc))
figure, axes = plt.subplots(figsize=(6.4, 6.4))
memory.plot(ax=axes, labels=True)
save(figure)
