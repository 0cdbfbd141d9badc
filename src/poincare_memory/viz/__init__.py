"""Seeing a memory: coordinates, plain data, an interactive page, a matplotlib plot."""

from .export import disk_coordinates, structural_coordinates, to_dict, to_networkx
from .graphml import to_graphml
from .html import render_html
from .mermaid import to_mermaid
from .mpl import plot_memory

__all__ = [
    "disk_coordinates",
    "plot_memory",
    "render_html",
    "structural_coordinates",
    "to_dict",
    "to_graphml",
    "to_mermaid",
    "to_networkx",
]
