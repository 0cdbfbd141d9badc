// One place that decides which SIMD level runs. POINCARE_MEMORY_SIMD=baseline|avx2|avx512 forces a lower one.
//
// How a kernel is written for several levels: one function a level, under POINCARE_AVX2 and POINCARE_AVX512
// where POINCARE_WIDE_LEVELS is defined, all calling one POINCARE_INLINE body. POINCARE_VECTOR_TYPES: the
// compiler has vector types of any width.
#pragma once

#if defined(__GNUC__) || defined(__clang__)
#define POINCARE_INLINE inline __attribute__((always_inline))
#define POINCARE_VECTOR_TYPES 1
#if defined(__x86_64__)
#define POINCARE_WIDE_LEVELS 1
#define POINCARE_AVX2 __attribute__((target("avx2")))
#define POINCARE_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))
#endif
#else
#define POINCARE_INLINE inline
#endif

#include <cstddef>

namespace poincare {

constexpr std::size_t kCacheLine = 64;  // bytes

// Asks for what is at this address before its turn.
template <typename T>
POINCARE_INLINE void prefetch(const T* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

enum class SimdLevel { baseline = 0, avx2 = 1, avx512 = 2 };

// The level in force: the best that the processor has, or a lower one forced by the environment.
// Read once, at the first call.
SimdLevel simd_level();

const char* simd_level_name(SimdLevel level);

}  // namespace poincare
