"""Entailment cones and scoring."""

from .cones import DEFAULT_K, cone_angle, cone_energy, half_aperture, in_cone
from .scoring import combine

__all__ = ["DEFAULT_K", "combine", "cone_angle", "cone_energy", "half_aperture", "in_cone"]
