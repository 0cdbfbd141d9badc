"""From text to Euclidean vectors, and from these into the ball."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .base import CallableEmbedder, Embedder, HashingEmbedder, SentenceTransformerEmbedder
from .learned import LearnedEmbedder
from .projection import BallProjector

if TYPE_CHECKING:
    from .cached import CachedEmbedder
    from .model2vec import Model2VecEmbedder
    from .onnx import OnnxEmbedder
    from .remote import EmbeddingServiceError, OpenAICompatibleEmbedder

# Those that most memories do not need (they load sqlite3, http, ...).
_AT_FIRST_USE = {
    "CachedEmbedder": "cached",
    "EmbeddingServiceError": "remote",
    "Model2VecEmbedder": "model2vec",
    "OnnxEmbedder": "onnx",
    "OpenAICompatibleEmbedder": "remote",
}

__all__ = [
    "BallProjector",
    "CachedEmbedder",
    "CallableEmbedder",
    "Embedder",
    "EmbeddingServiceError",
    "HashingEmbedder",
    "LearnedEmbedder",
    "Model2VecEmbedder",
    "OnnxEmbedder",
    "OpenAICompatibleEmbedder",
    "SentenceTransformerEmbedder",
]


def __getattr__(name: str) -> Any:
    if name not in _AT_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_AT_FIRST_USE[name]}", __name__), name)
    globals()[name] = value
    return value
