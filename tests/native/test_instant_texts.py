"""ISO 8601 texts of instants: what datetime writes and reads, to the letter, or left to datetime."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poincare_memory._core import _kernels

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
EARLIEST, LATEST, MISSING = _kernels.EARLIEST_INSTANT, _kernels.LATEST_INSTANT, _kernels.MISSING_INSTANT
DAY = 86_400 * 10**6


def read(texts: list[object], start: int = 0, missing_allowed: bool = True) -> tuple[int, list[int]]:
    out = np.zeros(len(texts), np.int64)
    return _kernels.fill_instants(texts, out, start, missing_allowed), out.tolist()


@given(
    st.integers(EARLIEST, LATEST) | st.integers(EARLIEST // 10**6, LATEST // 10**6).map(lambda s: s * 10**6)
)
@example(EARLIEST)
@example(LATEST)
@example(-1)
def test_texts_are_those_of_datetime(micros: int) -> None:
    text = (EPOCH + timedelta(microseconds=micros)).isoformat()
    assert _kernels.instant_texts(np.array([micros])) == [text]
    assert read([text]) == (1, [micros])


def test_every_day_of_four_centuries() -> None:
    days = np.arange(-146_097 // 2, 146_097, dtype=np.int64) * DAY
    texts = _kernels.instant_texts(days)
    start = EPOCH + timedelta(days=-146_097 // 2)
    assert texts == [(start + timedelta(days=i)).isoformat() for i in range(len(days))]
    read_back = np.empty_like(days)
    assert _kernels.fill_instants(texts, read_back, 0, False) == len(days)
    np.testing.assert_array_equal(read_back, days)


valid = "2024-02-29T23:59:59.000001+00:00"


@given(st.integers(0, len(valid) - 1), st.characters(max_codepoint=127))
def test_whatever_is_read_is_what_datetime_reads(at: int, character: str) -> None:
    text = valid[:at] + character + valid[at + 1 :]
    done, (micros,) = read([text])
    if done:
        assert datetime.fromisoformat(text) == EPOCH + timedelta(microseconds=micros)
        assert text.endswith("+00:00")


@pytest.mark.parametrize(
    "other",
    [
        "", "2024-02-30T00:00:00+00:00", "2023-02-29T00:00:00+00:00", "1900-02-29T00:00:00+00:00",
        "2024-00-01T00:00:00+00:00", "2024-13-01T00:00:00+00:00", "2024-01-00T00:00:00+00:00",
        "0000-01-01T00:00:00+00:00", "2024-01-01T24:00:00+00:00", "2024-01-01T00:60:00+00:00",
        "2024-01-01T00:00:60+00:00", "2024-01-01T00:00:00+01:00", "2024-01-01T00:00:00-00:00",
        "2024-01-01T00:00:00Z", "2024-01-01", "2024-01-01T00:00:00.123+00:00", "2024-01-01T00:00:00+00:00 ",
        "２０24-01-01T00:00:00+00:00", b"2024-01-01T00:00:00+00:00", 7, ["2024"],
    ],
)  # fmt: skip
def test_any_other_is_left_to_who_asks(other: object) -> None:
    assert read(["1970-01-01T00:00:00.000001+00:00", other, "1970-01-01T00:00:00+00:00"]) == (1, [1, 0, 0])
    assert read([other, "1970-01-01T00:00:00.000002+00:00"], start=1) == (2, [0, 2])


def test_missing() -> None:
    assert _kernels.instant_texts(np.array([MISSING, 0])) == [None, "1970-01-01T00:00:00+00:00"]
    assert read([None, None]) == (2, [MISSING, MISSING])
    assert read([None], missing_allowed=False) == (0, [0])


@pytest.mark.parametrize("micros", [EARLIEST - 1, LATEST + 1, MISSING + 1])
def test_what_no_datetime_holds_is_refused(micros: int) -> None:
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        _kernels.instant_texts(np.array([micros]))


def test_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 1 places"):
        _kernels.fill_instants(["a"], np.zeros(2, np.int64), 0, True)
