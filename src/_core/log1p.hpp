// ln(1 + z) for z >= 0 in arithmetic that every compiler turns into vector code: no branch, no call, no
// table.
//
// 1 + z is split as 2^k · m with m in [√½, √2). With f = m − 1 and s = f / (2 + f),
//   ln m = 2·artanh(s) = f − f²/2 + s·(f²/2 + R),   R = Σ 2/(2j+1)·s^(2j), j = 1…10  (|s| < 0.1716)
// and the rounding of 1 + z is given back as (z − (y − 1))/y. Relative error below 4e-16; NaN stays NaN.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu.hpp"

namespace poincare {

POINCARE_INLINE double log1p_nonnegative(double z) {
    constexpr std::uint64_t kRootHalfBits = 0x3fe6a09e667f3bcdULL;  // √½
    constexpr std::uint64_t kOneBits = 0x3ff0000000000000ULL;
    constexpr std::uint64_t kTwoTo52Bits = 0x4330000000000000ULL;  // 2^52 + k as a double, by its bits
    constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;

    const double y = 1.0 + z;
    std::uint64_t bits;
    std::memcpy(&bits, &y, sizeof(bits));
    bits += kOneBits - kRootHalfBits;
    const std::uint64_t exponent_bits = (bits >> 52) | kTwoTo52Bits;
    double exponent;
    std::memcpy(&exponent, &exponent_bits, sizeof(exponent));
    exponent -= 4503599627370496.0 + 1023.0;
    const std::uint64_t mantissa_bits = (bits & 0x000fffffffffffffULL) + kRootHalfBits;
    double mantissa;
    std::memcpy(&mantissa, &mantissa_bits, sizeof(mantissa));

    const double f = mantissa - 1.0;
    const double s = f / (2.0 + f);
    const double w = s * s;
    double remainder = 2.0 / 21.0;
    remainder = remainder * w + 2.0 / 19.0;
    remainder = remainder * w + 2.0 / 17.0;
    remainder = remainder * w + 2.0 / 15.0;
    remainder = remainder * w + 2.0 / 13.0;
    remainder = remainder * w + 2.0 / 11.0;
    remainder = remainder * w + 2.0 / 9.0;
    remainder = remainder * w + 2.0 / 7.0;
    remainder = remainder * w + 2.0 / 5.0;
    remainder = remainder * w + 2.0 / 3.0;
    remainder = remainder * w;
    const double half_square = 0.5 * f * f;
    const double correction = (z - (y - 1.0)) / y;
    const double low = exponent * kLn2Low + correction;
    return s * (half_square + remainder) + low - half_square + f + exponent * kLn2High + (z - z);
}

}  // namespace poincare
