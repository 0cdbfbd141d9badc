from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poincare_memory.temporal.instants import (
    EARLIEST,
    LATEST,
    MISSING,
    bounds_column,
    counts_column,
    from_micros,
    micros_column,
    optional_micros,
    to_micros,
    to_utc,
)

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
ZONES = [None, UTC, timezone(timedelta(hours=5, minutes=45)), ZoneInfo("America/New_York"), ZoneInfo("UTC")]

moments = st.datetimes(
    min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.sampled_from(ZONES)
)
NOT_DATETIMES: list[Any] = [
    date(2026, 1, 1),
    "2026-01-01",
    1.7e9,
    17,
    True,
    np.datetime64("2026-01-01"),
    timedelta(1),
    b"",
]


@given(moments)
def test_micros_are_the_exact_distance_from_the_epoch(moment: datetime) -> None:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    assert to_micros(moment) == (aware - EPOCH) // MICROSECOND


@given(st.integers(EARLIEST, LATEST))
def test_every_instant_of_datetime_survives_the_round_trip(micros: int) -> None:
    moment = from_micros(micros)
    assert moment is not None
    assert moment.tzinfo is UTC
    assert to_micros(moment) == micros


@given(moments)
def test_to_utc_keeps_the_instant(moment: datetime) -> None:
    utc = to_utc(moment)
    assert utc.tzinfo is UTC
    assert type(utc) is datetime
    assert to_micros(utc) == to_micros(moment)


def test_the_ends_of_the_calendar() -> None:
    assert to_micros(datetime.min) == EARLIEST
    assert to_micros(datetime.max) == LATEST
    assert MISSING < EARLIEST
    for outside in (EARLIEST - 1, LATEST + 1):
        with pytest.raises(ValueError, match="outside the years"):
            from_micros(outside)


def test_an_instant_before_year_one_in_utc_is_refused() -> None:
    east = timezone(timedelta(hours=3))
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        to_micros(datetime.min.replace(tzinfo=east))
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        to_utc(datetime.max.replace(tzinfo=timezone(timedelta(hours=-3))))


def test_both_sides_of_a_clock_change_are_told_apart() -> None:
    new_york = ZoneInfo("America/New_York")
    first = datetime(2025, 11, 2, 1, 30, tzinfo=new_york, fold=0)
    second = first.replace(fold=1)
    assert to_micros(second) - to_micros(first) == 3_600_000_000


@pytest.mark.parametrize("value", NOT_DATETIMES, ids=lambda value: type(value).__name__)
def test_what_is_not_a_datetime_is_a_clear_type_error(value: Any) -> None:
    for convert in (to_micros, to_utc):
        with pytest.raises(TypeError, match=rf"expected a datetime .* got {type(value).__name__}"):
            convert(value)
    with pytest.raises(TypeError, match=r"^clock\(\): expected"):
        to_micros(value, "clock()")
    with pytest.raises(TypeError, match=r"valid_from\[1\]: expected a datetime"):
        bounds_column([None, value], "valid_from")


@pytest.mark.parametrize(
    ("value", "advice"), [("2026-01-01", "fromisoformat"), (1.7e9, "fromtimestamp"), (5, "1970")]
)
def test_what_makes_a_datetime_is_told(value: Any, advice: str) -> None:
    with pytest.raises(TypeError, match=advice):
        to_micros(value)


def test_pandas_timestamps_are_datetimes_and_nat_is_refused() -> None:
    stamp = pd.Timestamp("2026-01-01T12:00:00.000001", tz="Europe/Paris")
    assert to_micros(stamp) == to_micros(datetime(2026, 1, 1, 11, 0, 0, 1))
    assert type(to_utc(stamp)) is datetime
    with pytest.raises(ValueError, match="NaT"):
        to_micros(pd.NaT)


@given(st.lists(st.one_of(st.none(), moments), max_size=20))
def test_a_column_of_bounds_marks_what_is_missing(bounds: list[datetime | None]) -> None:
    expected = [MISSING if bound is None else to_micros(bound) for bound in bounds]
    column = bounds_column(iter(bounds))
    assert column.dtype == np.int64
    assert column.tolist() == expected


def test_a_missing_instant_is_none_both_ways() -> None:
    assert from_micros(MISSING) is None
    assert optional_micros(None) == MISSING
    assert optional_micros(EPOCH) == 0


def test_a_time_may_not_be_missing() -> None:
    with pytest.raises(TypeError, match=r"times\[1\]: .*NoneType"):
        micros_column([EPOCH, None])  # type: ignore[list-item]


def test_counts_are_integers_of_any_kind() -> None:
    counts: list[Any] = [1, np.int32(2), True]
    assert counts_column(counts).tolist() == [1, 2, 1]
    with pytest.raises(TypeError, match=r"access_counts\[0\]"):
        counts_column([1.5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"access_counts\[1\]"):
        counts_column([1, 2**63])
