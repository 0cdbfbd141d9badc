"""Rows of a database taken apart; their digests are tested beside `store.digests`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from poincare_memory._core import _kernels
from poincare_memory.store.digests import record_digests

ROWS: list[tuple[Any, ...]] = [
    (1, "a", b"12345678", b"abcdefgh", None),
    (2, None, b"22345678", b"bbcdefgh", "üü"),
    (3, "ccc", b"32345678", b"cbcdefgh", 2.5),
    (4, "", b"42345678", b"dbcdefgh", None),
]
POINT, WIDTH = 2, 8


class Taken:
    def __init__(
        self, rows: Iterator[tuple[Any, ...]], most: int, room: int = 1000, places: int | None = None
    ):
        size = most if places is None else places
        self.columns: list[list[Any]] = [[] for _ in range(5)]
        self.points, self.embeddings = (np.zeros((size, WIDTH), np.uint8) for _ in range(2))
        self.digests = np.zeros(size, np.int64)
        self.count, self.length, self.odd = _kernels.take_records(
            rows, most, room, 1, POINT, self.columns, self.points, self.embeddings, self.digests
        )


def assert_taken(taken: Taken, rows: list[tuple[Any, ...]]) -> None:
    assert taken.count == len(rows)
    numbers, names, _, _, lasts = (list(column) for column in zip(*rows, strict=True))
    assert taken.columns == [numbers, names, [], [], lasts]
    assert [bytes(point) for point in taken.points[: len(rows)]] == [row[2] for row in rows]
    assert [bytes(embedding) for embedding in taken.embeddings[: len(rows)]] == [row[3] for row in rows]
    digests = [record_digests([[value] for value in row[1:]])[0] for row in rows]
    assert taken.digests[: len(rows)].tolist() == digests
    assert taken.odd == []


def test_rows_are_taken_in_turn() -> None:
    rows = iter(ROWS)
    first = Taken(rows, 3)
    assert_taken(first, ROWS[:3])
    assert first.length == 6 * 8 + 1 + 2 + 3
    assert_taken(Taken(rows, 3), ROWS[3:])
    assert Taken(rows, 3).count == 0


def test_no_row_is_taken_after_the_room_is_used_up() -> None:
    rows = iter(ROWS)
    taken = Taken(rows, 4, room=20)
    assert_taken(taken, ROWS[:2])
    assert taken.length > 20
    assert next(rows) == ROWS[2]


def test_vectors_that_are_none_are_told() -> None:
    rows = [ROWS[0], (5, "a", "text", None, None), (6, "b", b"short", b"abcdefgh", None)]
    taken = Taken(iter(rows), 3)
    assert taken.count == 3
    assert taken.odd == [(1, 2, "text"), (1, 3, None), (2, 2, b"short")]
    assert bytes(taken.embeddings[2]) == b"abcdefgh"


def test_none_wanted() -> None:
    rows = iter(ROWS)
    assert Taken(rows, 0).count == 0
    assert next(rows) == ROWS[0]


def test_what_is_no_row_and_too_little_room_are_refused() -> None:
    with pytest.raises(TypeError):
        Taken(iter([["a"]]), 1)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="expected rows of 5 values, got 2"):
        Taken(iter([("a", "b")]), 1)
    with pytest.raises(ValueError, match="expected 2 places"):
        Taken(iter(ROWS), 2, places=1)


NOTED: list[tuple[Any, ...]] = [(1, 0, None, 5), (2, 3, "2026", -7), (9, 0, "x", 2**62)]


def matches(noted: list[tuple[Any, ...]], before: int | None = None) -> bool:
    pos, counts, accessed, digests = (list(column) for column in zip(*NOTED, strict=True))
    return _kernels.digests_match(noted, pos, counts, accessed, np.array(digests, np.int64), before)


def test_noted_digests_match_their_records_only() -> None:
    assert matches(list(NOTED))
    assert matches(list(NOTED), before=0)
    assert not matches(list(NOTED), before=1)
    assert not matches(NOTED[:2])
    assert not matches([NOTED[1], NOTED[0], NOTED[2]])
    for i, row in enumerate(NOTED):
        for j in range(4):
            other = [*NOTED]
            other[i] = (*row[:j], "something else", *row[j + 1 :])
            assert not matches(other), other


@pytest.mark.parametrize("pos", [[1, 1], [2, 1], [1, True], [1, 2.0], [1, "2"], [1, None]])
def test_positions_that_order_nothing_match_nothing(pos: list[Any]) -> None:
    noted = [(pos[0], 0, None, 5), (pos[1], 0, None, 5)]
    assert not _kernels.digests_match(noted, pos, [0, 0], [None, None], np.array([5, 5]), None)


@pytest.mark.parametrize("where", ["points", "embeddings"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
def test_vectors_are_ordinary_where_every_number_is(where: str, value: float) -> None:
    rng = np.random.default_rng(0)
    vectors = {"points": rng.uniform(-0.1, 0.1, (5, 19)), "embeddings": rng.normal(size=(5, 19))}
    assert _kernels.ordinary_vectors(vectors["points"], vectors["embeddings"], 1.0)
    vectors[where][3, 18] = value
    assert not _kernels.ordinary_vectors(vectors["points"], vectors["embeddings"], 1.0)


def test_points_at_the_border_and_embeddings_without_length_are_not_ordinary() -> None:
    points, embeddings = np.full((2, 4), 0.25), np.ones((2, 4))
    assert _kernels.ordinary_vectors(points, embeddings, 0.5000001)
    assert not _kernels.ordinary_vectors(points, embeddings, 0.5)
    embeddings[1] = 0
    assert not _kernels.ordinary_vectors(points, embeddings, 1.0)


def test_buffers_are_filled_row_by_row() -> None:
    data = np.arange(12, dtype=np.uint8).reshape(3, 4)
    buffers = [bytearray(4) for _ in range(4)]
    _kernels.fill_buffers(data, buffers)
    assert buffers == [data[0].tobytes(), data[1].tobytes(), data[2].tobytes(), bytes(4)]
    for wrong in ([bytearray(4)] * 2, [bytearray(3)] * 3, [b"1234"] * 3):
        with pytest.raises(ValueError, match="buffers"):
            _kernels.fill_buffers(data, wrong)  # type: ignore[arg-type]
