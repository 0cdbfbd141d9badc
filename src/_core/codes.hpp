// Directions in eight bits a number, beside what each of them lost: a quarter of the bytes that float32
// takes, and still proven bounds on inner products (proof in codes.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu.hpp"

namespace poincare {

// Row r is scale[r] · codes[r · stride …] but for an error of norm at most error[r]. A row of zeros has scale
// and error 0. Codes beyond the dimension are 0.
struct CodedRows {
    const std::int8_t* codes = nullptr;
    const float* scale = nullptr;
    const float* error = nullptr;
    std::size_t stride = 0;
};

// Codes a row takes for `dim` numbers.
constexpr std::size_t code_stride(std::size_t dim) {
    constexpr std::size_t step = 32;
    return (dim + step - 1) / step * step;
}

// Codes of rows rows[0 … count) (0 … count − 1 where `rows` is null) of a row-major matrix of finite numbers,
// into the same rows of `codes`, `scale` and `error`.
void encode_rows(const double* matrix, const std::int32_t* rows, std::size_t count, std::size_t dim,
                 std::int8_t* codes, float* scale, float* error, int threads);

// A query in sixteen bits a number. For vectors of norm at most 1 + 1e-9,
//
//   ⟨query, row⟩ ≤ (scale · row's scale) · product of codes + (slope · row's error + offset)
//
// in float32, whatever the rounding.
struct CodedQuery {
    std::vector<std::int16_t> codes;  // code_stride(dim)
    float scale;
    float slope;
    float offset;

    CodedQuery(const double* query, std::size_t dim);
};

// The product of a row's codes with the query's: exact, so the same at every SIMD level.
POINCARE_INLINE std::int32_t code_product(const std::int16_t* query, const std::int8_t* row,
                                          std::size_t stride) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < (stride & ~std::size_t{31}); ++i)
        sum += static_cast<std::int32_t>(row[i]) * static_cast<std::int32_t>(query[i]);
    return sum;
}

struct ConsecutiveRows {
    std::size_t first;
    std::size_t operator[](std::size_t i) const { return first + i; }
};

struct ListedRows {
    const std::int32_t* rows;
    std::size_t operator[](std::size_t i) const { return static_cast<std::size_t>(rows[i]); }
};

// Rows are asked for well before their turn: scattered ones the processor cannot foresee, and of consecutive
// ones it stops looking ahead at every page.
constexpr std::size_t kRowsAhead = 16;
template <typename Rows>
POINCARE_INLINE void ask_for_codes(const CodedRows& coded, const Rows& rows, std::size_t i, std::size_t n) {
    if (i + kRowsAhead >= n) return;
    const std::int8_t* const codes = coded.codes + rows[i + kRowsAhead] * coded.stride;
    for (std::size_t at = 0; at < coded.stride; at += kCacheLine) prefetch(codes + at);
}

// above[i] ≥ ⟨query, row rows[i]⟩, for n up to kCodeBlock.
constexpr std::size_t kCodeBlock = 256;  // rows that share the scratch arrays of one step
template <typename Rows>
POINCARE_INLINE void products_from_above(const CodedRows& coded, const CodedQuery& query, const Rows& rows,
                                         std::size_t n, float* above) {
    const std::int16_t* codes = query.codes.data();
    const float scale = query.scale, slope = query.slope, offset = query.offset;
    std::int32_t products[kCodeBlock];
    for (std::size_t i = 0; i < n; ++i) {
        ask_for_codes(coded, rows, i, n);
        products[i] = code_product(codes, coded.codes + rows[i] * coded.stride, coded.stride);
    }
    for (std::size_t i = 0; i < n; ++i)
        above[i] = (scale * coded.scale[rows[i]]) * static_cast<float>(products[i]) +
                   (slope * coded.error[rows[i]] + offset);
}

// The same in the widest registers there are; rows first … first + n − 1 where `rows` is null.
void products_from_above(const CodedRows& coded, const CodedQuery& query, const std::int32_t* rows,
                         std::size_t first, std::size_t n, float* above);

}  // namespace poincare
