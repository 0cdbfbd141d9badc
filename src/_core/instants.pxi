# datetime objects to UTC microseconds. In C because add_many and the policies convert whole lists: the fields
# are read straight from the object, and only zones other than UTC cost a Python call.
cimport cpython.datetime as cdatetime
from cpython.number cimport PyNumber_Index

import datetime as _datetime

cdatetime.import_datetime()

cdef extern from "instants.hpp" namespace "poincare" nogil:
    const int64_t kMicrosPerSecond
    const int64_t kMicrosPerDay
    const int64_t kEarliestInstant
    const int64_t kLatestInstant
    int64_t micros_from_civil(int year, int month, int day, int hour, int minute, int second, int microsecond)

EARLIEST_INSTANT = kEarliestInstant
LATEST_INSTANT = kLatestInstant

cdef object _UTC = _datetime.timezone.utc


cdef str _what_is_wanted(object value):
    return f"expected a datetime (a naive one is taken as UTC), got {type(value).__name__} {value!r:.80}"


cdef int64_t _micros(object moment) except? -1:
    if not cdatetime.PyDateTime_Check(moment):
        raise TypeError(_what_is_wanted(moment))
    if not cdatetime.PyDateTime_CheckExact(moment) and moment != moment:  # pandas.NaT is a datetime
        raise ValueError(_what_is_wanted(moment))
    cdef int64_t local = micros_from_civil(
        cdatetime.datetime_year(moment), cdatetime.datetime_month(moment), cdatetime.datetime_day(moment),
        cdatetime.datetime_hour(moment), cdatetime.datetime_minute(moment), cdatetime.datetime_second(moment),
        cdatetime.datetime_microsecond(moment),
    )
    cdef object zone = cdatetime.datetime_tzinfo(moment)
    if zone is None or zone is _UTC:
        return local
    cdef object offset = moment.utcoffset()
    if offset is None:
        return local
    cdef int64_t micros = local - (
        cdatetime.timedelta_days(offset) * kMicrosPerDay
        + cdatetime.timedelta_seconds(offset) * kMicrosPerSecond
        + cdatetime.timedelta_microseconds(offset)
    )
    if micros < kEarliestInstant or micros > kLatestInstant:
        raise ValueError(f"{moment.isoformat()} is outside the years 1 to 9999 in UTC")
    return micros


cdef _named(str name, object error):
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"{name}: {error}")


def micros_of(moment, str name not None):
    """Microseconds since 1970-01-01 UTC of one datetime; `name` is what an error calls it."""
    try:
        return _micros(moment)
    except (TypeError, ValueError) as error:
        raise _named(name, error) from None


def fill_micros(tuple moments not None, int64_t[::1] out not None, str name not None, bint missing_allowed):
    """out[i] = micros_of(moments[i]); None becomes MISSING_INSTANT where that is allowed."""
    cdef Py_ssize_t i, n = len(moments)
    if out.shape[0] != n:
        raise ValueError(f"out: expected {n} places, got {out.shape[0]}")
    for i in range(n):
        moment = moments[i]
        if moment is None and missing_allowed:
            out[i] = kMissingInstant
            continue
        try:
            out[i] = _micros(moment)
        except (TypeError, ValueError) as error:
            raise _named(f"{name}[{i}]", error) from None


def fill_counts(tuple counts not None, int64_t[::1] out not None, str name not None):
    """out[i] = counts[i], integers of any kind."""
    cdef Py_ssize_t i, n = len(counts)
    if out.shape[0] != n:
        raise ValueError(f"out: expected {n} places, got {out.shape[0]}")
    for i in range(n):
        try:
            out[i] = PyNumber_Index(counts[i])
        except (TypeError, OverflowError) as error:
            raise _named(f"{name}[{i}]", error) from None
