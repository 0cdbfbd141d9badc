"""Row kernels of the ball against mpmath and float64 NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from poincare_memory._core import _kernels

rng = np.random.default_rng(0)


def relative_error(found: float, exact: Any) -> float:
    return float(abs(mpf(found) - exact) / abs(exact)) if exact else abs(found)


def test_log1p_is_right_to_two_ulp_from_subnormal_to_huge() -> None:
    z = np.concatenate(
        [
            [0.0, 5e-324, 1e-300, 2.0**-53, 2.0**-52, np.sqrt(0.5), np.sqrt(2) - 1, 1.0, 2.0**53, 1e300],
            np.exp(rng.uniform(-745, 700, 1000)),
            rng.uniform(0, 4, 1000),
        ]
    )
    out = np.empty_like(z)
    _kernels.log1p_nonnegative(z, out)
    with mp.workdps(40):
        worst = max(relative_error(f, mp.log1p(mpf(x))) for f, x in zip(out, z, strict=True))
    assert worst < 4e-16
    _kernels.log1p_nonnegative(np.array([np.nan]), out[:1])
    assert np.isnan(out[0])


def test_atan2_is_right_to_a_few_ulp_in_the_upper_half_plane() -> None:
    y = np.concatenate(
        [10 ** rng.uniform(-300, 10, 1500), rng.uniform(0, 2, 1500), [0, 0, 5e-324, 1, 1, 0.0, 1]]
    )
    x = np.concatenate([rng.uniform(-2, 2, 3000), [1, -1, 1, 0, -0.0, 0, np.tan(3 * np.pi / 8)]])
    x[:300] = y[:300] * rng.uniform(-1.001, 1.001, 300)
    x[300:600] = y[300:600] * np.tan(3 * np.pi / 8) * (1 + rng.uniform(-1e-15, 1e-15, 300))
    out = np.empty_like(y)
    _kernels.atan2_nonnegative(y, x, out)
    with mp.workdps(40):
        exact = [mp.atan2(mpf(a), mpf(b)) if a or b else mpf(0) for a, b in zip(y, x, strict=True)]
        assert max(relative_error(f, angle) for f, angle in zip(out, exact, strict=True)) < 5e-16
    _kernels.atan2_nonnegative(np.array([np.nan, 1.0, 0.0]), np.array([1.0, np.nan, np.nan]), out[:3])
    assert np.isnan(out[:3]).all()


def test_polar_distance_at_every_radius() -> None:
    radii = [0.0, 1e-300, 1e-9, 0.3, 5.0, 19.9, 20.1, 60.0, 300.0, 800.0]
    chords = [0.0, 1e-320, 1e-30, 1e-3, 1.0, 4.0]
    cases = np.array([(r, s, chord) for r in radii for s in radii for chord in chords])
    out = np.empty(len(cases))
    _kernels.polar_distances(*(np.ascontiguousarray(column) for column in cases.T), out)
    with mp.workdps(800):
        for (r, s, chord), found in zip(cases, out, strict=True):
            R, S = mpf(r), mpf(s)
            q = mp.sinh((R - S) / 2) ** 2 + mp.sinh(R) * mp.sinh(S) * mpf(chord) / 4
            exact = 2 * mp.asinh(mp.sqrt(q))
            logarithm = _kernels.polar_log_q(r, s, chord)
            assert (
                float(abs(mpf(found) - exact))
                <= 1e-15 * (20 + (abs(logarithm) if r + s > 40 and exact else 0)) * float(exact) + 1e-300
            ), (r, s, chord)
            assert _kernels.distance_from_log_q(logarithm) == pytest.approx(
                float(exact), rel=1e-12, abs=1e-150
            )
    assert np.isnan(_kernels.polar_log_q(np.nan, 1.0, 1.0))
    assert np.isnan(_kernels.polar_log_q(1.0, 50.0, np.nan))


def test_polar_cone_energy_at_every_radius() -> None:
    radii = [0.0, 0.15, 0.3, 5.0, 19.9, 45.0, 300.0, 800.0]
    with mp.workdps(800):
        K = mpf(0.1)
        for r in radii:
            for s in radii:
                for half_angle in (0.0, 1e-12, 0.01, 0.8, float(mp.pi / 2)):
                    chord = float(4 * mp.sin(half_angle) ** 2)
                    total = float(4 * mp.cos(half_angle) ** 2)
                    R, S = mpf(r), mpf(s)
                    sine = mp.sqrt(mpf(chord) * mpf(total)) / 2
                    cosine = mp.sinh(S - R) - 2 * mp.cosh(R) * mp.sinh(S) * mpf(chord) / 4
                    apex = r == s and chord == 0
                    angle = mpf(0) if apex else mp.atan2(mp.sinh(S) * sine, cosine)
                    aperture = mp.pi if mp.tanh(R / 2) < K else mp.asin(2 * K / mp.sinh(R))
                    found = _kernels.polar_cone_energy(r, s, chord, total, 0.1)
                    assert found == pytest.approx(float(max(mpf(0), angle - aperture)), abs=1e-13), (
                        r,
                        s,
                        chord,
                    )


def rows(n: int, d: int, dtype: Any) -> Any:
    x = rng.normal(size=(n, d))
    x *= np.tanh(rng.uniform(0, 4, (n, 1)) / 2) / np.linalg.norm(x, axis=1, keepdims=True)
    return np.ascontiguousarray(x.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 7, 8, 63, 64, 65, 257])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 100])
def test_distances_against_numpy(dtype: Any, d: int, n: int) -> None:
    x, y = rows(n, d, dtype), rows(n, d, dtype)
    wide_x, wide_y = x.astype(float), y.astype(float)
    gap = np.sum((wide_x[:, None] - wide_y[None]) ** 2, axis=-1)
    margins = np.outer(1 - np.sum(wide_x**2, axis=-1), 1 - np.sum(wide_y**2, axis=-1))
    expected = 2 * np.arcsinh(np.sqrt(gap / margins))
    table = np.empty((n, n), dtype)
    assert _kernels.ball_pairwise(x, y, 1.0, table, 2) == -1
    np.testing.assert_allclose(table, expected, rtol=2 * np.finfo(dtype).eps + 1e-13)
    line = np.empty(n)
    assert _kernels.ball_distances(x[:1], y, 1.0, line, 2) == -1
    np.testing.assert_allclose(line, expected[0], rtol=1e-13)
    assert _kernels.ball_distances(x, y, 1.0, line, 1) == -1
    np.testing.assert_allclose(line, np.diag(expected), rtol=1e-13)
    np.testing.assert_array_equal(line.astype(dtype), np.diag(table))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "m", "d"),
    [
        (1, 70, 5),
        (70, 1, 16),
        (2, 3, 1),
        (65, 41, 24),
        (41, 67, 384),
        (200, 19, 400),
        (13, 9, 4100),
        (9000, 3, 2),
    ],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_table_is_pair_by_pair_to_the_bit(dtype: Any, n: int, m: int, d: int, threads: int) -> None:
    """Whatever blocks and threads it is shared out to; equal, nearly equal and tiny points too."""
    x, y = rows(n, d, dtype), rows(m, d, dtype)
    y[0] = x[0]
    if n > 4 and m > 2:
        y[1] = np.nextafter(x[-1], dtype(0))
        y[2] *= dtype(1e-30 if dtype == np.float32 else 1e-200)
        x[-2] = -y[2]
    table, line = np.empty((n, m), dtype), np.empty(n * m)
    assert _kernels.ball_pairwise(x, y, 1.0, table, threads) == -1
    pairs = np.repeat(x, m, axis=0), np.tile(y, (n, 1))
    assert _kernels.ball_distances(*pairs, 1.0, line, threads) == -1
    np.testing.assert_array_equal(table.ravel(), line.astype(dtype))
    assert table[0, 0] == 0
    if n > 4 and m > 2:
        assert table[-1, 1] > 0
        assert table[-2, 2] > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 7, 16, 31, 63, 384])
@pytest.mark.parametrize("n", [1, 5, 32, 33, 100])
def test_one_against_many_is_pair_by_pair_to_the_bit(dtype: Any, d: int, n: int) -> None:
    """Either side may be the one; near the boundary and where directions are nearly parallel too."""
    y = rows(n, d, dtype)
    y[::3] *= np.array((1 - 1e-5) / np.linalg.norm(y[::3], axis=1, keepdims=True), dtype)
    x = y[:1] * dtype(0.9) if n > 1 else rows(1, d, dtype)
    every = np.repeat(x, n, axis=0)
    for one, many in ((x, y), (y, x)):
        wide = (every, y) if one is x else (y, every)
        found, expected = np.empty(n), np.empty(n)
        for kernel in (_kernels.ball_distances, _kernels.cone_angles):
            assert kernel(one, many, 1.0, found, 1) == -1
            assert kernel(*wide, 1.0, expected, 2) == -1
            np.testing.assert_array_equal(found, expected)
        _kernels.cone_energies(one, many, 1.0, 0.2, found, 2)
        _kernels.cone_energies(*wide, 1.0, 0.2, expected, 1)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("d", [1, 3, 10, 64, 65, 384])
def test_angles_against_gyrovectors(d: int) -> None:
    """Ξ as the angle between x and log_x(y), which is along −x ⊕ y; ψ from its formula."""
    x, y = rows(200, d, np.float64), rows(200, d, np.float64)
    xx, yy, xy = (np.sum(a * b, axis=1, keepdims=True) for a, b in ((x, x), (y, y), (x, y)))
    heading = -(1 - 2 * xy + yy) * x + (1 - xx) * y
    across = heading - x * np.sum(heading * x, axis=1, keepdims=True) / xx
    expected = np.arctan2(np.linalg.norm(across, axis=1), np.sum(heading * x, axis=1) / np.sqrt(xx[:, 0]))
    found, aperture, energy = np.empty(200), np.empty(200), np.empty(200)
    assert _kernels.cone_angles(x, y, 1.0, found, 2) == -1
    np.testing.assert_allclose(found, expected, atol=2e-12 if d > 1 else 1e-7)
    assert _kernels.half_apertures(x, 1.0, 0.3, aperture, 2) == -1
    length = np.sqrt(xx[:, 0])
    sine = np.minimum(1, 0.3 * (1 - length) * (1 + length) / length)
    np.testing.assert_allclose(aperture, np.where(length < 0.3, np.pi, np.arcsin(sine)), rtol=1e-12)
    assert _kernels.cone_energies(x, y, 1.0, 0.3, energy, 2) == -1
    np.testing.assert_allclose(energy, np.maximum(0, found - aperture), atol=1e-15)


@pytest.mark.parametrize("d", [1, 5, 16, 17, 24, 100, 384, 1000])
@pytest.mark.parametrize("c", [0.3, 1.0, 7.0])
def test_the_margin_next_to_the_boundary_is_right_to_a_few_ulp(d: int, c: float) -> None:
    x = rng.normal(size=(40, d)) * 10 ** rng.uniform(-6, 0, (40, d))
    x *= (1 - 10 ** rng.uniform(-14, -4.3, (40, 1))) / np.sqrt(c) / np.linalg.norm(x, axis=1, keepdims=True)
    norm, margin = np.empty(40), np.empty(40)
    assert _kernels.ball_row_terms(x, c, norm, margin, 1) == -1
    with mp.workdps(60):
        for row, found in zip(x, margin, strict=True):
            assert relative_error(found, 1 - mpf(c) * sum(mpf(v) ** 2 for v in row)) < 4e-16


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_first_row_outside_is_named_on_any_number_of_threads(threads: int) -> None:
    n = 4000
    x, y, out = rows(n, 64, np.float64), rows(n, 64, np.float64), np.empty(n)
    y[[1234, 3999]] = 1.0
    assert _kernels.ball_distances(x, y, 1.0, out, threads) == n + 1234
    assert _kernels.cone_angles(x, y, 1.0, out, threads) == n + 1234
    assert _kernels.ball_pairwise(x[:2], y, 1.0, np.empty((2, n)), threads) == 2 + 1234
    assert _kernels.ball_pairwise(y, x[:2], 1.0, np.empty((n, 2)), threads) == 1234
    x[77] = 2.0
    assert _kernels.ball_distances(x, y, 1.0, out, threads) == 77
    assert _kernels.ball_to_lorentz(x, 1.0, np.empty((n, 65)), threads) == 77


def test_scaling_rows_keeps_directions() -> None:
    x, out = rows(50, 33, np.float64), np.empty((50, 33))
    x[7] = 0
    lengths = rng.uniform(0.1, 9, 50)
    _kernels.scale_rows(x, lengths, out, 2)
    np.testing.assert_allclose(
        np.linalg.norm(out, axis=1), np.where(np.arange(50) == 7, 0, lengths), rtol=1e-15
    )
    _kernels.scale_rows(x[:1], lengths, out, 1)
    np.testing.assert_allclose(out, np.outer(lengths, x[0] / np.linalg.norm(x[0])), rtol=1e-14)


@pytest.mark.parametrize("c", [0.25, 1.0, 9.0])
def test_lorentz_distances_at_every_radius(c: float) -> None:
    """Coordinates of the hyperboloid reach radius 700: near the origin, deep, and from one to the other."""
    radii = np.array([0.0, 1e-200, 1e-9, 0.5, 20.0, 170.0, 180.0, 300.0, 690.0])
    u = rng.normal(size=(len(radii), 5))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    X = np.column_stack([np.cosh(radii), np.sinh(radii)[:, None] * u]) / np.sqrt(c)
    for shift in range(len(radii)):
        Y, s, v = (np.ascontiguousarray(np.roll(a, shift, axis=0)) for a in (X, radii, u))
        expected, found = np.empty(len(radii)), np.empty(len(radii))
        chord = np.zeros(len(radii)) if shift == 0 else np.sum((u - v) ** 2, axis=1)
        _kernels.polar_distances(radii, s, chord, expected)
        _kernels.lorentz_distances(X, Y, c, found, 1)
        np.testing.assert_allclose(found * np.sqrt(c), expected, rtol=1e-13)
