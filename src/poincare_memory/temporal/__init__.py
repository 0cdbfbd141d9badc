"""Time: policies that weigh memories by age, access and validity, and instants as integers."""

from __future__ import annotations

from .policies import (
    MIN_WEIGHT,
    DecayPolicy,
    Ebbinghaus,
    HalfLife,
    NoDecay,
    Product,
    ValidityWindow,
    generative_agents_recency,
    to_utc,
    utcnow,
)

__all__ = [
    "MIN_WEIGHT",
    "DecayPolicy",
    "Ebbinghaus",
    "HalfLife",
    "NoDecay",
    "Product",
    "ValidityWindow",
    "generative_agents_recency",
    "to_utc",
    "utcnow",
]
