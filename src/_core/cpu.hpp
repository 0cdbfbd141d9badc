// One place that decides which SIMD level runs. POINCARE_MEMORY_SIMD=baseline|avx2|avx512 forces a lower one.
#pragma once

namespace poincare {

enum class SimdLevel { baseline = 0, avx2 = 1, avx512 = 2 };

// The level in force: the best that the processor has, or a lower one forced by the environment.
// Read once, at the first call.
SimdLevel simd_level();

const char* simd_level_name(SimdLevel level);

}  // namespace poincare
