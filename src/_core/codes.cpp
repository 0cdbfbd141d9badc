#include "codes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "interrupt.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = 1 << 20;  // numbers a thread at least
constexpr double kLargestCode = 127;
constexpr double kLargestQueryCode = 32767;
constexpr double kLeastMagnitude = 1e-30;
constexpr double kLargestProduct = 2147483647;
constexpr double kWhole = 1e-9;         // of a number that passes for a multiple
constexpr double kRoundings = 0x1p-20;  // of float32 in the bound: five, several times over
constexpr double kUpwards = 1 + 1e-6;   // what rounding to float32 does not take away again

struct Magnitudes {
    double largest = 0;
    double least = std::numeric_limits<double>::infinity();  // of those that are not 0
};

POINCARE_INLINE Magnitudes magnitudes(const double* x, std::size_t n) {
    constexpr std::size_t lanes = 8;
    constexpr double none = std::numeric_limits<double>::infinity();
    double top[lanes], bottom[lanes];
    for (std::size_t j = 0; j < lanes; ++j) top[j] = 0, bottom[j] = none;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t j = 0; j < lanes; ++j) {
            const double size = std::fabs(x[i + j]);
            const double there = size > 0 ? size : none;
            top[j] = size > top[j] ? size : top[j];
            bottom[j] = there < bottom[j] ? there : bottom[j];
        }
    for (; i < n; ++i) {
        const double size = std::fabs(x[i]);
        top[0] = std::max(top[0], size);
        if (size > 0) bottom[0] = std::min(bottom[0], size);
    }
    return {*std::max_element(top, top + lanes), *std::min_element(bottom, bottom + lanes)};
}

// The code of the largest number. Where all are multiples of the least one, as in counts of hashed words,
// this is a multiple of its: then nothing is lost.
double largest_code(const Magnitudes& sizes) {
    const double multiple = std::round(sizes.largest / sizes.least);
    if (multiple > kLargestCode || std::fabs(sizes.largest - multiple * sizes.least) > kWhole * sizes.largest)
        return kLargestCode;
    return multiple * std::floor(kLargestCode / multiple);
}

// Σ|xᵢ| and Σxᵢ².
POINCARE_INLINE std::pair<double, double> sizes_of(const double* x, std::size_t n) {
    constexpr std::size_t lanes = 8;
    double sums[lanes] = {}, squares[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t j = 0; j < lanes; ++j) {
            sums[j] += std::fabs(x[i + j]);
            squares[j] += x[i + j] * x[i + j];
        }
    for (; i < n; ++i) {
        sums[0] += std::fabs(x[i]);
        squares[0] += x[i] * x[i];
    }
    return {std::accumulate(sums, sums + lanes, 0.0), std::accumulate(squares, squares + lanes, 0.0)};
}

// The multiple of 1/inverse next to x; `near` gets what that multiple is.
template <typename Code>
POINCARE_INLINE void nearest_codes(const double* x, std::size_t n, double scale, double inverse, Code* codes,
                                   double* near) {
    for (std::size_t i = 0; i < n; ++i) {
        const double at = x[i] * inverse;
        const std::int32_t code = static_cast<std::int32_t>(at + (at < 0 ? -0.5 : 0.5));
        codes[i] = static_cast<Code>(code);
        near[i] = scale * static_cast<double>(code);
    }
}

POINCARE_INLINE void any_row(const double* x, std::size_t dim, std::size_t stride, std::int8_t* codes,
                             float* scale, float* error, double* near) {
    std::memset(codes, 0, stride);
    const Magnitudes sizes = magnitudes(x, dim);
    const double largest = sizes.largest;
    if (largest < kLeastMagnitude) {  // float32 would not hold the scale
        *scale = 0;
        *error = static_cast<float>(largest * std::sqrt(static_cast<double>(dim)) * kUpwards);
        return;
    }
    *scale = static_cast<float>(largest / largest_code(sizes));
    const double step = static_cast<double>(*scale);
    nearest_codes(x, dim, step, 1 / step, codes, near);
    *error = static_cast<float>(std::sqrt(squared_gap(x, near, dim)) * kUpwards);
}

POINCARE_INLINE void any_products(const CodedRows& coded, const CodedQuery& query, const std::int32_t* rows,
                                  std::size_t first, std::size_t n, float* above) {
    if (rows)
        products_from_above(coded, query, ListedRows{rows}, n, above);
    else
        products_from_above(coded, query, ConsecutiveRows{first}, n, above);
}

POINCARE_INLINE void any_query(const double* query, std::size_t dim, CodedQuery& coded) {
    std::vector<double> near(dim, 0.0);
    const auto [sum, square] = sizes_of(query, dim);
    const double room = kLargestProduct / kLargestCode - static_cast<double>(dim);
    const double largest = magnitudes(query, dim).largest;
    if (room > 0 && largest >= kLeastMagnitude) {
        coded.scale = static_cast<float>(std::max(largest / kLargestQueryCode, sum / room) * kUpwards);
        const double step = static_cast<double>(coded.scale);
        nearest_codes(query, dim, step, 1 / step, coded.codes.data(), near.data());
    }
    const double norm = std::sqrt(square) * kUpwards;
    const double lost = std::sqrt(squared_gap(query, near.data(), dim)) * kUpwards;
    const double rounded = kRoundings * (norm + lost);
    coded.slope = static_cast<float>((norm + lost + rounded) * kUpwards);
    coded.offset = static_cast<float>((lost * (1 + 1e-9) + rounded) * kUpwards);
}

