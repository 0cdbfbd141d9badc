#include "batch_reach.hpp"

#include <algorithm>
#include <cmath>

#include "cpu.hpp"

namespace poincare {
namespace {

// Without a root or a quotient for each: with y = factor / cut,
//
//   factor / (√q + √(q + 1)) ≥ cut  ⟺  y ≥ 1 and 4 y² q ≤ (y² − 1)²
//
// kUpwards covers the float32 roundings of both sides (a dozen of 2⁻²⁴), also where y² − 1 cancels. What
// overflows counts as within reach.
constexpr float kUpwards = 1 + 0x1p-19f;

// Compilers widen comparisons of float32 to as many bits, and no further down than that in one loop.
POINCARE_INLINE void keep(Within& within, std::size_t candidate, const std::int32_t* flags, std::size_t count,
                          std::int32_t any) {
    within.any[candidate] = any != 0;
    std::uint8_t* of = within.of + candidate * kQueriesAtOnce;
    for (std::size_t j = 0; j < count; ++j) of[j] = static_cast<std::uint8_t>(flags[j]);
}

POINCARE_INLINE void reach_of_any(const Block& block, const float* inverse, Within& within) {
    for (std::size_t i = 0; i < block.count; ++i) {
        const float near = block.surface.near[block.first + i];
        const float slope = block.surface.slope[block.first + i];
        const float factor = block.surface.factor[block.first + i];
        const float* products = block.products + i * block.stride;
        std::int32_t reaching[kQueriesAtOnce], any = 0;
        for (std::size_t j = 0; j < block.queries; ++j) {
            const float difference = near - slope * products[j];
            const float q = difference > 0 ? difference : 0;
            const float y = factor * inverse[j];
            const float square = y * y * kUpwards;
            const float rise = square - 1;
            const std::int32_t rises = rise < 0 ? 0 : 1;
            const std::int32_t excluded = 4 * square * q > rise * rise * kUpwards ? 1 : 0;
            reaching[j] = rises & (1 - excluded);
            any |= reaching[j];
        }
        keep(within, i, reaching, block.queries, any);
    }
}

POINCARE_INLINE void make_any_bounds(const Block& block, std::size_t group, float* largest) {
    for (std::size_t i = 0; i < block.count; ++i) {
        const float near = block.surface.near[block.first + i];
        const float slope = block.surface.slope[block.first + i];
        const float factor = block.surface.factor[block.first + i];
        float* products = block.products + i * block.stride;
        float* most = largest + i / group * block.queries;
        if (i % group == 0) std::fill_n(most, block.queries, 0.0f);
        for (std::size_t j = 0; j < block.queries; ++j) {
            const float difference = near - slope * products[j];
            const float q = difference > 0 ? difference : 0;
            const float bound = factor / (std::sqrt(q) + std::sqrt(q + 1));
            products[j] = bound;
            most[j] = bound > most[j] ? bound : most[j];
        }
    }
}

POINCARE_INLINE void between_any(const Block& block, const float* least, const float* below, Within& within) {
    for (std::size_t i = 0; i < block.count; ++i) {
        const float* bounds = block.products + i * block.stride;
        std::int32_t inside[kQueriesAtOnce], any = 0;
        for (std::size_t j = 0; j < block.queries; ++j) {
            const std::int32_t reaches = bounds[j] >= least[j] ? 1 : 0;
            const std::int32_t beyond = bounds[j] >= below[j] ? 1 : 0;
            inside[j] = reaches & (1 - beyond);
            any |= inside[j];
        }
        keep(within, i, inside, block.queries, any);
    }
}

#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2 void reach_of_avx2(const Block& block, const float* inverse, Within& within) {
    reach_of_any(block, inverse, within);
}
POINCARE_AVX512 void reach_of_avx512(const Block& block, const float* inverse, Within& within) {
    reach_of_any(block, inverse, within);
}
POINCARE_AVX2 void make_bounds_avx2(const Block& block, std::size_t group, float* largest) {
    make_any_bounds(block, group, largest);
}
POINCARE_AVX512 void make_bounds_avx512(const Block& block, std::size_t group, float* largest) {
    make_any_bounds(block, group, largest);
}
POINCARE_AVX2 void between_avx2(const Block& block, const float* least, const float* below, Within& within) {
    between_any(block, least, below, within);
}
POINCARE_AVX512 void between_avx512(const Block& block, const float* least, const float* below,
                                    Within& within) {
    between_any(block, least, below, within);
}
#endif

}  // namespace

void reach_of(const Block& block, const float* inverse, Within& within) {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return reach_of_avx512(block, inverse, within);
    if (simd_level() == SimdLevel::avx2) return reach_of_avx2(block, inverse, within);
#endif
    reach_of_any(block, inverse, within);
}

void make_bounds(const Block& block, std::size_t group, float* largest) {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return make_bounds_avx512(block, group, largest);
    if (simd_level() == SimdLevel::avx2) return make_bounds_avx2(block, group, largest);
#endif
    make_any_bounds(block, group, largest);
}

void between(const Block& block, const float* least, const float* below, Within& within) {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return between_avx512(block, least, below, within);
    if (simd_level() == SimdLevel::avx2) return between_avx2(block, least, below, within);
#endif
    between_any(block, least, below, within);
}

}  // namespace poincare
