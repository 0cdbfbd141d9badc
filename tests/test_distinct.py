"""`distinct` answers as `np.unique` does, and `beginnings` as its first places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from poincare_memory.distinct import beginnings, distinct


@given(
    arrays.arrays(
        st.sampled_from([np.int32, np.int64, np.uint8]),
        arrays.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=30),
        elements=st.integers(0, 20),
    )
)
def test_each_value_once(values: np.ndarray) -> None:
    before = values.copy()
    found = distinct(values)
    wanted, first = np.unique(np.sort(values, axis=None), return_index=True)
    assert found.dtype == values.dtype
    assert found.tolist() == wanted.tolist()
    assert beginnings(np.sort(values, axis=None)).tolist() == first.tolist()
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("extreme", [np.iinfo(np.int64).min, np.iinfo(np.int64).max])
def test_the_ends_of_the_range(extreme: int) -> None:
    assert distinct(np.array([0, extreme, 0, extreme])).tolist() == sorted([0, extreme])
