"""From text to Euclidean vectors, and from these into the ball."""

from __future__ import annotations

from .base import CallableEmbedder, Embedder, HashingEmbedder, SentenceTransformerEmbedder
from .learned import LearnedEmbedder
from .projection import BallProjector

__all__ = [
    "BallProjector",
    "CallableEmbedder",
    "Embedder",
    "HashingEmbedder",
    "LearnedEmbedder",
    "SentenceTransformerEmbedder",
]
