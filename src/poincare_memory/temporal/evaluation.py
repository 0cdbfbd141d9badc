"""Weights of lists of memories: by the kernel for rows of factors, by the user's own code otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._core import _kernels
from .instants import bounds_column, counts_column, micros_column, to_micros

if TYPE_CHECKING:
    from .policies import DecayPolicy

__all__ = ["checked_weights", "factor_table", "factor_weights"]

Float64Array = npt.NDArray[np.float64]
FactorRow = tuple[int, float, float]  # kind, a, b: see decay.hpp

_ROUNDING = 1e-9  # a custom policy may round: 1 + 1e-9 is 1


def factor_table(rows: Iterable[FactorRow]) -> Float64Array:
    """Rows ``[kind, a, b]`` as the kernels take them, shape (n, 3)."""
    return np.array(list(rows), dtype=np.float64).reshape(-1, 3)


def factor_weights(
    rows: Sequence[FactorRow],
    now: datetime,
    times: Sequence[datetime],
    access_counts: Sequence[int],
    valid_from: Sequence[datetime | None],
    valid_until: Sequence[datetime | None],
) -> Float64Array:
    """Product of the factors for each memory. Only the lists that some factor reads are looked at."""
    kinds = {row[0] for row in rows}
    n = len(times)
    ages_count = bool(kinds - {_kernels.DECAY_VALIDITY})
    accesses_count = _kernels.DECAY_EBBINGHAUS in kinds
    bounds_count = _kernels.DECAY_VALIDITY in kinds
    weights = np.empty(n)
    _kernels.decay_weights(
        factor_table(rows),
        to_micros(now, "now"),
        micros_column(times) if ages_count else np.zeros(n, dtype=np.int64),
        counts_column(access_counts) if accesses_count else None,
        bounds_column(valid_from, "valid_from") if bounds_count else None,
        bounds_column(valid_until, "valid_until") if bounds_count else None,
        None,
        weights,
    )
    return weights


def checked_weights(
    policy: DecayPolicy,
    now: datetime,
    times: list[datetime],
    access_counts: list[int],
    valid_from: list[datetime | None],
    valid_until: list[datetime | None],
) -> Float64Array:
    """Weights of a user's policy, as a new float64 array within [MIN_WEIGHT, 1].

    Raises
    ------
    ValueError
        If it does not return one finite number in (0, 1] for each memory. A 0 counts as MIN_WEIGHT.
    """
    n = len(times)
    returned = policy.weight(now, times, access_counts, valid_from, valid_until)
    name = f"{type(policy).__name__}.weight"
    try:
        found = np.asarray(returned)
        if found.dtype.kind not in "biufO":  # text and complex numbers would become numbers silently
            raise TypeError(f"expected real numbers, got {found.dtype}")
        weights = np.array(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}: expected an array of {n} weights, got {type(returned).__name__} {returned!r:.80}"
        ) from error
    if weights.shape != (n,):
        raise ValueError(f"{name}: expected {n} weights, shape ({n},), got shape {weights.shape}")
    wrong = np.flatnonzero(~((weights >= 0) & (weights <= 1 + _ROUNDING)))
    if len(wrong):
        raise ValueError(f"{name}: expected weights in (0, 1], got {weights[wrong[0]]} at place {wrong[0]}")
    return np.clip(weights, _kernels.MIN_WEIGHT, 1.0, out=weights)