// What is done in the widest registers there are; the numbers are the same in all.
struct Level {
    void (*row)(const double*, std::size_t, std::size_t, std::int8_t*, float*, float*, double*);
    void (*query)(const double*, std::size_t, CodedQuery&);
};

void row_baseline(const double* x, std::size_t dim, std::size_t stride, std::int8_t* codes, float* scale,
                  float* error, double* near) {
    any_row(x, dim, stride, codes, scale, error, near);
}
void query_baseline(const double* query, std::size_t dim, CodedQuery& coded) {
    any_query(query, dim, coded);
}
#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2 void row_avx2(const double* x, std::size_t dim, std::size_t stride, std::int8_t* codes,
                            float* scale, float* error, double* near) {
    any_row(x, dim, stride, codes, scale, error, near);
}
POINCARE_AVX2 void query_avx2(const double* query, std::size_t dim, CodedQuery& coded) {
    any_query(query, dim, coded);
}
POINCARE_AVX512 void row_avx512(const double* x, std::size_t dim, std::size_t stride, std::int8_t* codes,
                                float* scale, float* error, double* near) {
    any_row(x, dim, stride, codes, scale, error, near);
}
POINCARE_AVX512 void query_avx512(const double* query, std::size_t dim, CodedQuery& coded) {
    any_query(query, dim, coded);
}
#endif

Level level() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return {row_avx512, query_avx512};
    if (simd_level() == SimdLevel::avx2) return {row_avx2, query_avx2};
#endif
    return {row_baseline, query_baseline};
}

void products_baseline(const CodedRows& coded, const CodedQuery& query, const std::int32_t* rows,
                       std::size_t first, std::size_t n, float* above) {
    any_products(coded, query, rows, first, n, above);
}
#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2 void products_avx2(const CodedRows& coded, const CodedQuery& query, const std::int32_t* rows,
                                 std::size_t first, std::size_t n, float* above) {
    any_products(coded, query, rows, first, n, above);
}
POINCARE_AVX512 void products_avx512(const CodedRows& coded, const CodedQuery& query,
                                     const std::int32_t* rows, std::size_t first, std::size_t n,
                                     float* above) {
    any_products(coded, query, rows, first, n, above);
}
#endif

}  // namespace

void products_from_above(const CodedRows& coded, const CodedQuery& query, const std::int32_t* rows,
                         std::size_t first, std::size_t n, float* above) {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return products_avx512(coded, query, rows, first, n, above);
    if (simd_level() == SimdLevel::avx2) return products_avx2(coded, query, rows, first, n, above);
#endif
    products_baseline(coded, query, rows, first, n, above);
}

void encode_rows(const double* matrix, const std::int32_t* rows, std::size_t count, std::size_t dim,
                 std::int8_t* codes, float* scale, float* error, int threads) {
    const std::size_t stride = code_stride(dim);
    interruptible_rows(count, threads_for(threads, count * dim, kGrain), dim,
                       [&](std::size_t begin, std::size_t end) {
                           const auto encode_row = level().row;
                           std::vector<double> near(dim);
                           for (std::size_t i = begin; i < end; ++i) {
                               const std::size_t row = rows ? static_cast<std::size_t>(rows[i]) : i;
                               encode_row(matrix + row * dim, dim, stride, codes + row * stride, scale + row,
                                          error + row, near.data());
                           }
                       });
}

// Let x̂ = s·c be what codes c of row x stand for, e ≥ ‖x − x̂‖ its error; q̂ = t·k that of the query's codes k,
// and f = ‖q − q̂‖. Then (Cauchy-Schwarz, twice)
//
//   ⟨q, x⟩ = ⟨q̂, x̂⟩ + ⟨q − q̂, x̂⟩ + ⟨q, x − x̂⟩ ≤ s·t·⟨c, k⟩ + f·(‖x‖ + e) + ‖q‖·e
//
// ⟨c, k⟩ is an integer, and no partial sum of it is beyond 127·Σ|kᵢ|: t is chosen so that this is below 2³¹.
// With |kᵢ| ≤ |qᵢ|/t + 1/2, t ≥ Σ|qᵢ| / (2³¹/127 − n/2) does it. (Where n is beyond that room, k = 0 and f =
// ‖q‖.)
//
// The float32 numbers s and t are what x̂ and q̂ are made with, so they bring no error. The bound is evaluated
// in float32: the conversion of ⟨c, k⟩, the products and the sums round five times, each by at most 2⁻²⁴ of a
// quantity at most |s·t·⟨c, k⟩| + …, and |⟨q̂, x̂⟩| ≤ (‖q‖ + f)(‖x‖ + e). kRoundings times that, which again
// has the form slope·e + offset, covers them.
CodedQuery::CodedQuery(const double* query, std::size_t dim)
    : codes(code_stride(dim), 0), scale(0), slope(0), offset(0) {
    level().query(query, dim, *this);
}

}  // namespace poincare
