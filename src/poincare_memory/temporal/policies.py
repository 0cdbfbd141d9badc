"""Named temporal policies: how much a memory counts, by its age, its accesses and its validity.

A policy maps each memory to a weight in (0, 1], which enters the retrieval score as
``time_coef · ln(weight)``: a weight of 1 is neutral. Forms from the literature:

- exponential half-life; the 0.995^hours recency of Generative Agents (Park et al. 2023) is 138.3 hours;
- Ebbinghaus forgetting with a stability that grows with accesses (MemoryBank, Zhong et al. 2024);
- validity windows, for facts that stop being true (bi-temporal stores such as Graphiti).

Ages are in hours. A memory of the future has age 0. No weight is below :data:`MIN_WEIGHT`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .._core import _kernels
from .evaluation import FactorRow, checked_weights, factor_weights
from .instants import micros_column, to_micros, to_utc, utcnow
from .parameters import positive, within

__all__ = [
    "MIN_WEIGHT",
    "DecayPolicy",
    "Ebbinghaus",
    "HalfLife",
    "NoDecay",
    "Product",
    "ValidityWindow",
    "ages_hours",
    "generative_agents_recency",
    "to_utc",
    "utcnow",
]

MIN_WEIGHT: float = _kernels.MIN_WEIGHT
"""Floor of every weight: an old memory fades, it does not vanish."""

_MICROS_PER_HOUR = 3.6e9
DEEPEST_PRODUCT = 100  # of products in products; JSON, repr and pickle recurse

FloatArray = npt.NDArray[np.floating[Any]]


@runtime_checkable
class DecayPolicy(Protocol):
    """Anything with this ``weight`` method; pass it as ``Memory(decay=...)``.

    Examples
    --------
    >>> class Yesterday:
    ...     def weight(self, now, times, access_counts, valid_from, valid_until):
    ...         return np.where(ages_hours(now, times) <= 24, 1.0, 0.1)
    >>> isinstance(Yesterday(), DecayPolicy)
    True
    """

    def weight(
        self,
        now: datetime,
        times: list[datetime],
        access_counts: list[int],
        valid_from: list[datetime | None],
        valid_until: list[datetime | None],
    ) -> FloatArray:
        """Weights in [MIN_WEIGHT, 1], one for each memory.

        Parameters
        ----------
        now : datetime
            The moment asked about.
        times, access_counts, valid_from, valid_until : lists of one length
            One entry for each memory; a bound that is None is open.

        Returns
        -------
        array of shape (n,)
        """
        ...


@dataclass(frozen=True)
class NoDecay:
    """Every memory has weight 1: time is kept but does not count.

    Examples
    --------
    >>> NoDecay().weight(datetime(2026, 1, 2), [datetime(2025, 1, 1)], [0], [None], [None])
    array([1.])
    """

    def weight(
        self,
        now: datetime,
        times: Sequence[datetime],
        access_counts: Sequence[int],
        valid_from: Sequence[datetime | None],
        valid_until: Sequence[datetime | None],
    ) -> FloatArray:
        """Ones.

        Parameters
        ----------
        now : datetime
        times, access_counts, valid_from, valid_until : sequences of one length
            Not read, but for their length.

        Returns
        -------
        float64 array of shape (n,)
            Ones.
        """
        return np.ones(len(times))


@dataclass(frozen=True)
class HalfLife:
    """``w = 0.5 ** (age / hours)``: the weight halves every ``hours`` hours.

    Parameters
    ----------
    hours : float, default 720 (30 days)
        Half-life in hours, above 0.

    Examples
    --------
    >>> HalfLife(hours=24).weight(datetime(2026, 1, 3), [datetime(2026, 1, 1)], [0], [None], [None])
    array([0.25])
    """

    hours: float = 24 * 30

    def __post_init__(self) -> None:
        object.__setattr__(self, "hours", positive("hours", self.hours))

    def weight(
        self,
        now: datetime,
        times: Sequence[datetime],
        access_counts: Sequence[int],
        valid_from: Sequence[datetime | None],
        valid_until: Sequence[datetime | None],
    ) -> FloatArray:
        """Weights by age; only ``times`` is read.

        Parameters
        ----------
        now : datetime
            The moment asked about; naive ones are UTC, here and below.
        times : sequence of datetime
            When each memory was formed.
        access_counts, valid_from, valid_until : sequences of the same length
            Not read.

        Returns
        -------
        float64 array of shape (n,)
            From MIN_WEIGHT to 1.
        """
        rows = [(_kernels.DECAY_HALF_LIFE, self.hours, 0.0)]
        return factor_weights(rows, now, times, access_counts, valid_from, valid_until)


@dataclass(frozen=True)
class Ebbinghaus:
    """``w = exp(−age / S)``, ``S = stability_hours · (1 + boost_per_access · accesses)``.

    What is retrieved often decays more slowly (Zhong et al. 2024).

    Parameters
    ----------
    stability_hours : float, default 168 (one week)
        Stability before any access, in hours, above 0.
    boost_per_access : float, default 0.5
        Stability gained by one access, as a share of ``stability_hours``; at least 0.

    Examples
    --------
    >>> now, times, open_ends = datetime(2026, 1, 2), [datetime(2026, 1, 1)] * 2, [None] * 2
    >>> Ebbinghaus(24).weight(now, times, [0, 2], open_ends, open_ends)
    array([0.36787944, 0.60653066])
    """

    stability_hours: float = 24 * 7
    boost_per_access: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "stability_hours", positive("stability_hours", self.stability_hours))
        boost = within("boost_per_access", self.boost_per_access, 0.0, math.inf)
        object.__setattr__(self, "boost_per_access", boost)

    def weight(
        self,
        now: datetime,
        times: Sequence[datetime],
        access_counts: Sequence[int],
        valid_from: Sequence[datetime | None],
        valid_until: Sequence[datetime | None],
    ) -> FloatArray:
        """Weights by age and accesses; the bounds are not read.

        Parameters
        ----------
        now : datetime
            The moment asked about; naive ones are UTC, here and below.
        times : sequence of datetime
            When each memory was formed.
        access_counts : sequence of int
            How often a search has returned it.
        valid_from, valid_until : sequences of the same length
            Not read.

        Returns
        -------
        float64 array of shape (n,)
            From MIN_WEIGHT to 1.
        """
        rows = [(_kernels.DECAY_EBBINGHAUS, self.stability_hours, self.boost_per_access)]
        return factor_weights(rows, now, times, access_counts, valid_from, valid_until)


@dataclass(frozen=True)
class ValidityWindow:
    """Weight 1 while ``valid_from <= now <= valid_until``, ``outside_weight`` otherwise.

    A bound that is None is open. Combine with another policy by :class:`Product`.

    Parameters
    ----------
    outside_weight : float, default MIN_WEIGHT
        Between 0 and 1; below MIN_WEIGHT it counts as MIN_WEIGHT.

    Examples
    --------
    >>> window = ValidityWindow(outside_weight=0.1)
    >>> now, past = datetime(2026, 1, 2), datetime(2026, 1, 1)
    >>> window.weight(now, [past, past], [0, 0], [None, past], [past, None])
    array([0.1, 1. ])
    """

    outside_weight: float = MIN_WEIGHT

    def __post_init__(self) -> None:
        outside = within("outside_weight", self.outside_weight, 0.0, 1.0)
        object.__setattr__(self, "outside_weight", outside)

    def weight(
        self,
        now: datetime,
        times: Sequence[datetime],
        access_counts: Sequence[int],
        valid_from: Sequence[datetime | None],
        valid_until: Sequence[datetime | None],
    ) -> FloatArray:
        """Weights by the bounds; times and accesses are not read.

        Parameters
        ----------
        now : datetime
            The moment asked about; naive ones are UTC, here and below.
        times, access_counts : sequences of one length
            Not read.
        valid_from, valid_until : sequences of datetime or None
            Bounds of validity, both included; None is open.

        Returns
        -------
        float64 array of shape (n,)
            1 or ``outside_weight``.
        """
        rows = [(_kernels.DECAY_VALIDITY, self.outside_weight, 0.0)]
        return factor_weights(rows, now, times, access_counts, valid_from, valid_until)


@dataclass(frozen=True, init=False)
class Product:
    """Product of several policies, elementwise.

    Parameters
    ----------
    *policies : DecayPolicy
        Built-in ones and your own; none at all means weight 1.

    Examples
    --------
    >>> policy = Product(HalfLife(24), ValidityWindow(0.1))
    >>> now, past = datetime(2026, 1, 3), datetime(2026, 1, 2)
    >>> policy.weight(now, [past], [0], [None], [past])
    array([0.05])
    """

    policies: tuple[DecayPolicy, ...]

    def __init__(self, *policies: DecayPolicy) -> None:
        for i, policy in enumerate(policies):
            if isinstance(policy, type) or not callable(getattr(policy, "weight", None)):
                raise TypeError(
                    f"policies[{i}]: expected a policy (an object with a weight method), got {policy!r:.80}"
                )
        depth = 1 + max((getattr(policy, "_depth", 0) for policy in policies), default=0)
        object.__setattr__(self, "policies", policies)
        object.__setattr__(self, "_depth", depth)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(policies={self._shallow()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._shallow()

    def _shallow(self) -> tuple[DecayPolicy, ...]:
        """The policies; of a nest so deep that whoever follows it needs too much stack, its factors."""
        if is_shallow(self) or type(self) is not Product:
            return self.policies
        return tuple(factors_of(self))

    def weight(
        self,
        now: datetime,
        times: Sequence[datetime],
        access_counts: Sequence[int],
        valid_from: Sequence[datetime | None],
        valid_until: Sequence[datetime | None],
    ) -> FloatArray:
        """Products of the weights of every policy, at least MIN_WEIGHT.

        Parameters
        ----------
        now : datetime
            The moment asked about; naive ones are UTC, here and below.
        times, access_counts, valid_from, valid_until : sequences of one length
            One entry for each memory, as for every policy.

        Returns
        -------
        float64 array of shape (n,)
            From MIN_WEIGHT to 1.

        Raises
        ------
        ValueError
            If a policy of your own returns anything but n finite weights.
        """
        rows = []
        custom = []
        for factor in factors_of(self):
            row = factor_row(factor)
            if row is None:
                custom.append(factor)
            else:
                rows.append(row)
        weights = factor_weights(rows, now, times, access_counts, valid_from, valid_until)
        if not custom:
            return weights
        lists = (list(times), list(access_counts), list(valid_from), list(valid_until))
        for factor in custom:
            weights *= checked_weights(factor, now, *lists)
        return np.maximum(weights, MIN_WEIGHT, out=weights)


def generative_agents_recency() -> HalfLife:
    """The 0.995 ** hours recency of Generative Agents (Park et al. 2023), as a half-life of 138.3 hours.

    Returns
    -------
    HalfLife

    Examples
    --------
    >>> round(generative_agents_recency().hours, 1)
    138.3
    """
    return HalfLife(hours=math.log(0.5) / math.log(0.995))


def ages_hours(now: datetime, times: Sequence[datetime]) -> FloatArray:
    """Hours from each of ``times`` to ``now``; negative for the future.

    Parameters
    ----------
    now : datetime
    times : sequence of datetime
        Naive ones are UTC.

    Returns
    -------
    float64 array of shape (n,)

    Examples
    --------
    >>> ages_hours(datetime(2026, 1, 2), [datetime(2026, 1, 1), datetime(2026, 1, 3)])
    array([ 24., -24.])
    """
    return (to_micros(now, "now") - micros_column(times)) / _MICROS_PER_HOUR


def is_shallow(policy: DecayPolicy) -> bool:
    """Whether products nest in it as deep as JSON, repr and pickle may follow."""
    depth: int = getattr(policy, "_depth", 0)
    return depth <= DEEPEST_PRODUCT


def factors_of(policy: DecayPolicy) -> list[DecayPolicy]:
    """The policies that a nest of products multiplies, in order, without :class:`NoDecay`."""
    factors = []
    waiting = [policy]
    while waiting:
        current = waiting.pop()
        if type(current) is Product:
            waiting.extend(reversed(current.policies))
        elif type(current) is not NoDecay:
            factors.append(current)
    return factors


def factor_row(policy: DecayPolicy) -> FactorRow | None:
    """A built-in policy as the kernels read it; None for any other, subclasses included."""
    if type(policy) is HalfLife:
        return (_kernels.DECAY_HALF_LIFE, policy.hours, 0.0)
    if type(policy) is Ebbinghaus:
        return (_kernels.DECAY_EBBINGHAUS, policy.stability_hours, policy.boost_per_access)
    if type(policy) is ValidityWindow:
        return (_kernels.DECAY_VALIDITY, policy.outside_weight, 0.0)
    return None
