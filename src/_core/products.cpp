#include "products.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "cpu.hpp"
#include "interrupt.hpp"
#include "lanes.hpp"
#include "threads.hpp"

#ifdef POINCARE_WIDE_LEVELS
#include <immintrin.h>
#endif

namespace poincare {
namespace {

constexpr std::size_t kRowsAtOnce = 96;               // that stay in cache while every query meets them
constexpr std::size_t kGrain = std::size_t{1} << 26;  // multiplications a thread at least
constexpr std::size_t kUninterrupted = std::size_t{1} << 28;  // multiplications between two looks for Ctrl-C
constexpr std::size_t kMostColumns = 66000;                   // dim · 255 · 127 fits into 32 bits
constexpr double kRoundings = 0x1p-20;  // of float32: a conversion and two products, several times over
constexpr double kNorms = 4e-9;         // vectors whose norm is within 1e-9 of 1, several times over

struct Task {
    const std::int32_t* panels;
    const float* scale;  // of each query
    std::size_t query_count;
    std::size_t width;  // queries of a panel
    const CodedRows& coded;
    const std::int32_t* rows;
    std::size_t first, count;  // rows
    float* out;
};

struct Level {
    void (*multiply)(const Task&);
    std::size_t lanes, vectors;  // queries of a register, and registers of the widest panel
    std::size_t codes;           // that a word of 32 bits holds
    int raised;                  // what is added to each code of a query
};

// Instructions that multiply and add two or four codes a lane are at hand on x86 only.
#ifdef POINCARE_WIDE_LEVELS
namespace baseline {
using Vector = Lanes<std::int32_t, 4>;
using Code = std::int16_t;
constexpr std::size_t kLanes = 4, kVectors = 2, kCodes = 2;
constexpr int kRaised = 0;
POINCARE_INLINE void multiply_add(Vector& sum, const Vector& query, std::int32_t word) {
    sum += reinterpret_cast<Vector>(_mm_madd_epi16(reinterpret_cast<__m128i>(query), _mm_set1_epi32(word)));
}
#define POINCARE_SIMD_TARGET
#define POINCARE_SIMD_ROWS 4
#include "products_simd.inc"
#undef POINCARE_SIMD_TARGET
#undef POINCARE_SIMD_ROWS
}  // namespace baseline

namespace avx2 {
using Vector = Lanes<std::int32_t, 8>;
using Code = std::int16_t;
constexpr std::size_t kLanes = 8, kVectors = 2, kCodes = 2;
constexpr int kRaised = 0;
POINCARE_AVX2 POINCARE_INLINE void multiply_add(Vector& sum, const Vector& query, std::int32_t word) {
    sum += reinterpret_cast<Vector>(
        _mm256_madd_epi16(reinterpret_cast<__m256i>(query), _mm256_set1_epi32(word)));
}
#define POINCARE_SIMD_TARGET POINCARE_AVX2
#define POINCARE_SIMD_ROWS 4
#include "products_simd.inc"
#undef POINCARE_SIMD_TARGET
#undef POINCARE_SIMD_ROWS
}  // namespace avx2

namespace avx512_vnni {
#define POINCARE_VNNI __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni")))
using Vector = Lanes<std::int32_t, 16>;
using Code = std::int8_t;
constexpr std::size_t kLanes = 16, kVectors = 4, kCodes = 4;
constexpr int kRaised = 128;  // its first factor has no sign
POINCARE_VNNI POINCARE_INLINE void multiply_add(Vector& sum, const Vector& query, std::int32_t word) {
    sum = reinterpret_cast<Vector>(_mm512_dpbusd_epi32(
        reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(query), _mm512_set1_epi32(word)));
}
#define POINCARE_SIMD_TARGET POINCARE_VNNI
#define POINCARE_SIMD_ROWS 6
#include "products_simd.inc"
#undef POINCARE_SIMD_TARGET
#undef POINCARE_SIMD_ROWS
}  // namespace avx512_vnni
#else
namespace baseline {
using Vector = Lanes<std::int32_t, 4>;
using Code = std::int32_t;
constexpr std::size_t kLanes = 4, kVectors = 2, kCodes = 1;
constexpr int kRaised = 0;
POINCARE_INLINE void multiply_add(Vector& sum, const Vector& query, std::int32_t word) {
    sum = sum + query * word;
}
#define POINCARE_SIMD_TARGET
#define POINCARE_SIMD_ROWS 4
#include "products_simd.inc"
#undef POINCARE_SIMD_TARGET
#undef POINCARE_SIMD_ROWS
}  // namespace baseline
#endif

Level level() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512 && __builtin_cpu_supports("avx512vnni"))
        return avx512_vnni::level_of();
    if (simd_level() != SimdLevel::baseline) return avx2::level_of();
#endif
    return baseline::level_of();
}

