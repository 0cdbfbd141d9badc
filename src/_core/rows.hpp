// Row kernels: the innermost loops over one pair of rows (or one row and several), one implementation a SIMD
// level. Every other kernel takes its inner products and chords from here, so that an exact scan and the
// graph rank by the same function.
//
// All levels return the same bits (rows_simd.inc says how).
#pragma once

#include <cstddef>
#include <cstdint>

namespace poincare {

struct RowKernels {
    float (*dot_f32)(const float* x, const float* y, std::size_t n);
    double (*dot_f64)(const double* x, const double* y, std::size_t n);
    // |x − y|², as a sum of squared differences (no cancellation)
    float (*squared_gap_f32)(const float* x, const float* y, std::size_t n);
    double (*squared_gap_f64)(const double* x, const double* y, std::size_t n);
    // float32 rows, float64 arithmetic
    double (*dot_f32_wide)(const float* x, const float* y, std::size_t n);
    // out[r] = dot_f32(query, rows[r], n), several rows at a time
    void (*dots_f32)(const float* query, const float* const* rows, std::size_t count, std::size_t n,
                     float* out);
    // out[r] = squared_gap_f32(query, rows[r], n), likewise
    void (*squared_gaps_f32)(const float* query, const float* const* rows, std::size_t count, std::size_t n,
                             float* out);
    // Of `count` rows that lie one after the other: first[r] = x·row, or |x − row|², and second[r] = row·row,
    // each with the bits of the kernels above; a row is read from memory once, those behind it asked for.
    void (*dots_and_squares_f64)(const double* x, const double* rows, std::size_t count, std::size_t n,
                                 double* first, double* second);
    void (*gaps_and_squares_f64)(const double* x, const double* rows, std::size_t count, std::size_t n,
                                 double* first, double* second);
    void (*dots_and_squares_f32)(const double* x, const float* rows, std::size_t count, std::size_t n,
                                 double* first, double* second);
    void (*gaps_and_squares_f32)(const double* x, const float* rows, std::size_t count, std::size_t n,
                                 double* first, double* second);
    // out[i·m + j] = squared_gap_f64(x[i·stride], y[j·stride], d) of n and m rows
    void (*gap_table_f64)(const double* x, std::size_t n, const double* y, std::size_t m, std::size_t d,
                          std::size_t stride, double* out);
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

inline void dots_and_squares(const double* x, const double* rows, std::size_t count, std::size_t n,
                             double* dots, double* squares) {
    row_kernels().dots_and_squares_f64(x, rows, count, n, dots, squares);
}
inline void dots_and_squares(const double* x, const float* rows, std::size_t count, std::size_t n,
                             double* dots, double* squares) {
    row_kernels().dots_and_squares_f32(x, rows, count, n, dots, squares);
}
inline void gaps_and_squares(const double* x, const double* rows, std::size_t count, std::size_t n,
                             double* gaps, double* squares) {
    row_kernels().gaps_and_squares_f64(x, rows, count, n, gaps, squares);
}
inline void gaps_and_squares(const double* x, const float* rows, std::size_t count, std::size_t n,
                             double* gaps, double* squares) {
    row_kernels().gaps_and_squares_f32(x, rows, count, n, gaps, squares);
}

// out[i] = query · matrix[rows[i]], or query · matrix[first + i] where `rows` is null. Row-major, n columns.
void dots_f32(const float* query, const float* matrix, const std::int32_t* rows, std::size_t first,
              std::size_t count, std::size_t n, float* out);

// Bound on |dot_f32(x, y, n) − x'·y'| for float64 vectors x', y' with |‖x'‖ − 1|, |‖y'‖ − 1| ≤ 1e-9 whose
// roundings to float32 are x and y (proof in rows.cpp).
double dot_f32_error(std::size_t n);

}  // namespace poincare
