"""Many queries in one pass: to the bit what the scan finds for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.scan_columns import HOUR, NOW, Hits, Scan, encoded, unit_rows
from native.test_scan import scans
from poincare_memory._core import _kernels

Matrix = npt.NDArray[np.float64]


def batch(scan: Scan, queries: Matrix, k: int, threads: int = 1) -> list[Hits] | None:
    codes, scale, lost = encoded(scan.direction)
    return _kernels.scan_batch(
        **scan.columns(),
        **scan.scoring(),
        queries=queries,
        count=len(scan.candidates()),
        codes=codes,
        code_scale=scale,
        code_error=lost,
        k=k,
        threads=threads,
    )


@given(scans(), st.integers(1, 40), st.integers(0, 2**32))
@settings(max_examples=400, deadline=None)
def test_the_answers_are_those_of_the_scan(scan: Scan, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scan.mask = scan.bonus = None
    if scan.metric == _kernels.SCAN_NO_QUERY or scan.query is None:
        scan.metric, scan.query = (
            _kernels.SCAN_SHELL,
            unit_rows(rng.normal(size=(1, scan.direction.shape[1])))[0],
        )
    near = scan.query + 1e-7 * rng.normal(size=scan.query.shape)
    queries = unit_rows(np.stack([scan.query, near, -scan.query, rng.normal(size=scan.query.shape)]))
    answers = batch(scan, queries, k)
    deepest = np.sqrt(scan.curvature) * 2 * max(scan.query_radius, float(scan.radius.max()))
    if answers is None:
        assert deepest > 80  # too deep for float32
        return
    assert answers == batch(scan, queries, k, threads=2)
    for query, hits in zip(queries, answers, strict=True):
        scan.query = np.ascontiguousarray(query)
        assert hits == scan.top(k)


@given(
    st.sampled_from([1, 3, 64, 70, 130]),
    st.sampled_from([1, 10, 40, 300, 1200]),
    st.sampled_from([2, 8, 48]),
    st.sampled_from([0.0, 1e-9, 1e-3, 1.0]),
    st.sampled_from([_kernels.SCAN_SHELL, _kernels.SCAN_HYPERBOLIC]),
    st.booleans(),
    st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_block_after_block_the_answers_are_those_of_the_scan(
    queries: int, k: int, dim: int, spread: float, metric: int, aged: bool, seed: int
) -> None:
    """More candidates than a block holds, most of them nearly as good as the best: around few centres, or equal."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2100, 9000)) if queries >= 64 else 68_000 if queries == 1 else 24_000
    centres = unit_rows(rng.normal(size=(6, dim)))
    direction = centres[rng.integers(0, 6, count)] + spread * rng.normal(size=(count, dim))
    direction[rng.integers(0, count, 20)] = 0
    scan = Scan(unit_rows(direction), rng.choice([0.5, 1.0, 2.0], count), None, metric)
    if aged:
        scan.t = NOW - rng.integers(0, 9000, count) * HOUR
        scan.factors = ((_kernels.DECAY_HALF_LIFE, 720.0, 0.0),)
    asked = unit_rows(centres[rng.integers(0, 6, queries)] + spread * rng.normal(size=(queries, dim)))
    answers = batch(scan, asked, k)
    assert answers is not None
    assert answers == batch(scan, asked, k, threads=2)
    for number in {0, queries // 2, queries - 1}:
        scan.query = np.ascontiguousarray(asked[number])
        assert answers[number] == scan.top(k)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("queries", np.ones((2, 4)), "queries: expected 3 columns"),
        ("codes", np.ones((5, 3), np.int8), "codes: expected 32 columns"),
        ("count", 0, "at least one"),
        ("rows", np.zeros(4, np.int32), "rows: expected 5 of them"),
        ("radius", np.ones(4), "radius: expected at least 5"),
        ("log_weights", np.ones(4), "log_weights: expected at least 5"),
        ("factors", np.ones((1, 2)), "factors: expected rows"),
        ("metric", _kernels.SCAN_NO_QUERY, "metric: expected"),
        ("curvature", 0.0, "curvature"),
        ("k", 0, "at least one"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(name: str, value: Any, told: str) -> None:
    scan = Scan(unit_rows(np.ones((5, 3))), np.ones(5), None)
    columns = scan.columns()
    arguments: dict[str, Any] = {
        **columns,
        "rows": None,
        "metric": _kernels.SCAN_SHELL,
        "queries": np.ones((2, 3)),
        "query_radius": 1.0,
        "count": 5,
        "codes": np.ones((5, 32), np.int8),
        "code_scale": np.ones(5, np.float32),
        "code_error": np.zeros(5, np.float32),
        "curvature": 1.0,
        "depth_bias": 0.0,
        "time_coef": 1.0,
        "factors": None,
        "now": NOW,
        "log_weights": None,
        "k": 2,
    }
    with pytest.raises(ValueError, match=told):
        _kernels.scan_batch(**{**arguments, name: value})


@pytest.mark.parametrize("queries", [1, 3, 8, 17, 33, 64, 65, 130])
@pytest.mark.parametrize(("count", "dim"), [(1, 1), (5, 3), (6, 16), (97, 33), (200, 384)])
def test_products_are_those_of_the_codes(queries: int, count: int, dim: int) -> None:
    rng = np.random.default_rng(0)
    left, right = (unit_rows(rng.normal(size=(n, dim))) for n in (queries, count))
    query_codes, query_scale, _ = encoded(left)
    codes, scale, lost = encoded(right)
    sums = codes.astype(np.int64) @ query_codes.T.astype(np.int64)
    expected = (scale[:, None] * query_scale) * sums.astype(np.float32)
    out = np.full((count, queries), np.nan, np.float32)
    error = _kernels.products(left, codes, scale, None, out)
    assert np.array_equal(out, expected)
    rows = rng.integers(0, count, 50).astype(np.int32)
    some = np.empty((50, queries), np.float32)
    _kernels.products(left, codes, scale, rows, some, threads=2)
    assert np.array_equal(some, expected[rows])
    off = np.abs(expected - right @ left.T)
    assert (off <= error * (1 + lost[:, None]) + lost[:, None]).all()


def test_products_of_the_largest_codes_do_not_overflow() -> None:
    for dim in (66_000, 66_001):  # so many numbers fit into the sums; of more, queries have no code
        ones = np.full((2, dim), 1 / np.sqrt(dim))
        ones[1] *= -1
        codes, scale, lost = encoded(ones)
        out = np.empty((2, 2), np.float32)
        error = _kernels.products(ones, codes, scale, None, out)
        exact = ones @ ones.T
        assert (np.abs(out - exact) <= error * (1 + lost[:, None]) + lost[:, None]).all()
        assert (error < 1e-4) == (dim == 66_000)


def test_products_that_do_not_fit_are_refused() -> None:
    queries, codes, scale = np.zeros((2, 3)), np.zeros((5, 32), np.int8), np.zeros(5, np.float32)
    for arguments, told in (
        (
            (queries, codes[:, :2].copy(), scale, None, np.zeros((5, 2), np.float32)),
            "codes: expected 32 columns",
        ),
        ((queries, codes, scale, None, np.zeros((5, 1), np.float32)), "out: expected 2 columns"),
        ((queries, codes, scale, None, np.zeros((6, 2), np.float32)), "codes: expected at least 6"),
        ((queries, codes, scale, np.zeros(4, np.int32), np.zeros((5, 2), np.float32)), "rows: expected 5"),
    ):
        with pytest.raises(ValueError, match=told):
            _kernels.products(*arguments)
