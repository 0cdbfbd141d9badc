"""Random columns for the scan, and the scan's answer in float64 NumPy."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from poincare_memory._core import _kernels

HOUR = 3_600_000_000
NOW = 1_780_000_000_000_000
MISSING = _kernels.MISSING_INSTANT
Hits = list[tuple[int, float, float, float]]


def unit_rows(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    largest = np.abs(x).max(axis=1, keepdims=True, initial=0.0)  # whose square may be no number above 0
    x = np.divide(x, largest, out=np.zeros_like(x), where=largest > 0)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.ascontiguousarray(np.divide(x, norms, out=np.zeros_like(x), where=norms > 0))


def encoded(
    matrix: npt.NDArray[np.float64], rows: npt.NDArray[np.int32] | None = None, threads: int = 1
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Codes, scale and error; 77, 7 and 7 in rows that were not asked for."""
    n, dim = matrix.shape
    codes = np.full((n, _kernels.code_stride(dim)), 77, np.int8)
    scale, error = np.full(n, 7, np.float32), np.full(n, 7, np.float32)
    _kernels.encode_rows(matrix, rows, codes, scale, error, threads)
    return codes, scale, error


@dataclass
class Scan:
    """One call of the scan; `top(k)` runs it, `oracle()` computes every score."""

    direction: npt.NDArray[np.float64]
    radius: npt.NDArray[np.float64]
    query: npt.NDArray[np.float64] | None
    metric: int = _kernels.SCAN_SHELL
    query_radius: float = 1.0
    curvature: float = 1.0
    depth_bias: float = 0.0
    time_coef: float = 1.0
    factors: tuple[tuple[float, float, float], ...] = ()
    rows: npt.NDArray[np.int32] | None = None
    mask: npt.NDArray[np.uint8] | None = None
    log_weights: npt.NDArray[np.float64] | None = None
    bonus: npt.NDArray[np.float64] | None = None
    use_codes: bool = True
    t: npt.NDArray[np.int64] = field(init=False)
    accesses: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.direction)
        self.t = np.full(n, NOW)
        self.accesses = np.zeros(n, np.int64)
        self.directed = np.asarray(np.any(self.direction != 0, axis=1), np.uint8)

    def without_codes(self) -> Scan:
        twin = copy.copy(self)
        twin.use_codes = False
        return twin

    def columns(self) -> dict[str, Any]:
        missing = np.full(len(self.t), MISSING)
        return {
            "direction": self.direction,
            "radius": self.radius,
            "directed": self.directed,
            "t": self.t,
            "access_count": self.accesses,
            "valid_from": missing,
            "valid_until": missing,
        }

    def scoring(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "metric": self.metric,
            "query_radius": self.query_radius,
            "curvature": self.curvature,
            "depth_bias": self.depth_bias,
            "time_coef": self.time_coef,
            "factors": np.array(self.factors, float).reshape(-1, 3),
            "now": NOW,
            "log_weights": self.log_weights,
        }

    def top(self, k: int, threads: int = 1) -> Hits:
        codes, scale, error = encoded(self.direction) if self.use_codes else (None, None, None)
        return _kernels.scan_top_k(
            **self.columns(),
            codes=codes,
            code_scale=scale,
            code_error=error,
            count=len(self.t),
            **self.scoring(),
            mask=self.mask,
            query_direction=self.query,
            k=k,
            threads=threads,
            bonus=self.bonus,
        )

    def candidates(self) -> npt.NDArray[np.int32]:
        return np.arange(len(self.t), dtype=np.int32) if self.rows is None else self.rows

    def distances(self) -> npt.NDArray[np.float64]:
        rows = self.candidates()
        if self.metric == _kernels.SCAN_NO_QUERY:
            return np.zeros(len(rows))
        chord = np.full(len(rows), 4.0)
        if self.query is not None:
            seen = self.directed[rows] == 1
            chord[seen] = np.sum((self.direction[rows][seen] - self.query) ** 2, axis=1)
        root = math.sqrt(self.curvature)
        r = root * self.query_radius
        s = np.full(len(rows), r) if self.metric == _kernels.SCAN_SHELL else root * self.radius[rows]
        return np.array([_distance(r, float(x), float(c)) for x, c in zip(s, chord, strict=True)]) / root

    def candidate_log_weights(self) -> npt.NDArray[np.float64]:
        """By `decay_log_weights`, which tests of its own hold against mpmath."""
        if self.log_weights is not None:
            return self.log_weights
        out = np.empty(len(self.t))
        time = [self.columns()[name] for name in ("t", "access_count", "valid_from", "valid_until")]
        table = np.array(self.factors, float).reshape(-1, 3)
        _kernels.decay_log_weights(table, NOW, *time, None, out)
        return out[self.candidates()]

    def oracle(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Scores (−inf where masked) and distances of all candidates."""
        rows, distances = self.candidates(), self.distances()
        scores = -distances + self.depth_bias * self.radius[rows]
        scores += self.time_coef * self.candidate_log_weights()
        if self.bonus is not None:
            scores += self.bonus
        if self.mask is not None:
            scores[self.mask == 0] = -np.inf
        return scores, distances


def _distance(r: float, s: float, chord_squared: float) -> float:
    if r + s < 40:
        q = math.sinh((r - s) / 2) ** 2 + math.sinh(r) * math.sinh(s) * chord_squared / 4
        return 2 * math.asinh(math.sqrt(q))
    # cosh d − 1 = (cosh(r − s) − 1) + sinh r · sinh s · chord²/2, all divided by e^(r+s)/2
    gap = abs(r - s)
    if chord_squared == 0:
        return gap  # beyond radius 350 the first term below is subnormal, and has no digits left
    scaled = math.exp(-2 * min(r, s)) * (1 - math.exp(-gap)) ** 2 + (
        (1 - math.exp(-2 * r)) * (1 - math.exp(-2 * s)) * chord_squared / 4
    )
    log_q = r + s - math.log(4) + math.log(scaled)
    return 2 * math.asinh(math.exp(log_q / 2)) if log_q < 40 else log_q + math.log(4)
