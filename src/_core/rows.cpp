// Each loop is written once and compiled once a level, inside a function that carries the level's target
// attribute and internal linkage: no wide register can leak out of it.
//
// The sums run over a fixed number of lanes in a fixed order and without fused multiply-add, so every level
// returns the same bits; a level only decides how many of those lanes one register holds.
#include "rows.hpp"

#include <cstring>

#include "cpu.hpp"

namespace poincare {
namespace {

#if defined(__GNUC__) || defined(__clang__)
typedef float Lanes32 __attribute__((vector_size(64)));   // 16 lanes
typedef double Lanes64 __attribute__((vector_size(64)));  // 8 lanes
typedef float Half32 __attribute__((vector_size(32)));    // 8 lanes, widened to float64
#define POINCARE_VECTOR_TYPES 1
#else
template <typename T, int N>
struct Array {
    T v[N];
    T& operator[](int j) { return v[j]; }
    friend Array operator*(Array a, const Array& b) {
        for (int j = 0; j < N; ++j) a.v[j] *= b.v[j];
        return a;
    }
    friend Array operator-(Array a, const Array& b) {
        for (int j = 0; j < N; ++j) a.v[j] -= b.v[j];
        return a;
    }
    friend Array operator+(Array a, const Array& b) {
        for (int j = 0; j < N; ++j) a.v[j] += b.v[j];
        return a;
    }
    Array& operator+=(const Array& b) { return *this = *this + b; }
};
using Lanes32 = Array<float, 16>;
using Lanes64 = Array<double, 8>;
using Half32 = Array<float, 8>;
#endif

#ifdef POINCARE_VECTOR_TYPES
#define POINCARE_WIDEN(from, to) to = __builtin_convertvector(from, Lanes64)
#else
#define POINCARE_WIDEN(from, to) \
    for (int w = 0; w < 8; ++w) to[w] = from[w]
#endif

// Sum of TERM(a, b) over n elements (TERM is PRODUCT or GAP): four accumulators of LANES lanes, then one,
// then the tail.
#define POINCARE_SUM(NAME, ATTRIBUTE, IN, OUT, VECTOR, LANES, LOAD, TERM)                                  \
    ATTRIBUTE OUT NAME(const IN* x, const IN* y, std::size_t n) {                                          \
        VECTOR s0 = {}, s1 = {}, s2 = {}, s3 = {}, a, b;                                                   \
        std::size_t i = 0;                                                                                 \
        for (; i + 4 * LANES <= n; i += 4 * LANES) {                                                       \
            LOAD(a, x + i);                                                                                \
            LOAD(b, y + i);                                                                                \
            s0 += POINCARE_VECTOR_##TERM;                                                                  \
            LOAD(a, x + i + LANES);                                                                        \
            LOAD(b, y + i + LANES);                                                                        \
            s1 += POINCARE_VECTOR_##TERM;                                                                  \
            LOAD(a, x + i + 2 * LANES);                                                                    \
            LOAD(b, y + i + 2 * LANES);                                                                    \
            s2 += POINCARE_VECTOR_##TERM;                                                                  \
            LOAD(a, x + i + 3 * LANES);                                                                    \
            LOAD(b, y + i + 3 * LANES);                                                                    \
            s3 += POINCARE_VECTOR_##TERM;                                                                  \
        }                                                                                                  \
        for (; i + LANES <= n; i += LANES) {                                                               \
            LOAD(a, x + i);                                                                                \
            LOAD(b, y + i);                                                                                \
            s0 += POINCARE_VECTOR_##TERM;                                                                  \
        }                                                                                                  \
        OUT tail = 0;                                                                                      \
        for (; i < n; ++i) tail += POINCARE_SCALAR_##TERM(static_cast<OUT>(x[i]), static_cast<OUT>(y[i])); \
        const VECTOR s = (s0 + s1) + (s2 + s3);                                                            \
        OUT lane[LANES];                                                                                   \
        std::memcpy(lane, &s, sizeof(s));                                                                  \
        for (int step = LANES / 2; step > 0; step /= 2)                                                    \
            for (int j = 0; j < step; ++j) lane[j] += lane[j + step];                                      \
        return lane[0] + tail;                                                                             \
    }

#define POINCARE_LOAD(to, from) std::memcpy(&to, from, sizeof(to))
#define POINCARE_LOAD_WIDE(to, from)                \
    do {                                            \
        Half32 narrow;                              \
        std::memcpy(&narrow, from, sizeof(narrow)); \
        POINCARE_WIDEN(narrow, to);                 \
    } while (false)

#define POINCARE_VECTOR_PRODUCT (a * b)
#define POINCARE_VECTOR_GAP ((a - b) * (a - b))
#define POINCARE_SCALAR_PRODUCT(p, q) ((p) * (q))
#define POINCARE_SCALAR_GAP(p, q) (((p) - (q)) * ((p) - (q)))

#define POINCARE_LEVEL(TAG, ATTRIBUTE)                                                                  \
    POINCARE_SUM(dot_f32_##TAG, ATTRIBUTE, float, float, Lanes32, 16, POINCARE_LOAD, PRODUCT)           \
    POINCARE_SUM(dot_f64_##TAG, ATTRIBUTE, double, double, Lanes64, 8, POINCARE_LOAD, PRODUCT)          \
    POINCARE_SUM(squared_gap_f32_##TAG, ATTRIBUTE, float, float, Lanes32, 16, POINCARE_LOAD, GAP)       \
    POINCARE_SUM(squared_gap_f64_##TAG, ATTRIBUTE, double, double, Lanes64, 8, POINCARE_LOAD, GAP)      \
    POINCARE_SUM(dot_f32_wide_##TAG, ATTRIBUTE, float, double, Lanes64, 8, POINCARE_LOAD_WIDE, PRODUCT) \
    constexpr RowKernels table_##TAG = {dot_f32_##TAG, dot_f64_##TAG, squared_gap_f32_##TAG,            \
                                        squared_gap_f64_##TAG, dot_f32_wide_##TAG};

POINCARE_LEVEL(baseline, )
#if defined(__x86_64__) && defined(POINCARE_VECTOR_TYPES)
#define POINCARE_AVX2 __attribute__((target("avx2")))
#define POINCARE_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))
POINCARE_LEVEL(avx2, POINCARE_AVX2)
POINCARE_LEVEL(avx512, POINCARE_AVX512)
#endif

const RowKernels& decide() {
#if defined(__x86_64__) && defined(POINCARE_VECTOR_TYPES)
    if (simd_level() == SimdLevel::avx512) return table_avx512;
    if (simd_level() == SimdLevel::avx2) return table_avx2;
#endif
    return table_baseline;
}

}  // namespace

const RowKernels& row_kernels() {
    static const RowKernels& table = decide();
    return table;
}

}  // namespace poincare
