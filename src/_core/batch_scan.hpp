// Many queries against the same candidates: the terms that no query changes are computed once, and bounds
// come from products of codes, block by block while they are in cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "scan.hpp"

namespace poincare {

// Queries of one metric, all of one radius, none without direction.
struct BatchQueries {
    ScanMetric metric = ScanMetric::none;
    const double* directions = nullptr;  // row-major, one a query
    double radius = 0;
    std::size_t count = 0;
};

// The k best of every query as `scan_top_k` gives them, into hits[query · k]; `found` tells how many. The
// scoring has no bonus, and the columns have codes.
//
// False where radii or terms are too large for float32 bounds: scan then. Nothing is written in that case.
bool scan_batch(const ScanColumns& columns, const BatchQueries& queries, const ScanScoring& scoring,
                const ScanCandidates& candidates, std::size_t k, ScanHit* hits, std::size_t* found,
                int threads);

}  // namespace poincare
