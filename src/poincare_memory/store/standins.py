"""Stand-ins for embedders and policies of a user's own, where neither is asked: look at a file, mend it, convert it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..embed.protocol import Embedder
from ..embed.specs import embedder_from_spec
from ..temporal.policies import DecayPolicy
from ..temporal.specs import policy_from_spec

__all__ = ["embedder_or_standin", "policy_or_standin", "standin_embedder", "standin_policy"]

Made = TypeVar("Made")


class _StandInEmbedder:
    """Has the name and length of an embedder, for files, and cannot embed."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def embed(self, texts: Any) -> Any:
        raise RuntimeError(
            f"this memory's embedder, {type(self).__name__!r}, is not here to embed texts: pass it"
        )


class _StandInPolicy:
    """Has the name of a policy, for files, and knows no weights."""

    def weight(self, *_: Any) -> Any:
        raise RuntimeError(
            f"this memory's decay policy, {type(self).__name__!r}, is not here to give weights: pass it"
        )


def embedder_or_standin(spec: Any) -> Embedder:
    """The embedder that a file tells of; of one that is not kept in files a stand-in.

    Examples
    --------
    >>> from poincare_memory.store.standins import embedder_or_standin
    >>> embedder_or_standin({"type": "MyModel", "dim": 384}).dim
    384
    """
    try:
        return embedder_from_spec(spec)
    except ValueError:
        name, dim = (spec.get("type"), spec.get("dim")) if isinstance(spec, Mapping) else (None, None)
        if not isinstance(name, str) or name == "hashing" or type(dim) is not int or dim < 1:
            raise
        made: Embedder = type(name, (_StandInEmbedder,), {})(dim)
        return made


def policy_or_standin(spec: Any) -> DecayPolicy:
    """The policy that a file tells of; of one that is not kept in files a stand-in."""
    try:
        return policy_from_spec(spec)
    except ValueError:
        name = spec.get("type") if isinstance(spec, Mapping) else None
        if not isinstance(name, str) or len(spec) > 1:
            raise
        made: DecayPolicy = type(name, (_StandInPolicy,), {})()
        return made


def standin_embedder(config: Mapping[str, Any]) -> Embedder | None:
    """A stand-in for the embedder of a file's settings, where files do not keep it."""
    spec = config.get("embedder")
    kept = not isinstance(spec, Mapping) or spec.get("type") == "hashing"
    return None if kept else _or_none(embedder_or_standin, spec)


def standin_policy(config: Mapping[str, Any]) -> DecayPolicy | None:
    """A stand-in for the policy of a file's settings, where files do not keep it."""
    spec = config.get("decay", {"type": "none"})
    if _or_none(policy_from_spec, spec) is not None:
        return None
    return _or_none(policy_or_standin, spec)


def _or_none(make: Callable[[Any], Made], spec: Any) -> Made | None:
    try:
        return make(spec)
    except ValueError:
        return None
