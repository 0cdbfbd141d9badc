// What bounds the scores of every query of a batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "scorer.hpp"

namespace poincare {

constexpr double kLeastBound = 1e-30;  // float32 holds bounds as small as this with all their bits

// What bounds the scores of every query: with q at most its true value,
//
//   score ≤ top + (2/√c) ln [ factor / (√q + √(q + 1)) ],   factor = exp(√c/2 · (terms − top)) ≤ 1
//
// since d = (2/√c) ln(√q + √(q + 1)). The bracket grows with the score, so it serves as the bound itself:
// no logarithm is taken for a candidate.
struct Surface {
    double half = 0;  // √c/2
    double top = 0;
    double slack = 0;                  // of a bound that stands for a score: it may be off by this share
    std::unique_ptr<float[]> near;     // q = near − slope · product, at least, of a product off by its error
    std::unique_ptr<float[]> nearest;  // and of one that is never too small
    std::unique_ptr<float[]> slope;
    std::unique_ptr<float[]> factor;

    // The bound that stands for a score, rounded down.
    float standing_for(double score) const {
        const double lowered = std::exp(half * (score - top)) * (1 - slack);
        return rounded_down(lowered < kLeastBound ? 0 : lowered);
    }
};

// False where float32 is too narrow. Radii of queries, and what their codes lost at most.
bool prepare(Surface& surface, const ScanColumns& columns, const Scorer& scorer, const ScanScoring& scoring,
             double query_radius, double query_error, std::size_t count, int threads);

inline float bound_of(const Surface& surface, float near, float product, std::size_t candidate) {
    const float q = std::max(near - surface.slope[candidate] * product, 0.0f);
    return surface.factor[candidate] / (std::sqrt(q) + std::sqrt(q + 1));
}

}  // namespace poincare
