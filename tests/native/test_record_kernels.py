"""Rows of a database taken as long as there is room for them; their digests are tested beside `store.digests`."""

from __future__ import annotations

import pytest

from poincare_memory._core import _kernels

ROWS = [("a", b"bc", None, 1, 2.5), ("", b"", "def"), ("ü" * 4,), (b"x" * 100,), ("last",)]


def test_rows_are_taken_in_turn() -> None:
    rows = iter(ROWS)
    assert _kernels.take_rows(rows, 2, 1000) == (ROWS[:2], 6)
    assert _kernels.take_rows(rows, 2, 1000) == (ROWS[2:4], 104)
    assert _kernels.take_rows(rows, 2, 1000) == (ROWS[4:], 4)
    assert _kernels.take_rows(rows, 2, 1000) == ([], 0)


def test_no_row_is_taken_after_the_room_is_used_up() -> None:
    rows = iter(ROWS)
    assert _kernels.take_rows(rows, 100, 6) == (ROWS[:3], 10)
    assert next(rows) == ROWS[3]


def test_none_wanted() -> None:
    rows = iter(ROWS)
    assert _kernels.take_rows(rows, 0, 1000) == ([], 0)
    assert next(rows) == ROWS[0]


def test_what_is_no_row_is_refused() -> None:
    with pytest.raises(TypeError):
        _kernels.take_rows(iter([["a"]]), 1, 1)  # type: ignore[list-item]
