"""A part of a snapshot that can stand for the whole: even, and closed under parents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .snapshot import Snapshot

_SEED = 0


def sample(snapshot: Snapshot, limit: int, keep: Iterable[int] = ()) -> Snapshot:
    """At most `limit` memories of a snapshot, as :func:`sampled_places` chooses them; itself where it is not larger."""
    if len(snapshot) <= limit:
        return snapshot
    return part_of(snapshot, sampled_places(snapshot, limit, keep))


def sampled_places(snapshot: Snapshot, limit: int, keep: Iterable[int] = ()) -> NDArray[np.intp]:
    """Places of memories taken at random, each with its ancestors; the same ones every time.

    Parameters
    ----------
    snapshot : Snapshot
        What to choose from.
    limit : int
        How many memories, 1 or more.
    keep : iterable of int
        Places that come first.

    Returns
    -------
    ndarray of int
        At most `limit` places, in order of insertion.
    """
    turn = np.random.default_rng(_SEED).permutation(len(snapshot))
    turn[np.fromiter(keep, dtype=np.intp)] = -1
    return _closed_prefix(turn, snapshot.parents, snapshot.levels, limit)


def part_of(snapshot: Snapshot, places: NDArray[np.intp]) -> Snapshot:
    """These memories of a snapshot, which have their parents among them; ``child_counts`` are those of the whole."""
    count = len(snapshot)
    new_place = np.full(count + 1, -1, dtype=np.intp)  # its last item answers for parent -1
    new_place[places] = np.arange(len(places))
    parents = snapshot.parents
    chosen = places.tolist()
    parts: dict[str, Any] = {
        field.name: value[places]
        for field in fields(Snapshot)
        if isinstance(value := getattr(snapshot, field.name), np.ndarray)
    } | {name: [getattr(snapshot, name)[place] for place in chosen] for name in ("ids", "texts", "metas")}
    parts["parents"] = new_place[parents[places]]
    child_counts = np.bincount(parents[parents >= 0], minlength=count)[places]
    return replace(snapshot, **parts, child_counts=child_counts)


def _closed_prefix(
    turn: NDArray[np.intp], parents: NDArray[np.intp], levels: NDArray[np.int32], limit: int
) -> NDArray[np.intp]:
    """The first `limit` places by turn, where a memory takes the turn of its earliest descendant, parents first."""
    first, above = turn.tolist(), parents.tolist()
    for place in np.argsort(-levels, kind="stable").tolist():  # children before their parents
        parent = above[place]
        if parent >= 0 and first[place] < first[parent]:
            first[parent] = first[place]
    order = np.lexsort((levels, np.asarray(first)))
    return np.sort(order[:limit])
