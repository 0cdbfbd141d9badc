"""Hierarchies as points: trees, layouts, learned embeddings and their evaluation."""

from .evaluation import ReconstructionResult, reconstruction
from .rsgd import TrainingReport, fit_euclidean_embeddings, fit_poincare_embeddings
from .tree import children_map, depths, transitive_closure

__all__ = [
    "ReconstructionResult",
    "TrainingReport",
    "children_map",
    "depths",
    "fit_euclidean_embeddings",
    "fit_poincare_embeddings",
    "reconstruction",
    "transitive_closure",
]
