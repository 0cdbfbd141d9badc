"""Compares what the two packages said, with the tolerances of the drop-in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

POINT = 1e-9  # absolute, in ball coordinates
DISTANCE = 1e-7  # distances, scores, depths and energies, in hyperbolic units
WEIGHT = 1e-12
TIE = 1e-9  # results whose scores differ by less may change places

TOLERANCES = {
    "point": POINT,
    "points": POINT,
    "embedding": 0.0,
    "x": POINT,
    "y": POINT,
    "weight": WEIGHT,
    "weights": WEIGHT,
    "time_weight": WEIGHT,
    "mean_time_weight": WEIGHT,
    "tree": 0.0,
}


def differences(ours: Any, theirs: Any, where: str = "", tolerance: float = DISTANCE) -> list[str]:
    """Every place where two values (lists, mappings, arrays, numbers …) differ by more than they may."""
    waiting, found = [(where, tolerance, ours, theirs)], []
    while waiting:
        where, tolerance, mine, other = waiting.pop()
        if isinstance(other, dict) and isinstance(mine, dict):
            if "hits" in other and "hits" in mine:
                found += ranking_differences(where, mine, other)
                continue
            found += [f"{where}.{key} is missing" for key in other if key not in mine]
            waiting += [
                (f"{where}.{key}", TOLERANCES.get(key, tolerance), mine[key], other[key])
                for key in other.keys() & mine.keys()
            ]
        elif isinstance(other, (list, tuple)) and isinstance(mine, (list, tuple)):
            if len(mine) != len(other):
                found.append(f"{where}: {mine!r} instead of {other!r}")
                continue
            for i, (a, b) in enumerate(zip(mine, other, strict=True)):
                waiting.append((f"{where}[{i}]", tolerance, a, b))
        elif not same(mine, other, tolerance):
            found.append(f"{where}: {mine!r} instead of {other!r}")
    return found


def same(ours: Any, theirs: Any, tolerance: float) -> bool:
    if isinstance(theirs, np.ndarray):
        matches = isinstance(ours, np.ndarray) and ours.shape == theirs.shape and ours.dtype == theirs.dtype
        return matches and bool(np.all(np.abs(ours - theirs) <= tolerance))
    if isinstance(theirs, float) and isinstance(ours, float):
        return math.isclose(ours, theirs, rel_tol=0.0, abs_tol=tolerance) or (
            ours != ours and theirs != theirs
        )
    return type(ours) is type(theirs) and ours == theirs


def ranking_differences(where: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Search results agree: same values for the same memory, same order unless scores tie."""
    if len(ours["hits"]) != len(theirs["hits"]):
        return [f"{where}: {len(ours['hits'])} results instead of {len(theirs['hits'])}"]
    found = []
    for name in ("hits", "ranking"):
        known = {hit["id"]: hit for hit in [*theirs["ranking"], *theirs["hits"]]}
        for place, (mine, other) in enumerate(zip(ours[name], theirs[name], strict=False)):
            here = f"{where}.{name}[{place}]"
            expected = known.get(mine["id"])
            if expected is None:
                found.append(f"{here}: {mine['id']} is not among the reference's results")
                continue
            if abs(expected["score"] - other["score"]) > TIE:
                found.append(
                    f"{here}: {mine['id']} ({mine['score']!r}) instead of {other['id']} ({other['score']!r})"
                )
            if name == "hits" and expected["id"] != other["id"]:
                continue  # a tie: the other package may have counted this access and not that one
            found += differences(mine, expected, here)
    return found
