// What no candidate's score can exceed, from coded directions: one pass over the codes, and a few operations
// of the processor's widest registers for each candidate.
#pragma once

#include <cstddef>

#include "scorer.hpp"

namespace poincare {

// out[position] = at least the candidate's score, as float32.
class OptimisticScores {
  public:
    OptimisticScores(const ScanColumns& columns, const ScanQuery& query, const ScanScoring& scoring,
                     const ScanCandidates& candidates);

    void operator()(std::size_t begin, std::size_t end, float* out) const;

  private:
    const ScanColumns& columns_;
    const ScanQuery& query_;
    const ScanScoring& scoring_;
    const ScanCandidates& candidates_;
    CodedQuery coded_;
};

}  // namespace poincare
