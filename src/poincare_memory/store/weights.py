"""Time weights of a store's rows, by whatever policy the store has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from .._core import _kernels
from ..temporal.compiled import checked_weights, compile_policy
from ..temporal.instants import LATEST, from_micros
from .arrays import Rows
from .state import Store

if TYPE_CHECKING:
    from ..temporal.policies import DecayPolicy

Instants = NDArray[np.int64]


@dataclass(frozen=True)
class TimeColumns:
    """What a decay policy looks at, copied at one moment: weights can be had of it with no lock held."""

    policy: DecayPolicy
    t: Instants
    aged_from: Instants  # `t`, or the end of time where pinned
    access_count: NDArray[np.int64]
    valid_from: Instants
    valid_until: Instants

    @classmethod
    def of(cls, store: Store, rows: Rows) -> TimeColumns:
        """Copy these rows; the caller holds the lock."""
        columns = store.columns
        return cls(
            store.decay,
            columns.t[rows],
            columns.aged_from[rows],
            columns.access_count[rows],
            columns.valid_from[rows],
            columns.valid_until[rows],
        )

    def weights(self, now: int) -> NDArray[np.float64]:
        """Weights in [MIN_WEIGHT, 1] at `now` (UTC microseconds).

        A policy of the user's own gets the lists of the `DecayPolicy` protocol.
        """
        factors = compile_policy(self.policy)
        if factors is None:
            return self._by_the_users_policy(now)
        weights = np.empty(len(self.aged_from))
        _kernels.decay_weights(
            factors, now, self.aged_from, self.access_count, self.valid_from, self.valid_until, None, weights
        )
        return weights

    def _by_the_users_policy(self, now: int) -> NDArray[np.float64]:
        return checked_weights(
            self.policy,
            cast(datetime, from_micros(now)),
            [cast(datetime, from_micros(now if t == LATEST else t)) for t in self.aged_from.tolist()],
            self.access_count.tolist(),
            [from_micros(t) for t in self.valid_from.tolist()],
            [from_micros(t) for t in self.valid_until.tolist()],
        )
