#include "cpu.hpp"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace poincare {
namespace {

SimdLevel best_of_this_processor() {
#ifdef POINCARE_WIDE_LEVELS
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return SimdLevel::baseline;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq"))
        return SimdLevel::avx2;
    return SimdLevel::avx512;
#else
    return SimdLevel::baseline;
#endif
}

SimdLevel decide() {
    const SimdLevel best = best_of_this_processor();
    const char* forced = std::getenv("POINCARE_MEMORY_SIMD");
    if (forced == nullptr) return best;
    for (SimdLevel level : {SimdLevel::baseline, SimdLevel::avx2, SimdLevel::avx512})
        if (std::strcmp(forced, simd_level_name(level)) == 0) return level < best ? level : best;
    return best;
}

}  // namespace

SimdLevel simd_level() {
    static const SimdLevel level = decide();
    return level;
}

const char* simd_level_name(SimdLevel level) {
    switch (level) {
        case SimdLevel::avx512:
            return "avx512";
        case SimdLevel::avx2:
            return "avx2";
        default:
            return "baseline";
    }
}

}  // namespace poincare
