#include "rows.hpp"

#include <algorithm>
#include <cstring>

#include "cpu.hpp"

#ifdef POINCARE_WIDE_LEVELS
#include <immintrin.h>
#endif

namespace poincare {
namespace {

constexpr std::size_t kGroupBytes = 64;
constexpr std::size_t kAheadBytes = 4096;  // a page: there the processor stops looking ahead by itself

#ifndef POINCARE_VECTOR_TYPES
template <typename T, std::size_t N>
struct LaneArray {
    T lane[N];
    T& operator[](std::size_t j) { return lane[j]; }
    friend LaneArray operator*(LaneArray a, const LaneArray& b) {
        for (std::size_t j = 0; j < N; ++j) a.lane[j] *= b.lane[j];
        return a;
    }
    friend LaneArray operator-(LaneArray a, const LaneArray& b) {
        for (std::size_t j = 0; j < N; ++j) a.lane[j] -= b.lane[j];
        return a;
    }
    friend LaneArray operator+(LaneArray a, const LaneArray& b) {
        for (std::size_t j = 0; j < N; ++j) a.lane[j] += b.lane[j];
        return a;
    }
    LaneArray& operator+=(const LaneArray& b) { return *this = *this + b; }
};
#endif

namespace baseline {
#define POINCARE_SIMD_TARGET
#define POINCARE_SIMD_BYTES 16
#define POINCARE_SIMD_ROWS 1  // eight accumulators a row: a second row would spill
#define POINCARE_SIMD_PAIRS 1
#define POINCARE_SIMD_TILE_X 1
#define POINCARE_SIMD_TILE_Y 1
#include "rows_simd.inc"
}  // namespace baseline

#ifdef POINCARE_WIDE_LEVELS
namespace avx2 {
#define POINCARE_SIMD_TARGET POINCARE_AVX2
#define POINCARE_SIMD_BYTES 32
#define POINCARE_SIMD_ROWS 2
#define POINCARE_SIMD_PAIRS 1
#define POINCARE_SIMD_TILE_X 1
#define POINCARE_SIMD_TILE_Y 1
#include "rows_simd.inc"
}  // namespace avx2

namespace avx512 {
// Halves onto halves, of two registers at a time, then of four, then of eight: the additions of `fold`.
template <typename Vector>
POINCARE_AVX512 POINCARE_INLINE void fold_eight(const Vector* lanes, double* out) {
    constexpr std::size_t place[8] = {0, 2, 4, 6, 1, 3, 5, 7};  // where the last step leaves them in order
    constexpr __mmask8 kAll = 0xFF;  // without a mask, GCC 12 warns of a register that is not read
    __m512d halves[4], quarters[2];
    for (std::size_t i = 0; i < 4; ++i) {
        const __m512d a = reinterpret_cast<__m512d>(lanes[place[2 * i]]);
        const __m512d b = reinterpret_cast<__m512d>(lanes[place[2 * i + 1]]);
        halves[i] = _mm512_add_pd(_mm512_maskz_shuffle_f64x2(kAll, a, b, 0x44),
                                  _mm512_maskz_shuffle_f64x2(kAll, a, b, 0xEE));
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const __m512d a = halves[2 * i], b = halves[2 * i + 1];
        quarters[i] = _mm512_add_pd(_mm512_maskz_shuffle_f64x2(kAll, a, b, 0x88),
                                    _mm512_maskz_shuffle_f64x2(kAll, a, b, 0xDD));
    }
    _mm512_storeu_pd(out, _mm512_add_pd(_mm512_maskz_unpacklo_pd(kAll, quarters[0], quarters[1]),
                                        _mm512_maskz_unpackhi_pd(kAll, quarters[0], quarters[1])));
}

#define POINCARE_SIMD_TARGET POINCARE_AVX512
#define POINCARE_SIMD_BYTES 64
#define POINCARE_SIMD_ROWS 4
#define POINCARE_SIMD_PAIRS 4
#define POINCARE_SIMD_TILE_X 2
#define POINCARE_SIMD_TILE_Y 4
#define POINCARE_SIMD_FOLD fold_eight
#include "rows_simd.inc"
}  // namespace avx512
#endif

const RowKernels& decide() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return avx512::kTable;
    if (simd_level() == SimdLevel::avx2) return avx2::kTable;
#endif
    return baseline::kTable;
}

}  // namespace

const RowKernels& row_kernels() {
    static const RowKernels& table = decide();
    return table;
}

void dots_f32(const float* query, const float* matrix, const std::int32_t* rows, std::size_t first,
              std::size_t count, std::size_t n, float* out) {
    constexpr std::size_t kAtOnce = 64;
    const RowKernels& kernels = row_kernels();
    const float* pointers[kAtOnce];
    for (std::size_t begin = 0; begin < count; begin += kAtOnce) {
        const std::size_t size = std::min(kAtOnce, count - begin);
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t row = rows ? static_cast<std::size_t>(rows[begin + i]) : first + begin + i;
            pointers[i] = matrix + row * n;
        }
        kernels.dots_f32(query, pointers, size, n, out + begin);
    }
}

// Let ε = 2⁻²⁴ be the unit roundoff of float32, x = x'(1 + δ) and y = y'(1 + δ) elementwise with |δ| ≤ ε.
//
// Rounding of the inputs: |Σ xᵢyᵢ − Σ x'ᵢy'ᵢ| ≤ (2ε + ε²) Σ|x'ᵢ||y'ᵢ| ≤ (2ε + ε²)‖x'‖‖y'‖ (Cauchy-Schwarz).
// Rounding of the sum: every product passes through one multiplication and at most m − 1 additions, so the
// computed sum is Σ xᵢyᵢ(1 + θᵢ) with |θᵢ| ≤ γ = mε/(1 − mε) (Higham 2002, lemma 3.1), off by at most
// γ Σ|xᵢ||yᵢ| ≤ γ(1 + ε)²‖x'‖‖y'‖. The additions on the longest way: n/32 + 1 in a lane, 1 for the two
// groups, 4 for the tree over 16 lanes, 1 for the tail; or 15 inside the tail and 1 after it. So m ≤ n/32
// + 18. Together: ((m + 2)ε + O(m²ε²))‖x'‖‖y'‖, and for mε < 1e-3 the factor 1.01 covers every higher term
// and the norms. What falls below the smallest normal number (flushed to zero at worst) adds at most n·2⁻¹²⁴.
double dot_f32_error(std::size_t n) {
    constexpr double roundoff = 0x1p-24;
    const double terms = static_cast<double>(n) / 32 + 20;
    return 1.01 * terms * roundoff + static_cast<double>(n) * 0x1p-124;
}

}  // namespace poincare
