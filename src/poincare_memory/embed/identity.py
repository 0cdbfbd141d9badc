"""Which embedder made the vectors of a store or cache: class, parameters, length, the embedding of a fixed text."""

from __future__ import annotations

import json
import logging
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .embedding import embed_texts
from .specs import embedder_spec

if TYPE_CHECKING:
    from .protocol import Embedder

logger = logging.getLogger("poincare_memory")

FINGERPRINT_TEXT: Final = "Which embedder is this? The hamstrings bend the knee; green tea from Uji, 1738."
LARGEST_DIFFERENCE: Final = 1e-6  # 1 − cosine; half precision and another batch size stay below it

EMBEDDER: Final = "embedder"  # its key in pm_info

Identity = dict[str, Any]


def identity_of(embedder: Embedder) -> Identity:
    """What tells one embedder from another. Call it with no lock held: it embeds a text.

    An embedder that cannot embed the text now (it is down, or knows certain texts only) has no fingerprint; then
    its name and parameters must do.
    """
    kind = type(embedder)
    identity: Identity = {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "parameters": _parameters(embedder),
        "fingerprint": None,
    }
    try:
        vector = embed_texts(embedder, [FINGERPRINT_TEXT])[0]
    except Exception as error:
        logger.warning("%s could not embed a text to be known again by (%s)", kind.__name__, error)
    else:
        identity["fingerprint"] = vector.astype(np.float64).tolist()
    return identity


def _parameters(embedder: Embedder) -> dict[str, Any]:
    name = getattr(embedder, "model_name", None)
    return embedder_spec(embedder) | ({"model_name": name} if isinstance(name, str) else {})


def to_text(identity: Identity) -> str:
    return json.dumps(identity)


def from_text(text: Any) -> Identity | None:
    """What `to_text` wrote; None for anything else."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("parameters"), dict):
        return None
    vector = found.get("fingerprint")
    numbers = isinstance(vector, list) and all(isinstance(x, float) and math.isfinite(x) for x in vector)
    return {
        "class": str(found.get("class")),
        "parameters": found["parameters"],
        "fingerprint": vector if numbers else None,
    }


def difference(used: Identity, now: Identity, largest: float = LARGEST_DIFFERENCE) -> str | None:
    """How two embedders differ, in words; None where they are the same, fingerprints to within `largest`."""
    old, new = used["fingerprint"], now["fingerprint"]
    if old is None or new is None:
        return _difference_in_name(used, now)
    if len(old) != len(new):
        return f"{_named(used)} gives vectors of length {len(old)}, {_named(now)} of length {len(new)}"
    a, b = _scaled(old), _scaled(new)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    if lengths == 0.0:
        return (
            None
            if np.array_equal(a, b)
            else _difference_in_name(used, now) or "only one embeds the test text to zero"
        )
    cosine = float(a @ b) / lengths
    if 1.0 - cosine <= largest:
        return None
    return f"{_named(used)} and {_named(now)} embed the same text differently (cosine {cosine:.6f})"


def _scaled(vector: list[float]) -> NDArray[np.float64]:
    """With a largest entry of 1: a square of it would leave float64 at 1e160."""
    values = np.array(vector, np.float64)
    largest = np.abs(values).max(initial=0.0)
    return values / largest if largest else values


def _difference_in_name(used: Identity, now: Identity) -> str | None:
    if used["parameters"] == now["parameters"]:
        return None
    return f"{_named(used)} was used, {_named(now)} is given"


def _named(identity: Identity) -> str:
    parameters = dict(identity["parameters"] or {})
    kind = parameters.pop("type", "?")
    details = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    return f"{identity['class'] or kind}({details})"
