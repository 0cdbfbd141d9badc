"""The Poincaré ball, the Lorentz model, and polar coordinates that hold any depth."""

from .lorentz import lorentz_distance, lorentz_inner, mips_scores, to_mips_vectors
from .poincare import PoincareBall

__all__ = ["PoincareBall", "lorentz_distance", "lorentz_inner", "mips_scores", "to_mips_vectors"]
