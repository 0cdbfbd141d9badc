#include "instants.hpp"

#include <initializer_list>

namespace poincare {
namespace {

constexpr std::size_t kWholeLength = 25;       // "2026-03-01T12:00:00+00:00"
constexpr std::size_t kFractionLength = 32;    // "2026-03-01T12:00:00.000000+00:00"
constexpr std::int64_t kDaysPerEra = 146'097;  // 400 years

struct Civil {
    int year;
    int month;
    int day;
};

// The inverse of days_from_civil; years begin in March there too.
Civil civil_from_days(std::int64_t days) {
    const std::int64_t shifted = days + 719468;  // since 0000-03-01: never negative from year 1 on
    const std::int64_t era = shifted / kDaysPerEra;
    const std::int64_t day_of_era = shifted % kDaysPerEra;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t months_since_march = (5 * day_of_year + 2) / 153;
    const std::int64_t day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
    const std::int64_t month = months_since_march < 10 ? months_since_march + 3 : months_since_march - 9;
    return {static_cast<int>(400 * era + year_of_era + (month <= 2)), static_cast<int>(month),
            static_cast<int>(day)};
}

int days_of_month(int year, int month) {
    constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

// Reads digits and the marks between them, from the left; any mismatch spoils it for good.
class Reader {
  public:
    explicit Reader(const char* text) : next_(text) {}

    int number(int digits) {
        int value = 0;
        for (; digits > 0; --digits, ++next_) {
            good_ = good_ && *next_ >= '0' && *next_ <= '9';
            value = 10 * value + (*next_ - '0');
        }
        return value;
    }

    void mark(char expected) {
        good_ = good_ && *next_ == expected;
        ++next_;
    }

    bool good() const { return good_; }

  private:
    const char* next_;
    bool good_ = true;
};

class Writer {
  public:
    explicit Writer(char* out) : next_(out) {}

    void number(std::int64_t value, int digits) {
        for (int i = digits - 1; i >= 0; --i, value /= 10) next_[i] = static_cast<char>('0' + value % 10);
        next_ += digits;
    }

    void mark(char c) { *next_++ = c; }

  private:
    char* next_;
};

}  // namespace

bool instant_of_text(const char* text, std::size_t length, std::int64_t& micros) {
    if (length != kWholeLength && length != kFractionLength) return false;
    Reader in(text);
    const int year = in.number(4);
    in.mark('-');
    const int month = in.number(2);
    in.mark('-');
    const int day = in.number(2);
    in.mark('T');
    const int hour = in.number(2);
    in.mark(':');
    const int minute = in.number(2);
    in.mark(':');
    const int second = in.number(2);
    int fraction = 0;
    if (length == kFractionLength) {
        in.mark('.');
        fraction = in.number(6);
    }
    for (const char c : {'+', '0', '0', ':', '0', '0'}) in.mark(c);
    if (!in.good() || year < 1 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month) ||
        hour > 23 || minute > 59 || second > 59)
        return false;
    micros = micros_from_civil(year, month, day, hour, minute, second, fraction);
    return true;
}

std::size_t text_of_instant(std::int64_t micros, char* out) {
    const std::int64_t since = micros - kEarliestInstant;
    const std::int64_t days = since / kMicrosPerDay;
    const std::int64_t of_day = since % kMicrosPerDay;
    const std::int64_t seconds = of_day / kMicrosPerSecond;
    const std::int64_t fraction = of_day % kMicrosPerSecond;
    const Civil date = civil_from_days(days + kEarliestInstant / kMicrosPerDay);
    Writer text(out);
    text.number(date.year, 4);
    text.mark('-');
    text.number(date.month, 2);
    text.mark('-');
    text.number(date.day, 2);
    text.mark('T');
    text.number(seconds / 3600, 2);
    text.mark(':');
    text.number(seconds / 60 % 60, 2);
    text.mark(':');
    text.number(seconds % 60, 2);
    if (fraction != 0) {
        text.mark('.');
        text.number(fraction, 6);
    }
    for (const char c : {'+', '0', '0', ':', '0', '0'}) text.mark(c);
    return fraction == 0 ? kWholeLength : kFractionLength;
}

}  // namespace poincare
