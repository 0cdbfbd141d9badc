"""Hyperbolic geometry in mpmath, from the definitions, on the exact values of the floats it is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from mpmath import mp, mpf

EPS = 2.0**-52


class Oracle:
    """The ball of curvature −c, on the hyperboloid and in 120 digits."""

    def __init__(self, curvature: float = 1.0, digits: int = 120) -> None:
        self.c = mpf(curvature)
        self.digits = digits

    def unit(self, x: Iterable[float]) -> list[Any]:
        with mp.workdps(self.digits):
            return [mp.sqrt(self.c) * mpf(float(component)) for component in x]

    def distance(self, x: Iterable[float], y: Iterable[float]) -> Any:
        with mp.workdps(self.digits):
            a, b = self.unit(x), self.unit(y)
            gap = sum((p - q) ** 2 for p, q in zip(a, b, strict=True))
            q = gap / ((1 - square(a)) * (1 - square(b)))
            return 2 * mp.asinh(mp.sqrt(q)) / mp.sqrt(self.c)

    def lift(self, x: Iterable[float]) -> list[Any]:
        """Point of the unit hyperboloid, time coordinate first."""
        a = self.unit(x)
        margin = 1 - square(a)
        return [(2 - margin) / margin, *(2 * p / margin for p in a)]

    def lower(self, X: list[Any]) -> list[Any]:
        return [p / (1 + X[0]) / mp.sqrt(self.c) for p in X[1:]]

    def geodesic(self, x: Iterable[float], y: Iterable[float], t: float) -> list[Any]:
        with mp.workdps(self.digits):
            D = self.distance(x, y) * mp.sqrt(self.c)
            a, b = (1 - mpf(t), mpf(t)) if D == 0 else (mp.sinh((1 - mpf(t)) * D), mp.sinh(mpf(t) * D))
            scale = 1 if D == 0 else mp.sinh(D)
            return self.lower(
                [(a * p + b * q) / scale for p, q in zip(self.lift(x), self.lift(y), strict=True)]
            )

    def mobius_add(self, x: Iterable[float], y: Iterable[float]) -> list[Any]:
        with mp.workdps(self.digits):
            return self.mobius_add_exact([mpf(float(p)) for p in x], [mpf(float(q)) for q in y])

    def expmap(self, x: Iterable[float], v: Iterable[float]) -> list[Any]:
        """x ⊕ tanh(√c·λ|v|/2)·v/(√c|v|), as the literature defines it."""
        with mp.workdps(self.digits):
            a, w = self.unit(x), self.unit(v)
            length = mp.sqrt(square(w))
            if length == 0:
                return [mpf(float(p)) for p in x]
            step = mp.tanh(length / (1 - square(a))) / length / mp.sqrt(self.c)
            return self.mobius_add_exact([mpf(float(p)) for p in x], [step * p for p in w])

    def mobius_add_exact(self, x: list[Any], y: list[Any]) -> list[Any]:
        a, b = ([mp.sqrt(self.c) * p for p in side] for side in (x, y))
        inner = sum(p * q for p, q in zip(a, b, strict=True))
        first, second = 1 + 2 * inner + square(b), 1 - square(a)
        denominator = 1 + 2 * inner + square(a) * square(b)
        return [(first * p + second * q) / denominator / mp.sqrt(self.c) for p, q in zip(a, b, strict=True)]

    def cone_angle(self, x: Iterable[float], y: Iterable[float]) -> Any:
        """Angle at x between −log_x(0) and log_x(y), from the gyrovector directions."""
        with mp.workdps(self.digits):
            a, b = self.unit(x), self.unit(y)
            gap = [q - p for p, q in zip(a, b, strict=True)]
            heading = [(1 - square(a)) * g - square(gap) * p for g, p in zip(gap, a, strict=True)]
            inner = sum(p * h for p, h in zip(a, heading, strict=True))
            cross = square(a) * square(heading) - inner**2
            return mp.atan2(mp.sqrt(max(cross, mpf(0))), inner)

    def distance_exact(self, x: Iterable[float], y: list[Any]) -> Any:
        """Distance from float coordinates to an exact point."""
        with mp.workdps(self.digits):
            a = self.unit(x)
            b = [mp.sqrt(self.c) * q for q in y]
            gap = sum((p - q) ** 2 for p, q in zip(a, b, strict=True))
            return 2 * mp.asinh(mp.sqrt(gap / ((1 - square(a)) * (1 - square(b))))) / mp.sqrt(self.c)

    def depth_exact(self, x: list[Any]) -> float:
        with mp.workdps(self.digits):
            return float(2 * mp.atanh(mp.sqrt(self.c * square(x))) / mp.sqrt(self.c))


def square(x: Iterable[Any]) -> Any:
    return sum((p * p for p in x), mpf(0))


def points(rng: np.random.Generator, n: int, dim: int, deepest: float, curvature: float = 1.0) -> np.ndarray:
    """Random directions at √c·depths up to ``deepest``, built without the package."""
    u = rng.normal(size=(n, dim))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return u * np.tanh(rng.uniform(0, deepest, (n, 1)) / 2) / np.sqrt(curvature)
