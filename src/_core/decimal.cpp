#include "decimal.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace poincare {
namespace {

// Python writes plain digits for decimal exponents in this range, and an exponent elsewhere.
constexpr int kLeastPlainExponent = -4;
constexpr int kPlainExponentEnd = 16;

void append_plain(const char* digits, int count, int exponent, std::string& out) {
    if (exponent < 0) {
        out.append("0.")
            .append(static_cast<std::size_t>(-exponent - 1), '0')
            .append(digits, static_cast<std::size_t>(count));
        return;
    }
    const int whole = exponent + 1;
    if (count <= whole) {
        out.append(digits, static_cast<std::size_t>(count))
            .append(static_cast<std::size_t>(whole - count), '0')
            .append(".0");
        return;
    }
    out.append(digits, static_cast<std::size_t>(whole)).push_back('.');
    out.append(digits + whole, static_cast<std::size_t>(count - whole));
}

void append_scientific(const char* digits, int count, int exponent, std::string& out) {
    out.push_back(digits[0]);
    if (count > 1) out.append(1, '.').append(digits + 1, static_cast<std::size_t>(count - 1));
    out.append(exponent < 0 ? "e-" : "e+");
    const int size = std::abs(exponent);
    if (size < 10) out.push_back('0');
    out.append(std::to_string(size));
}

}  // namespace

void append_decimal(double value, std::string& out) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific).ptr;
    const char* at = text;
    if (*at == '-') {
        out.push_back('-');
        ++at;
    }
    const char* mark = static_cast<const char*>(std::memchr(at, 'e', static_cast<std::size_t>(end - at)));
    char digits[24];
    int count = 0;
    for (const char* c = at; c < mark; ++c)
        if (*c != '.') digits[count++] = *c;
    int exponent = 0;
    std::from_chars(mark[1] == '+' ? mark + 2 : mark + 1, end, exponent);
    if (exponent >= kLeastPlainExponent && exponent < kPlainExponentEnd)
        append_plain(digits, count, exponent, out);
    else
        append_scientific(digits, count, exponent, out);
}

void append_decimal_list(const double* values, std::size_t n, std::string& out) {
    out.push_back('[');
    for (std::size_t i = 0; i < n; ++i) {
        if (i > 0) out.append(", ");
        append_decimal(values[i], out);
    }
    out.push_back(']');
}

}  // namespace poincare
