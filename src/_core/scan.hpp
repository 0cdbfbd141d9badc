// The fused search scan: distance, time weight, depth and filter of every candidate, and the k best of them.
//
//   score = −d + depth_bias · radius + time_coef · ln w + bonus
//
// The answer is that of float64 arithmetic for every candidate, whatever the SIMD level or thread count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codes.hpp"
#include "decay.hpp"

namespace poincare {

// Columns of the store; a row is a memory. Directions have norm 1 within 1e-9, or are zero where `directed`
// is.
struct ScanColumns {
    const double* direction = nullptr;
    CodedRows coded{};  // of `direction`; null codes: every candidate is scored exactly at once
    const double* radius = nullptr;
    const std::uint8_t* directed = nullptr;
    DecayColumns time{};
    std::size_t dim = 0;
};

enum class ScanMetric : int { none = 0, shell = 1, hyperbolic = 2 };

struct ScanQuery {
    ScanMetric metric = ScanMetric::none;  // none: no query, every distance is 0
    const double* direction = nullptr;     // null: a query without direction
    double radius = 0;                     // of the query; on the shell, of every point
};

struct ScanScoring {
    double sqrt_c = 0;
    double depth_bias = 0;
    double time_coef = 0;
    const DecayFactor* factors = nullptr;
    std::size_t factor_count = 0;
    std::int64_t now = 0;
    const double* log_weights = nullptr;  // instead of the factors: one a candidate; may be null
    const double* bonus = nullptr;        // what is added to the score, one a candidate; may be null
};

struct ScanCandidates {
    const std::int32_t* rows = nullptr;  // in candidate order; null: row i is candidate i
    std::size_t count = 0;
};

// A candidate's place in the candidate order, and what it got.
struct ScanHit {
    std::int64_t position = 0;
    double score = 0;
    double distance = 0;
    double weight = 0;
};

// The k best by (score descending, position ascending), into `hits`; returns how many there are.
std::size_t scan_top_k(const ScanColumns& columns, const ScanQuery& query, const ScanScoring& scoring,
                       const ScanCandidates& candidates, std::size_t k, ScanHit* hits, int threads);

// The same of those candidates whose byte in `mask` is not 0.
std::size_t scan_top_k_of_passing(const ScanColumns& columns, const ScanQuery& query,
                                  const ScanScoring& scoring, const ScanCandidates& candidates,
                                  const std::uint8_t* mask, std::size_t k, ScanHit* hits, int threads);

}  // namespace poincare
