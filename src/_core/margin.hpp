// 1 − c·|x|² next to the boundary, where a plain sum would leave nothing of it.
#pragma once

#include <cstddef>

namespace poincare {

// The squares are summed as pairs of doubles, in lanes, and so is their product with c: right to a few units
// in the last place of the margin. The same bits from every SIMD level.
double compensated_margin(const double* x, std::size_t d, double c);

}  // namespace poincare
