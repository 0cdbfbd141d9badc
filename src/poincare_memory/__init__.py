"""Hierarchy-aware, time-aware memory for LLM agents and RAG, on the Poincaré ball.

The way of the data, and the order of the modules (each imports only from earlier ones)::

    text → embedding → direction + radius → columns → candidates → score → result

    _core → geometry → embed → temporal → hierarchy → retrieval → store.records → store.placement
          → store.columns → index → store.search → store.sqlite → viz → store.memory → demo → cli
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.9.0"

# Where each public name lives. Loaded at first use, so that `import poincare_memory` costs no more than NumPy.
_HOME = {
    "BallProjector": "embed.projection",
    "CallableEmbedder": "embed.base",
    "DecayPolicy": "temporal.policies",
    "Ebbinghaus": "temporal.policies",
    "Embedder": "embed.base",
    "HalfLife": "temporal.policies",
    "HashingEmbedder": "embed.base",
    "MIPSIndex": "index",
    "Memory": "store.memory",
    "MemoryRecord": "store.records",
    "NoDecay": "temporal.policies",
    "PoincareBall": "geometry.poincare",
    "Product": "temporal.policies",
    "SearchResult": "store.records",
    "SentenceTransformerEmbedder": "embed.base",
    "ValidityWindow": "temporal.policies",
    "cone_energy": "retrieval.cones",
    "fit_euclidean_embeddings": "hierarchy.rsgd",
    "fit_poincare_embeddings": "hierarchy.rsgd",
    "generative_agents_recency": "temporal.policies",
    "in_cone": "retrieval.cones",
    "lorentz_distance": "geometry.lorentz",
    "max_safe_depth": "hierarchy.sarkar",
    "reconstruction": "hierarchy.evaluation",
    "sarkar_layout": "hierarchy.sarkar",
    "to_mips_vectors": "geometry.lorentz",
    "transitive_closure": "hierarchy.tree",
}

# Reachable as attributes after `import poincare_memory` alone, each loaded when it is first named.
_SUBMODULES = frozenset(
    {"embed", "geometry", "hierarchy", "index", "retrieval", "store", "temporal", "viz", "demo"}
)

__all__ = [*_HOME, "__version__"]

if TYPE_CHECKING:
    from . import demo as demo
    from . import embed as embed
    from . import geometry as geometry
    from . import hierarchy as hierarchy
    from . import index as index
    from . import retrieval as retrieval
    from . import store as store
    from . import temporal as temporal
    from . import viz as viz
    from .embed.base import CallableEmbedder as CallableEmbedder
    from .embed.base import Embedder as Embedder
    from .embed.base import HashingEmbedder as HashingEmbedder
    from .embed.base import SentenceTransformerEmbedder as SentenceTransformerEmbedder
    from .embed.projection import BallProjector as BallProjector
    from .geometry.lorentz import lorentz_distance as lorentz_distance
    from .geometry.lorentz import to_mips_vectors as to_mips_vectors
    from .geometry.poincare import PoincareBall as PoincareBall
    from .hierarchy.evaluation import reconstruction as reconstruction
    from .hierarchy.rsgd import fit_euclidean_embeddings as fit_euclidean_embeddings
    from .hierarchy.rsgd import fit_poincare_embeddings as fit_poincare_embeddings
    from .hierarchy.sarkar import max_safe_depth as max_safe_depth
    from .hierarchy.sarkar import sarkar_layout as sarkar_layout
    from .hierarchy.tree import transitive_closure as transitive_closure
    from .index import MIPSIndex as MIPSIndex
    from .retrieval.cones import cone_energy as cone_energy
    from .retrieval.cones import in_cone as in_cone
    from .store.memory import Memory as Memory
    from .store.records import MemoryRecord as MemoryRecord
    from .store.records import SearchResult as SearchResult
    from .temporal.policies import DecayPolicy as DecayPolicy
    from .temporal.policies import Ebbinghaus as Ebbinghaus
    from .temporal.policies import HalfLife as HalfLife
    from .temporal.policies import NoDecay as NoDecay
    from .temporal.policies import Product as Product
    from .temporal.policies import ValidityWindow as ValidityWindow
    from .temporal.policies import generative_agents_recency as generative_agents_recency


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_SUBMODULES})
