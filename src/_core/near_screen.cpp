// Compiled with fused multiply-adds where there are any: what is found here is looked at again, so these
// sums, and only these, may differ by the last bits from one processor to the next.
#include "near_screen.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu.hpp"
#include "lanes.hpp"

namespace poincare {
namespace {

constexpr std::size_t kTogether = 4;       // queries that share one reading of a block
constexpr double kLargest = 1e15;          // coordinate; its square is far from float32's limit
constexpr double kLargestRounding = 0.01;  // of a sum over very many dimensions
constexpr double kHalfUlp = 0x1p-24;       // of 1 in float32
constexpr double kOfUnderflow = 1e-30;     // more than products that vanish in float32 can amount to

#ifdef POINCARE_WIDE_LEVELS
#define POINCARE_AVX2_FMA __attribute__((target("avx2,fma")))
#endif

// Whether all lanes are negative. (Comparisons of 512-bit vectors are taken apart by some compilers.)
template <std::size_t N>
POINCARE_INLINE bool all_negative(const Lanes<std::int64_t, N / 2>& signs) {
    std::int64_t word[N / 2];
    std::memcpy(word, &signs, sizeof(signs));
    for (std::size_t step = N / 4; step > 0; step /= 2)
        for (std::size_t i = 0; i < step; ++i) word[i] &= word[i + step];
    constexpr std::uint64_t both = 0x8000000080000000u;
    return (static_cast<std::uint64_t>(word[0]) & both) == both;
}

}  // namespace

NearScreen::NearScreen(const double* points, const double* scale, std::size_t nodes, std::size_t dim)
    : dim_(dim), rounding_(static_cast<double>(dim + 8) * kHalfUlp) {
    const std::size_t blocks = (nodes + kScreenBlock - 1) / kScreenBlock;
    column_.assign(blocks * kScreenBlock * (dim + 2), 0.0f);
    double largest = 0, least_scale = 1;
    for (std::size_t i = 0; i < blocks * kScreenBlock; ++i) {
        float* const column = &column_[i / kScreenBlock * kScreenBlock * (dim + 2) + i % kScreenBlock];
        if (i >= nodes) {  // past the end: never near
            column[dim * kScreenBlock] = 1;
            column[(dim + 1) * kScreenBlock] = -std::numeric_limits<float>::infinity();
            continue;
        }
        double squares = 0;
        for (std::size_t c = 0; c < dim; ++c) {
            const double x = points[i * dim + c];
            squares += x * x;
            largest = std::max(largest, std::abs(x));
            column[c * kScreenBlock] = static_cast<float>(x);
        }
        least_scale = std::min(least_scale, scale[i]);
        column[dim * kScreenBlock] = static_cast<float>(scale[i]);
        column[(dim + 1) * kScreenBlock] = static_cast<float>(-squares * (1 - 3 * rounding_));
    }
    usable_ = largest * static_cast<double>(dim) < kLargest && least_scale > kOfUnderflow &&
              rounding_ < kLargestRounding;
}

// With g the relative rounding of a sum, of d + 3 products whose factors are rounded themselves, it errs by
// no more than g·(2Σ|u_c·x_c| + farthest·scale + |x|² + |u|²) ≤ g·(2|u|² + 2|x|² + farthest·scale). Each term
// is moved by more than its share, towards near. A sum may overflow to infinity, which is near; it is never
// NaN.
void NearScreen::set(ScreenedTile& tile, std::size_t i, const double* u, double farthest) const {
    double squares = 0;
    for (std::size_t c = 0; c < dim_; ++c) {
        squares += u[c] * u[c];
        tile.factor[c * kTile + i] = static_cast<float>(2 * u[c]);
    }
    tile.factor[dim_ * kTile + i] = static_cast<float>(farthest * (1 + 2 * rounding_));
    tile.less[i] = static_cast<float>(squares * (1 - 4 * rounding_) - kOfUnderflow);
}

#ifdef POINCARE_VECTOR_TYPES
template <std::size_t N>
POINCARE_INLINE void NearScreen::look_with(const ScreenedTile& tile, std::size_t begin, std::size_t end,
                                           std::uint32_t* near) const {
    constexpr std::size_t parts = N == 16 ? 4 : 2;
    using Vector = Lanes<float, N>;
    for (std::size_t b = begin; b < end; ++b) {
        const float* const block = &column_[b * kScreenBlock * (dim_ + 2)];
        std::uint32_t found = 0;
        for (std::size_t first = 0; first < kTile; first += kTogether)
            for (std::size_t at = 0; at < kScreenBlock; at += parts * N) {
                Vector sum[kTogether][parts], x[parts];
                for (std::size_t p = 0; p < parts; ++p)
                    load(x[p], block + (dim_ + 1) * kScreenBlock + at + p * N);
                for (std::size_t q = 0; q < kTogether; ++q)
                    for (std::size_t p = 0; p < parts; ++p) sum[q][p] = x[p] - tile.less[first + q];
                for (std::size_t c = 0; c <= dim_; ++c) {
                    const float* const factor = &tile.factor[c * kTile + first];
                    for (std::size_t p = 0; p < parts; ++p) load(x[p], block + c * kScreenBlock + at + p * N);
                    for (std::size_t q = 0; q < kTogether; ++q)
                        for (std::size_t p = 0; p < parts; ++p) sum[q][p] = sum[q][p] + x[p] * factor[q];
                }
                using Signs = Lanes<std::int64_t, N / 2>;
                Signs far[kTogether];
                for (std::size_t q = 0; q < kTogether; ++q) {
                    far[q] = reinterpret_cast<Signs>(sum[q][0]);
                    for (std::size_t p = 1; p < parts; ++p)
                        far[q] = far[q] & reinterpret_cast<Signs>(sum[q][p]);
                }
                if (all_negative<N>((far[0] & far[1]) & (far[2] & far[3]))) continue;
                for (std::size_t q = 0; q < kTogether; ++q)
                    if (!all_negative<N>(far[q])) found |= std::uint32_t{1} << (first + q);
            }
        near[b - begin] = found;
    }
}

#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2_FMA static void look_avx2(const NearScreen& screen, const ScreenedTile& tile, std::size_t begin,
                                        std::size_t end, std::uint32_t* near) {
    screen.look_with<8>(tile, begin, end, near);
}
POINCARE_AVX512 static void look_avx512(const NearScreen& screen, const ScreenedTile& tile, std::size_t begin,
                                        std::size_t end, std::uint32_t* near) {
    screen.look_with<16>(tile, begin, end, near);
}
#endif
#endif

void NearScreen::look(const ScreenedTile& tile, std::size_t begin, std::size_t end,
                      std::uint32_t* near) const {
#ifdef POINCARE_VECTOR_TYPES
    if (usable_) {
#ifdef POINCARE_WIDE_LEVELS
        if (simd_level() == SimdLevel::avx512) return look_avx512(*this, tile, begin, end, near);
        if (simd_level() == SimdLevel::avx2) return look_avx2(*this, tile, begin, end, near);
#endif
        return look_with<4>(tile, begin, end, near);
    }
#endif
    (void)tile;
    std::fill(near, near + (end - begin), ~std::uint32_t{0});
}

}  // namespace poincare
