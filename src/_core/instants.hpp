// Civil dates of the proleptic Gregorian calendar (years 1 to 9999) as microseconds since 1970-01-01.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr std::int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;

// Days since 1970-01-01. The year is counted from March, so that the leap day is its last.
constexpr std::int64_t days_from_civil(int year, int month, int day) {
    const std::int64_t y = month > 2 ? year : year - 1;
    const std::int64_t months_since_march = month > 2 ? month - 3 : month + 9;
    const std::int64_t day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
    return 365 * y + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

constexpr std::int64_t micros_from_civil(int year, int month, int day, int hour, int minute, int second,
                                         int microsecond) {
    const std::int64_t seconds = (hour * 60 + minute) * 60 + second;
    return days_from_civil(year, month, day) * kMicrosPerDay + seconds * kMicrosPerSecond + microsecond;
}

// What datetime can hold: 0001-01-01T00:00:00 to 9999-12-31T23:59:59.999999.
constexpr std::int64_t kEarliestInstant = micros_from_civil(1, 1, 1, 0, 0, 0, 0);
constexpr std::int64_t kLatestInstant = micros_from_civil(9999, 12, 31, 23, 59, 59, 999'999);

// Reads the text that Python's isoformat writes of a datetime in UTC, "2026-03-01T12:00:00+00:00" or with six
// digits of a second's fraction; false for any other, valid or not.
bool instant_of_text(const char* text, std::size_t length, std::int64_t& micros);

// Writes that text of an instant between the two above; its length.
constexpr std::size_t kLongestInstantText = 32;
std::size_t text_of_instant(std::int64_t micros, char* out);

}  // namespace poincare
