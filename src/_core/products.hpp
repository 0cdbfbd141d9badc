// Inner products of many queries with many coded rows, the queries in eight bits too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codes.hpp"

namespace poincare {

// out[i · query_count + query] = ⟨query, row rows[i]⟩ (row i where `rows` is null), but for an error of at
// most E · (1 + e) + e, where e is what the row's code lost and E is returned. Queries are row-major, of
// `dim` columns and norm at most 1 + 1e-9.
//
// The sums are integers, so the bits depend neither on the SIMD level nor on threads.
double products_with_codes(const double* queries, std::size_t query_count, const CodedRows& coded,
                           const std::int32_t* rows, std::size_t count, std::size_t dim, float* out,
                           int threads);

}  // namespace poincare
