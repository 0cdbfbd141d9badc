// Inner products of many queries with many coded rows, in float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codes.hpp"

namespace poincare {

// out[query · count + i] = scale · Σ query · codes, of row rows[i] (row i where `rows` is null). Queries are
// row-major, of `dim` columns.
//
// Every sum runs over the columns in order, so the bits depend neither on the SIMD level nor on threads, and
// the error is that of any order of summation (Higham 2002, §3.1): for a unit query and a row of norm at most
// 1 + e, (dim + 2) · 2⁻²⁴ · (1 + e), and little more.
void products_with_codes(const float* queries, std::size_t query_count, const CodedRows& coded,
                         const std::int32_t* rows, std::size_t count, std::size_t dim, float* out,
                         int threads);

}  // namespace poincare
