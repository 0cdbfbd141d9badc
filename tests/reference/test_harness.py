"""The instrument itself: values travel unchanged, errors arrive, ours and the reference stay apart."""

from __future__ import annotations

import math
import time
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import poincare_memory
from reference.harness import Reference, ReferenceHung, ReferenceRaised, dumps, loads

VALUES = [
    None,
    True,
    -0.0,
    10**40,
    math.inf,
    "ü\u2028\0",
    b"\0\xff",
    (1, [2, ({"a": 3},)]),
    {(1, 2): "tuple key", 3: "number key", None: {}},
    {1, 2},
    datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    timedelta(days=-3, microseconds=7),
    np.float32(0.1),
    np.arange(6, dtype=">i2").reshape(2, 3).T,
]


def echo(payload):
    return payload


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_travel_unchanged(reference: Reference, value: object) -> None:
    result = reference.call(echo, [value])[0]
    assert type(result) is type(value)
    np.testing.assert_array_equal(result, value) if isinstance(value, np.ndarray) else None
    if not isinstance(value, np.ndarray):
        assert result == value
        assert repr(result) == repr(value)


@given(npst.arrays(npst.floating_dtypes(), npst.array_shapes(min_dims=0, min_side=0)), st.floats())
def test_arrays_and_floats_are_bit_exact(array: np.ndarray, number: float) -> None:
    arrays, numbers = loads(dumps((array, [number])))
    assert arrays.dtype == array.dtype
    assert arrays.tobytes() == array.tobytes()
    np.testing.assert_array_equal(numbers[0], number)


def test_the_reference_is_the_one_imported(reference: Reference) -> None:
    def where(payload):
        import sys

        import poincare_memory

        ours = sorted(name for name in sys.modules if name.startswith("poincare_memory._core"))
        return poincare_memory.__version__, poincare_memory.__file__, ours

    version, file, native = reference.call(where)
    assert version == "0.1.4"
    assert file.startswith(str(reference.folder))
    assert native == []
    assert poincare_memory.__file__ != file


def test_errors_and_warnings_arrive(reference: Reference) -> None:
    def refuse(payload):
        import warnings

        from poincare_memory import PoincareBall

        warnings.warn("seen", RuntimeWarning, stacklevel=1)
        return PoincareBall(payload)

    with pytest.raises(ReferenceRaised) as caught:
        reference.call(refuse, -1.0)
    assert caught.value.kind == "ValueError"
    assert reference.warnings == [("RuntimeWarning", "seen")]
    with pytest.raises(ReferenceRaised, match="cannot send"):
        reference.call("def main(payload): return object()")


def test_a_hang_is_ended_and_the_next_call_works(reference: Reference) -> None:
    def sleep(payload):
        import time

        time.sleep(payload)

    with reference.fresh() as worker:
        start = time.monotonic()
        with pytest.raises(ReferenceHung):
            worker.call(sleep, 30, timeout=0.3)
        assert time.monotonic() - start < 20
        assert worker.call(echo, 1) == 1


def test_functions_of_a_file(reference: Reference, tmp_path) -> None:
    path = tmp_path / "scenario_of_two_functions.py"
    path.write_text("def helper(x):\n    return x + 1\n\n\ndef main(payload):\n    return helper(payload)\n")
    assert reference.call_in(path, "main", 1) == 2


def test_the_command_line(reference: Reference, tmp_path) -> None:
    done = reference.command("demo", "-o", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo.db").is_file()
