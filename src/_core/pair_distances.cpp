#include "pair_distances.hpp"

#include <cmath>

#include "cpu.hpp"

namespace poincare {
namespace {

#define POINCARE_PAIRS_LEVEL(TAG, ATTRIBUTE)                                                          \
    ATTRIBUTE void distances_##TAG(const BlockOfPairs& block, std::size_t n, double sqrt_c,           \
                                   double inverse_sqrt_c, double* out) {                              \
        for (std::size_t j = 0; j < n; ++j)                                                           \
            out[j] = distance_of_gap(std::sqrt(block.squared_gap[j]), block.inverse_roots[j], sqrt_c, \
                                     inverse_sqrt_c);                                                 \
    }

POINCARE_PAIRS_LEVEL(baseline, )
#ifdef POINCARE_WIDE_LEVELS
POINCARE_PAIRS_LEVEL(avx2, POINCARE_AVX2)
POINCARE_PAIRS_LEVEL(avx512, POINCARE_AVX512)
#endif

BlockDistances::Transform transform_of_level() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return distances_avx512;
    if (simd_level() == SimdLevel::avx2) return distances_avx2;
#endif
    return distances_baseline;
}

}  // namespace

BlockDistances::BlockDistances(double sqrt_c)
    : sqrt_c_(sqrt_c), inverse_sqrt_c_(1.0 / sqrt_c), transform_(transform_of_level()) {}

}  // namespace poincare
