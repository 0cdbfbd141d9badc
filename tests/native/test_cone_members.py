"""Members of an entailment cone over polar columns, against the formula in arbitrary precision."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.scan_columns import encoded, unit_rows
from poincare_memory._core import _kernels


def members(
    direction: npt.NDArray[np.float64],
    radius: npt.NDArray[np.float64],
    apex: int = 0,
    K: float = 0.1,
    curvature: float = 1.0,
    rows: npt.NDArray[np.int32] | None = None,
    threads: int = 1,
    codes: bool = True,
) -> tuple[list[int], list[float]]:
    directed = np.any(direction != 0, axis=1).astype(np.uint8)
    found, energies = _kernels.cone_members(
        direction,
        *(encoded(direction) if codes else (None, None, None)),
        radius,
        directed,
        len(radius),
        rows,
        apex,
        K,
        curvature,
        threads,
    )
    return found.tolist(), energies.tolist()


def energy(
    u: npt.NDArray[np.float64], R: float, v: npt.NDArray[np.float64], S: float, K: float, curvature: float
) -> mp.mpf:
    """max(0, Ξ − ψ) from the hyperbolic triangle of origin, apex and point (Ganea et al. 2018)."""
    with mp.workdps(60):
        root = mp.sqrt(curvature)
        R, S = R * root, S * root
        if mp.tanh(R / 2) < K:
            return mp.mpf(0)
        psi = mp.asin(min(mp.mpf(1), 2 * K / mp.sinh(R)))
        u, v = mp.matrix(u.tolist()), mp.matrix(v.tolist())
        chord = mp.norm(u - v)
        theta = 2 * mp.atan2(chord, mp.norm(u + v))
        if chord == 0:
            return mp.mpf(0) if S >= R else mp.pi - psi
        xi = mp.atan2(
            mp.sinh(S) * mp.sin(theta), mp.sinh(S) * mp.cosh(R) * mp.cos(theta) - mp.cosh(S) * mp.sinh(R)
        )
        return max(mp.mpf(0), xi - psi)


@given(st.integers(0, 2**32), st.sampled_from([0.25, 1.0, 9.0]), st.sampled_from([0.02, 0.1, 0.9]))
@settings(max_examples=60, deadline=None)
def test_members_are_those_of_the_formula(seed: int, curvature: float, K: float) -> None:
    rng = np.random.default_rng(seed)
    n, dim = 60, int(rng.choice([2, 3, 20]))
    spread = rng.choice([1.0, 0.3, 0.03, 1e-4])
    direction = unit_rows(rng.normal(size=dim) + spread * rng.normal(size=(n, dim)))
    direction[5] = direction[0]
    radius = np.where(rng.random(n) < 0.5, rng.integers(1, 9, n) * 0.5, rng.uniform(0.05, 6, n))
    found, energies = members(direction, radius, 0, K, curvature)
    got = dict(zip(found, energies, strict=True))
    assert 0 not in got
    for row in range(1, n):
        exact = float(energy(direction[0], radius[0], direction[row], radius[row], K, curvature))
        if abs(exact - 1e-9) > 1e-10:  # on the very edge either answer is right
            assert (row in got) == (exact <= 1e-9), (row, exact)
        if row in got:
            assert got[row] == pytest.approx(exact, abs=1e-10)


def test_points_on_the_wall_belong_to_the_cone() -> None:
    """Float32 cannot tell a point on the wall from one outside: the exact test decides."""
    R, S, K = 1.5, 2.5, 0.1
    psi = np.arcsin(2 * K / np.sinh(R))
    wall = 2 * np.arctan(
        np.cosh((S - R) / 2) / np.cosh((S + R) / 2) * np.tan((psi - np.arcsin(2 * K / np.sinh(S))) / 2)
    )
    angles = np.array([0.0, *(wall + np.array([-1e-3, -1e-8, -1e-12, 1e-8, 1e-6, 1e-3]))])
    direction = np.zeros((7, 384))
    direction[:, 0], direction[:, 1] = np.cos(angles), np.sin(angles)
    found, _ = members(direction, np.array([R] + [S] * 6), K=K)
    assert found == [1, 2, 3]


def test_without_direction() -> None:
    direction, radius = (
        np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]),
        np.array([1.0, 1.5, 2.0, 2.5]),
    )
    # an apex at the origin: the cone is the whole ball
    assert members(direction, radius, apex=0) == ([1, 2, 3], [0.0, 0.0, 0.0])
    # a point at the origin lies behind every other apex
    assert members(direction, radius, apex=1) == ([], [])
    # but inside the cone of one so central that the cone is the whole ball
    assert members(direction, np.array([1.0, 0.05, 2.0, 2.5]), apex=1)[0] == [0, 2, 3]


def test_depth_five_thousand_and_chosen_rows() -> None:
    rng = np.random.default_rng(2)
    axis = unit_rows(rng.normal(size=(1, 16)))[0]
    direction = np.tile(axis, (5000, 1))
    direction[1::2] = unit_rows(rng.normal(size=(2500, 16)))
    radius = 1 + 0.5 * np.arange(5000)
    for apex in (0, 40, 4000):
        found, energies = members(direction, radius, apex=apex)
        assert found == list(range(apex + 2, 5000, 2))
        assert max(energies, default=0) == 0
        assert members(direction, radius, apex=apex, threads=2)[0] == found
        assert members(direction, radius, apex=apex, codes=False) == (found, energies)
    rows = np.array([4998, 3, 4996, 4000], np.int32)
    assert members(direction, radius, apex=4000, rows=rows)[0] == [4998, 4996]


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="apex"):
        members(np.eye(2), np.ones(2), apex=-1)
    with pytest.raises(ValueError, match="direction"):
        members(np.eye(2), np.ones(2), apex=2)
    with pytest.raises(ValueError, match="curvature"):
        members(np.eye(2), np.ones(2), curvature=0.0)
