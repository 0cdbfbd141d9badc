"""Hierarchies as points: trees, layouts, learned embeddings and their evaluation."""

from .dag import closure_of_dag, tree_of_dag
from .entailment import fit_entailment_cones
from .evaluation import ReconstructionResult, reconstruction
from .links import ConeScores, LinkSplit, cone_link_scores, link_prediction, split_links
from .precise import PreciseLayout
from .progress import TrainingProgress
from .quality import LayoutQuality, layout_quality
from .rsgd import TrainingReport, fit_euclidean_embeddings, fit_poincare_embeddings
from .sarkar import max_safe_depth, sarkar_layout, spread_directions
from .tree import children_map, depths, transitive_closure

__all__ = [
    "ConeScores",
    "LayoutQuality",
    "LinkSplit",
    "PreciseLayout",
    "ReconstructionResult",
    "TrainingProgress",
    "TrainingReport",
    "children_map",
    "closure_of_dag",
    "cone_link_scores",
    "depths",
    "fit_entailment_cones",
    "fit_euclidean_embeddings",
    "fit_poincare_embeddings",
    "layout_quality",
    "link_prediction",
    "max_safe_depth",
    "reconstruction",
    "sarkar_layout",
    "split_links",
    "spread_directions",
    "transitive_closure",
    "tree_of_dag",
]
