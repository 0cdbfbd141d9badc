// Inner products of many queries with many rows, in float32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

// out[query · count + i] = ⟨query, row rows[i]⟩ (row i where `rows` is null), rows rounded to float32.
// Row-major, `dim` columns.
//
// Every sum runs over the columns in order, so the bits depend neither on the SIMD level nor on threads, and
// the error is that of any order of summation (Higham 2002, §3.1): dim · 2⁻²⁴ for unit vectors, and little
// more.
void products_f32(const float* queries, std::size_t query_count, const double* matrix,
                  const std::int32_t* rows, std::size_t count, std::size_t dim, float* out, int threads);

}  // namespace poincare
