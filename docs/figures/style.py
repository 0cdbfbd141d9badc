"""What the figures of the documentation have in common. `python docs/figures/NAME.py` draws NAME.svg beside itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "poincare-memory",  # the same file at every run
        "svg.fonttype": "none",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.facecolor": "white",
    }
)

COLOURS = ("#2a6f97", "#c8553d", "#588157", "#8d6a9f", "#b08900")


def save(figure: Any) -> None:
    """Write the figure beside the program that was started."""
    program = Path(sys.argv[0]).resolve()
    figure.savefig(program.with_suffix(".svg"), bbox_inches="tight", dpi=110, metadata={"Date": None})


def disk(axes: Any) -> None:
    """An empty Poincaré disk."""
    from matplotlib.patches import Circle

    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_xlim(-1.05, 1.05)
    axes.set_ylim(-1.05, 1.05)
    axes.add_patch(Circle((0, 0), 1, facecolor="#f6f7f9", edgecolor="#889", lw=1))
