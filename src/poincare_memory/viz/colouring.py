"""What the colour of a point says: an amount or a class for each memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.numerics import FloatArray
from .snapshot import Snapshot

MOST_CLASSES = 9
FEW_NUMBERS = 6  # as many different numbers are classes, more are an amount
TEXT_LENGTH = 32

_HOUR = 3.6e9  # microseconds


@dataclass(frozen=True)
class Amounts:
    """A number a memory, NaN where there is none."""

    label: str
    values: FloatArray
    whole: bool = False

    def of(self, places: NDArray[np.intp]) -> Amounts:
        """Those of some memories."""
        return replace(self, values=self.values[places])


@dataclass(frozen=True)
class Classes:
    """A class a memory: its place in `names`, the most frequent class first."""

    label: str
    places: NDArray[np.intp]
    names: list[str]

    def of(self, places: NDArray[np.intp]) -> Classes:
        """Those of some memories."""
        return replace(self, places=self.places[places])


def colouring(snapshot: Snapshot, color: str | Sequence[Any] | NDArray[Any]) -> Amounts | Classes:
    """Amounts or classes for a column's name, a metadata key, or one value a memory.

    Raises
    ------
    ValueError
        For a name that is neither, or values that are not one a memory.
    """
    if not isinstance(color, str):
        values = list(color)
        if len(values) != len(snapshot):
            raise ValueError(f"color must have one value a memory, {len(snapshot)}, got {len(values)}")
        return _of_values("", values)
    if color in _COLUMNS:
        return _COLUMNS[color](snapshot)
    values = [meta.get(color) for meta in snapshot.metas]
    if len(snapshot) and all(value is None for value in values):
        raise ValueError(
            f"color must be one of {', '.join(map(repr, _COLUMNS))} or a key of the metadata, got {color!r}"
        )
    return _of_values(color, values)


def _of_values(label: str, values: list[Any]) -> Amounts | Classes:
    given = [value for value in values if value is not None]
    numbers = all(
        isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in given
    )
    if numbers and len(set(given)) > FEW_NUMBERS:
        amounts = np.array([np.nan if value is None else float(value) for value in values])
        return Amounts(label, amounts, all(float(value).is_integer() for value in given))
    return _classes(label, ["none" if value is None else _word(value) for value in values])


def _word(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _short(text) or "(empty)"


def _short(text: str) -> str:
    line = " ".join(text[: 4 * TEXT_LENGTH].split())
    return line if len(line) <= TEXT_LENGTH else f"{line[: TEXT_LENGTH - 1]}…"


def _classes(label: str, words: list[str]) -> Classes:
    counts = Counter(words).most_common()
    names = [name for name, _ in counts]
    if len(names) > MOST_CLASSES:
        names = [*names[: MOST_CLASSES - 1], f"{len(names) - MOST_CLASSES + 1} others"]
    place_of = {name: place for place, name in enumerate(names)}
    places = np.array([place_of.get(word, len(names) - 1) for word in words], dtype=np.intp)
    return Classes(label, places, names)


def _by_root(snapshot: Snapshot) -> Classes:
    root = np.arange(len(snapshot))
    for place in np.argsort(snapshot.levels, kind="stable").tolist():  # parents before their children
        if snapshot.parents[place] >= 0:
            root[place] = root[snapshot.parents[place]]
    counts = Counter(root.tolist()).most_common()
    tops = [top for top, _ in counts]
    names = [_short(snapshot.texts[top]) for top in tops[:MOST_CLASSES]]
    if len(tops) > MOST_CLASSES:
        names[-1] = f"{len(tops) - MOST_CLASSES + 1} others"
    place_of = {top: min(place, len(names) - 1) for place, top in enumerate(tops)}
    return Classes("root", np.array([place_of[top] for top in root.tolist()], dtype=np.intp), names)


_COLUMNS: dict[str, Callable[[Snapshot], Amounts | Classes]] = {
    "level": lambda snapshot: Amounts("hierarchy level", snapshot.levels.astype(np.float64), True),
    "depth": lambda snapshot: Amounts("depth", snapshot.depths),
    "weight": lambda snapshot: Amounts("time weight", snapshot.weights),
    "age": lambda snapshot: Amounts("age (hours)", np.maximum(snapshot.now - snapshot.times, 0) / _HOUR),
    "accesses": lambda snapshot: Amounts("accesses", snapshot.accesses.astype(np.float64), True),
    "root": _by_root,
}
