"""Memories to search, whose embeddings are angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from poincare_memory import Memory

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


HOUR = timedelta(hours=1)


class Angles:
    """ "name@0.3" lies at 0.3 rad; "name@" has no direction."""

    dim = 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        self.asked.append(list(texts))
        ends = [text.partition("@")[2] for text in texts]
        return np.array([[math.cos(float(a)), math.sin(float(a))] if a else [0.0, 0.0] for a in ends])


def memory(**settings: Any) -> Memory:
    return Memory(embedder=Angles(), **{"clock": lambda: NOW, **settings})


def ids(results: Sequence[Any]) -> list[str]:
    return [result.id for result in results]


def fan(n: int, **settings: Any) -> Memory:
    """Memories "0" … at angles 0, 0.001, …, a year old; ``meta["g"]`` is the last two digits."""
    mem = memory(**settings)
    mem.add_many(
        {"text": f"i@{i / 1000}", "id": str(i), "t": NOW - timedelta(days=365), "meta": {"g": i % 100}}
        for i in range(n)
    )
    return mem


def family(**settings: Any) -> Memory:
    """
    r ─┬─ a ─┬─ a1
       │     └─ a2
       └─ b ─── b1        s
    """
    mem = memory(**settings)
    for id, parent in [
        ("r", None),
        ("a", "r"),
        ("b", "r"),
        ("a1", "a"),
        ("a2", "a"),
        ("b1", "b"),
        ("s", None),
    ]:
        mem.add(f"{id}@{0.1 if id != 's' else 2.0}", id=id, parent=parent)
    return mem
