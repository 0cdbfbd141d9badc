"""Embedders: the protocol and the implementations that come with the package."""

from __future__ import annotations

from .function import CallableEmbedder
from .hashing import HashingEmbedder
from .protocol import Embedder
from .sentence import SentenceTransformerEmbedder

__all__ = ["CallableEmbedder", "Embedder", "HashingEmbedder", "SentenceTransformerEmbedder"]
