# datetime objects to UTC microseconds. In C because add_many and the policies convert whole lists: the fields
# are read straight from the object, and only zones other than UTC cost a Python call.
cimport cpython.datetime as cdatetime
from cpython.number cimport PyNumber_Index

cdef extern from "Python.h":
    int PyUnicode_IS_COMPACT_ASCII(object)
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL

import datetime as _datetime

cdatetime.import_datetime()

cdef extern from "instants.hpp" namespace "poincare" nogil:
    const int64_t kMicrosPerSecond
    const int64_t kMicrosPerDay
    const int64_t kEarliestInstant
    const int64_t kLatestInstant
    enum: kLongestInstantText
    bint instant_of_text(const char*, size_t, int64_t&)
    size_t text_of_instant(int64_t, char*)
    int64_t micros_from_civil(int year, int month, int day, int hour, int minute, int second, int microsecond)

EARLIEST_INSTANT = kEarliestInstant
LATEST_INSTANT = kLatestInstant

cdef object _UTC = _datetime.timezone.utc


cdef str _what_is_wanted(object value):
    cdef str advice = ""
    if isinstance(value, str):
        advice = "; of ISO 8601 datetime.fromisoformat(text) makes one"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        advice = "; of seconds since 1970 datetime.fromtimestamp(seconds, timezone.utc) makes one"
    return (
        f"expected a datetime (a naive one is taken as UTC), got {type(value).__name__} {value!r:.80}{advice}"
    )


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


def fill_instants(list texts not None, int64_t[::1] out not None, Py_ssize_t start, bint missing_allowed):
    """Microseconds of ISO 8601 texts in UTC, as isoformat writes them, from `start` on, MISSING_INSTANT for None.

    Returns the first place that holds something else, which may be a time too; the length where none does.
    """
    cdef Py_ssize_t i, n = len(texts), size = 0
    if out.shape[0] != n:
        raise ValueError(f"out: expected {n} places, got {out.shape[0]}")
    for i in range(start, n):
        text = texts[i]
        if text is None and missing_allowed:
            out[i] = kMissingInstant
            continue
        if not isinstance(text, str) or not PyUnicode_IS_COMPACT_ASCII(text):
            return i
        if not instant_of_text(PyUnicode_AsUTF8AndSize(text, &size), <size_t>len(<str>text), out[i]):
            return i
    return n


def instant_texts(const int64_t[::1] instants):
    """ISO 8601 text of each instant, as isoformat writes it in UTC; None for MISSING_INSTANT."""
    cdef list texts = []
    cdef Py_ssize_t i
    cdef size_t length
    cdef char text[kLongestInstantText]
    for i in range(instants.shape[0]):
        if instants[i] == kMissingInstant:
            texts.append(None)
            continue
        if instants[i] < kEarliestInstant or instants[i] > kLatestInstant:
            raise ValueError(f"{instants[i]} microseconds since 1970 is outside the years 1 to 9999")
        length = text_of_instant(instants[i], text)
        texts.append(text[:length].decode("ascii"))
    return texts
