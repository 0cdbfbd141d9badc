"""Placement by another road, in as many digits as it takes: geodesics on the hyperboloid, cones by bisection."""

from __future__ import annotations

from collections.abc import Sequence

import mpmath as mp

Vector = list[mp.mpf]


def unit(vector: Sequence[float]) -> Vector | None:
    exact = [mp.mpf(x) for x in vector]
    length = mp.sqrt(mp.fsum(x * x for x in exact))
    return None if length == 0 else [x / length for x in exact]


def inner(x: Vector, y: Vector) -> mp.mpf:
    return mp.fsum(a * b for a, b in zip(x, y, strict=True))


def child_direction(u: Vector, R: mp.mpf, e: Vector, S: mp.mpf, fraction: mp.mpf) -> Vector | None:
    """Direction of the geodesic point at `fraction` from (u, R) to (e, S); radii times the root of c."""
    cosh_distance = mp.cosh(R) * mp.cosh(S) - mp.sinh(R) * mp.sinh(S) * inner(u, e)
    distance = mp.acosh(cosh_distance)
    if distance == 0:
        return u
    start, end = mp.sinh((1 - fraction) * distance), mp.sinh(fraction * distance)
    spatial = [start * mp.sinh(R) * a + end * mp.sinh(S) * b for a, b in zip(u, e, strict=True)]
    length = mp.sqrt(inner(spatial, spatial))
    # Cancelled but for the rounding of the inputs: the direction there is anybody's guess.
    if length < mp.mpf("1e-6") * max(start * mp.sinh(R), end * mp.sinh(S)):
        return None
    return [x / length for x in spatial]


def cone_angle(R: mp.mpf, S: mp.mpf, theta: mp.mpf) -> mp.mpf:
    """Angle at the apex (0, R) between the outward ray and the geodesic to (theta, S), by hyperbolic trigonometry."""
    distance = mp.acosh(mp.cosh(R) * mp.cosh(S) - mp.sinh(R) * mp.sinh(S) * mp.cos(theta))
    if distance == 0:
        return mp.mpf(0)
    cosine = (mp.cosh(R) * mp.cosh(distance) - mp.cosh(S)) / (mp.sinh(R) * mp.sinh(distance))
    return mp.pi - mp.acos(max(mp.mpf(-1), min(mp.mpf(1), cosine)))


def widest_angle(R: mp.mpf, S: mp.mpf, K: mp.mpf) -> mp.mpf:
    """Largest angle from the axis that a point at radius S may have and still lie in the cone of radius R."""
    if mp.tanh(R / 2) < K:
        return mp.pi
    aperture = mp.asin(min(mp.mpf(1), 2 * K / mp.sinh(R)))
    low, high = mp.mpf(0), mp.pi
    for _ in range(mp.mp.prec + 10):
        middle = (low + high) / 2
        if cone_angle(R, S, middle) <= aperture:
            low = middle
        else:
            high = middle
    return low


def pulled_into_cone(u: Vector, e: Vector, R: mp.mpf, S: mp.mpf, K: mp.mpf) -> Vector | None:
    cosine = max(mp.mpf(-1), min(mp.mpf(1), inner(u, e)))
    angle, widest = mp.acos(cosine), widest_angle(R, S, K)
    if angle <= widest:
        return e
    sideways = unit([b - cosine * a for a, b in zip(u, e, strict=True)])
    if sideways is None or mp.pi - angle < mp.mpf("1e-6"):
        return None  # opposite: every way round is as long
    return [mp.cos(widest) * a + mp.sin(widest) * b for a, b in zip(u, sideways, strict=True)]