// Queries in eight bits.
struct InEightBits {
    std::vector<std::int8_t> codes;
    std::vector<float> scale;
    double error = 0;  // the most that any of them lost

    InEightBits(const double* queries, std::size_t count, std::size_t dim)
        : codes(count * code_stride(dim), 0), scale(count, 0.0f) {
        if (dim > kMostColumns) {  // zeros, which lose all of a query
            error = 1;
            return;
        }
        std::vector<float> lost(count);
        encode_rows(queries, nullptr, count, dim, codes.data(), scale.data(), lost.data(), 1);
        for (const float one : lost) error = std::max(error, static_cast<double>(one));
    }
};

std::vector<std::int32_t> panels_of(const InEightBits& queries, std::size_t count, std::size_t stride,
                                    const Level& level, std::size_t width) {
    const std::size_t words = stride / level.codes, bits = 32 / level.codes;
    const std::uint32_t mask = level.codes == 1 ? ~0u : (1u << bits) - 1;
    std::vector<std::int32_t> panels((count + width - 1) / width * width * words);
    for (std::size_t q = 0; q < count; ++q)
        for (std::size_t w = 0; w < words; ++w) {
            std::uint32_t word = 0;
            for (std::size_t i = 0; i < level.codes; ++i) {
                const int code = queries.codes[q * stride + w * level.codes + i] + level.raised;
                word |= (static_cast<std::uint32_t>(code) & mask) << (i * bits);
            }
            std::memcpy(&panels[q / width * width * words + w * width + q % width], &word, sizeof(word));
        }
    return panels;
}

// Of the widest panel that is filled.
std::size_t panel_width(const Level& level, std::size_t count) {
    std::size_t vectors = 1;
    while (vectors < level.vectors && count > vectors * level.lanes) vectors *= 2;
    return vectors * level.lanes;
}

}  // namespace

// Let q̂ be what the codes of query q stand for, f = ‖q − q̂‖, and x̂, e the same of row x. Then
//
//   |⟨q, x⟩ − ⟨q̂, x̂⟩| ≤ f·(‖x‖ + e) + ‖q‖·e
//
// ⟨q̂, x̂⟩ is a product of two scales and an integer, which three roundings take to float32.
QueryPanels::QueryPanels(const double* queries, std::size_t count, std::size_t dim)
    : count_(count), width_(panel_width(level(), count)) {
    InEightBits coded(queries, count, dim);
    panels_ = panels_of(coded, count, code_stride(dim), level(), width_);
    scale_ = std::move(coded.scale);
    error_ = coded.error + kRoundings * (1 + coded.error) + kNorms;
}

void QueryPanels::multiply(const CodedRows& coded, const std::int32_t* rows, std::size_t first, std::size_t n,
                           float* out) const {
    level().multiply({panels_.data(), scale_.data(), count_, width_, coded, rows, first, n, out});
}

double products_with_codes(const double* queries, std::size_t query_count, const CodedRows& coded,
                           const std::int32_t* rows, std::size_t count, std::size_t dim, float* out,
                           int threads) {
    const QueryPanels panels(queries, query_count, dim);
    const std::size_t blocks =
        std::max<std::size_t>(1, kUninterrupted / (query_count * dim * kRowsAtOnce + 1));
    interruptible_ranges(count, threads_for(threads, query_count * count * dim, kGrain), blocks * kRowsAtOnce,
                         [&](std::size_t begin, std::size_t end) {
                             panels.multiply(coded, rows, begin, end - begin, out + begin * query_count);
                         });
    return panels.error();
}

}  // namespace poincare
