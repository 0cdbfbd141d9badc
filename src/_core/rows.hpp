// Row kernels: the innermost loops over one pair of rows, one implementation a SIMD level.
// Every other kernel takes its inner products and chords from here, so that an exact scan and the graph
// rank by the same function.
#pragma once

#include <cstddef>

namespace poincare {

struct RowKernels {
    float (*dot_f32)(const float* x, const float* y, std::size_t n);
    double (*dot_f64)(const double* x, const double* y, std::size_t n);
    // |x − y|², as a sum of squared differences (no cancellation)
    float (*squared_gap_f32)(const float* x, const float* y, std::size_t n);
    double (*squared_gap_f64)(const double* x, const double* y, std::size_t n);
    // float32 rows, float64 arithmetic
    double (*dot_f32_wide)(const float* x, const float* y, std::size_t n);
};

// The table of the level in force (cpu.hpp).
const RowKernels& row_kernels();

inline float dot(const float* x, const float* y, std::size_t n) {
    return row_kernels().dot_f32(x, y, n);
}
inline double dot(const double* x, const double* y, std::size_t n) {
    return row_kernels().dot_f64(x, y, n);
}
inline float squared_gap(const float* x, const float* y, std::size_t n) {
    return row_kernels().squared_gap_f32(x, y, n);
}
inline double squared_gap(const double* x, const double* y, std::size_t n) {
    return row_kernels().squared_gap_f64(x, y, n);
}

}  // namespace poincare
