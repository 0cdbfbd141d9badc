"""Time weights of a store's rows, by whatever policy the store has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..temporal.compiled import checked_weights, compile_policy
from ..temporal.instants import from_micros
from .columns import Columns, Rows
from .state import Store


def time_weights(store: Store, rows: Rows, now: int) -> NDArray[np.float64]:
    """Weights in [MIN_WEIGHT, 1] at `now` (UTC microseconds), as the store's policy gives them.

    Takes the read lock to look at the columns; a user's own policy runs without it, on copies.
    """
    policy = store.decay
    factors = compile_policy(policy)
    columns = store.columns
    if factors is not None:
        with store.reading():
            return _built_in(columns, factors, rows, now)
    with store.reading():
        times = [from_micros(t) for t in columns.t[rows].tolist()]
        counts = columns.access_count[rows].tolist()
        valid_from = [from_micros(t) for t in columns.valid_from[rows].tolist()]
        valid_until = [from_micros(t) for t in columns.valid_until[rows].tolist()]
    moment = from_micros(now)
    assert moment is not None
    return checked_weights(policy, moment, times, counts, valid_from, valid_until)  # type: ignore[arg-type]


def _built_in(columns: Columns, factors: NDArray[np.float64], rows: Rows, now: int) -> NDArray[np.float64]:
    weights = np.empty(len(rows))
    _kernels.decay_weights(
        factors,
        now,
        columns.t,
        columns.access_count,
        columns.valid_from,
        columns.valid_until,
        rows.astype(np.int64),
        weights,
    )
    return weights
