"""Hierarchies out of files and other libraries: edges, and what the nodes are called.

Every reader returns a :class:`Taxonomy`. Files may come from anybody: sizes are bounded, nothing is expanded or
fetched, and errors name file and line.
"""

from __future__ import annotations

from .delimited import read_edges
from .graphs import from_networkx
from .obo import read_obo
from .rdf import read_owl, read_skos
from .taxonomy import Taxonomy
from .wordnet import from_nltk, read_wordnet

__all__ = [
    "Taxonomy",
    "from_networkx",
    "from_nltk",
    "read_edges",
    "read_obo",
    "read_owl",
    "read_skos",
    "read_wordnet",
]
