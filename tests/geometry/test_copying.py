"""Copies of large arrays in pieces are the copies that NumPy makes."""

from __future__ import annotations

import numpy as np
import pytest

from poincare_memory.geometry import copying

SHAPES = [(), (0,), (3,), (1000,), (7, 300), (300, 7), (1, 2000), (2, 3, 400), (400, 2, 3), (0, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [None, np.float32, np.float64, ">f8"])
@pytest.mark.parametrize("order", ["C", "F", "reversed", "broadcast"])
def test_copies_in_pieces(shape, dtype, order, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_AT_ONCE", 64)
    values = np.random.default_rng(0).normal(size=shape)
    values = np.asarray(values, order="F" if order == "F" else "C")
    if order == "reversed":
        values = values[..., ::-1] if shape else values
    if order == "broadcast":
        values = np.broadcast_to(values, (3, *shape))
    found = copying.copied(values, dtype)
    np.testing.assert_array_equal(found, values.astype(values.dtype if dtype is None else dtype))
    assert found.dtype == (dtype or values.dtype) and found.shape == values.shape
    assert found.flags.c_contiguous and found.flags.writeable and found.base is None


def test_values_of_the_type_are_not_copied() -> None:
    values = np.zeros(5)[::2]
    assert copying.of_type(values, "f8") is values
