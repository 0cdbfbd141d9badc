// Inner products of many queries with many coded rows, the queries in eight bits too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes.hpp"

namespace poincare {

// Queries in eight bits, laid out for products with coded rows. Row-major, of `dim` columns and norm at most
// 1 + 1e-9.
class QueryPanels {
  public:
    QueryPanels(const double* queries, std::size_t count, std::size_t dim);

    // out[i · count + query] = ⟨query, row rows[first + i]⟩ (row first + i where `rows` is null) for i < n,
    // but for an error of at most error · (1 + e) + e, where e is what the row's code lost.
    //
    // The sums are integers, so the bits do not depend on the SIMD level.
    void multiply(const CodedRows& coded, const std::int32_t* rows, std::size_t first, std::size_t n,
                  float* out) const;

    std::size_t count() const { return count_; }
    double error() const { return error_; }

  private:
    std::size_t count_, width_;         // queries, and those of a panel
    std::vector<std::int32_t> panels_;  // side by side: [panel][word][query of the panel], padded with zeros
    std::vector<float> scale_;          // of each query
    double error_;
};

// The products of all rows, rows[0 … count) or 0 … count − 1. Returns the error.
double products_with_codes(const double* queries, std::size_t query_count, const CodedRows& coded,
                           const std::int32_t* rows, std::size_t count, std::size_t dim, float* out,
                           int threads);

}  // namespace poincare
