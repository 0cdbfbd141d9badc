"""Embedders as the JSON values that files hold."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from .hashing import HashingEmbedder
from .protocol import Embedder

__all__ = ["embedder_from_spec", "embedder_spec"]

_HASHING = "hashing"


def embedder_spec(embedder: Embedder) -> dict[str, Any]:
    """JSON value of an embedder. Any but HashingEmbedder itself, also a subclass, leaves its name and length.

    Examples
    --------
    >>> embedder_spec(HashingEmbedder(dim=64))
    {'type': 'hashing', 'dim': 64, 'ngram_range': [3, 5], 'seed': 0}
    """
    if type(embedder) is HashingEmbedder:
        return {
            "type": _HASHING,
            "dim": embedder.dim,
            "ngram_range": list(embedder.ngram_range),
            "seed": embedder.seed,
        }
    name = type(embedder).__name__
    return {"type": f"custom {name}" if name == _HASHING else name, "dim": operator.index(embedder.dim)}


def embedder_from_spec(spec: Mapping[str, Any]) -> HashingEmbedder:
    """Inverse of :func:`embedder_spec`, for the hashing embedder.

    Raises
    ------
    ValueError
        If the embedder was another one (pass ``embedder=`` to load the file), or the value is not one's.

    Examples
    --------
    >>> embedder_from_spec({"type": "hashing", "dim": 64, "ngram_range": [3, 5], "seed": 0})
    HashingEmbedder(dim=64, ngram_range=(3, 5), seed=0)
    """
    if not isinstance(spec, Mapping) or not isinstance(spec.get("type"), str):
        raise ValueError(f"embedder: expected a JSON object with a type, got {spec!r:.80}")
    if spec["type"] != _HASHING:
        raise ValueError(
            f"this memory was made with the embedder {spec['type']!r} (dim {spec.get('dim')}), which is not "
            "kept in files: pass embedder= to load it"
        )
    missing = [name for name in ("dim", "ngram_range", "seed") if name not in spec]
    if missing:
        raise ValueError(f"embedder 'hashing': {missing[0]} is missing")
    try:
        return HashingEmbedder(dim=spec["dim"], ngram_range=spec["ngram_range"], seed=spec["seed"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"embedder 'hashing': {error}") from error
