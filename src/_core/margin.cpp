#include "margin.hpp"

#include <algorithm>
#include <cmath>

#include "cpu.hpp"
#include "lanes.hpp"

namespace poincare {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kFew = 16;  // numbers that are summed sooner than lanes are put together

// What a sum of squares is in each lane, and what rounding took from it. The error of a square is that of
// Dekker's product, which needs no fused multiply-add.
template <typename Number>
struct CompensatedSquares {
    Number high{}, low{};

    POINCARE_INLINE void add(const Number& x) {
        constexpr double kSplit = 0x1p27 + 1;
        const Number scaled = x * kSplit;
        const Number upper = scaled - (scaled - x), lower = x - upper;
        const Number square = x * x, mixed = upper * lower;
        const Number square_error = ((upper * upper - square) + (mixed + mixed)) + lower * lower;
        const Number sum = high + square;
        const Number rounded = sum - high;
        low = low + ((high - (sum - rounded)) + (square - rounded) + square_error);
        high = sum;
    }
};

double margin_of_sum(double total, double rest, double c) {
    const double product = c * total;
    const double product_error = std::fma(c, total, -product) + c * rest;
    return (1.0 - product) - product_error;
}

double margin_of_few(const double* x, std::size_t d, double c) {
    CompensatedSquares<double> squares;
    for (std::size_t i = 0; i < d; ++i) squares.add(x[i]);
    return margin_of_sum(squares.high, squares.low, c);
}

double margin_of_lanes(const double* high, const double* low, double c) {
    double total = 0, rest = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const double sum = total + high[lane];
        const double rounded = sum - total;
        rest += (total - (sum - rounded)) + (high[lane] - rounded) + low[lane];
        total = sum;
    }
    return margin_of_sum(total, rest, c);
}

template <std::size_t N>
POINCARE_INLINE double margin_in_lanes(const double* x, std::size_t d, double c) {
    CompensatedSquares<Lanes<double, N>> squares[kLanes / N];
    Lanes<double, N> part;
    double rest[kLanes] = {}, high[kLanes], low[kLanes];
    std::size_t i = 0;
    for (; i + kLanes <= d; i += kLanes)
        for (std::size_t p = 0; p < kLanes / N; ++p) {
            load(part, x + i + p * N);
            squares[p].add(part);
        }
    std::copy(x + i, x + d, rest);
    for (std::size_t p = 0; p < kLanes / N; ++p) {
        load(part, rest + p * N);
        squares[p].add(part);
        store(high + p * N, squares[p].high);
        store(low + p * N, squares[p].low);
    }
    return margin_of_lanes(high, low, c);
}

double margin_baseline(const double* x, std::size_t d, double c) {
    return margin_in_lanes<2>(x, d, c);
}
#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2 double margin_avx2(const double* x, std::size_t d, double c) {
    return margin_in_lanes<4>(x, d, c);
}
POINCARE_AVX512 double margin_avx512(const double* x, std::size_t d, double c) {
    return margin_in_lanes<8>(x, d, c);
}
#endif

using Margin = double (*)(const double*, std::size_t, double);

Margin of_level() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return margin_avx512;
    if (simd_level() == SimdLevel::avx2) return margin_avx2;
#endif
    return margin_baseline;
}

}  // namespace

double compensated_margin(const double* x, std::size_t d, double c) {
    static const Margin margin = of_level();
    return d <= kFew ? margin_of_few(x, d, c) : margin(x, d, c);
}

}  // namespace poincare
