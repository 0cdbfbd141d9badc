"""decimal_lists writes float64 as Python's repr does, for every finite number."""

import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory._core import _kernels

EDGES = [0.0, -0.0, 1e15, 1e16, 123456789012345680.0, 9999999999999998.0, 1e-4, 1e-5, 5e-324]
EDGES += [1.7976931348623157e308, 0.1, 1e22, 1e23, 2.0**53, -1.5]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_equal_to_the_json_module(values):
    assert _kernels.decimal_lists(np.array([values]).reshape(1, -1)) == [json.dumps(values)]


def test_edges_and_random_bit_patterns():
    patterns = np.random.default_rng(0).integers(0, 2**64, 50_000, dtype=np.uint64).view(np.float64)
    values = [*EDGES, *(v for v in patterns.tolist() if math.isfinite(v))]
    texts = _kernels.decimal_lists(np.array(values).reshape(-1, 1))
    assert texts == [f"[{value!r}]" for value in values]


def test_shapes():
    assert _kernels.decimal_lists(np.zeros((0, 3))) == []
    assert _kernels.decimal_lists(np.zeros((2, 0))) == ["[]", "[]"]
