// The Poincaré ball in Cartesian coordinates: distances, norms, and moving points along their rays.
//
// Rows are float32 or float64, the arithmetic is float64 throughout. Every function is threaded, and what it
// returns does not depend on the number of threads.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <vector>

#include "log1p.hpp"
#include "numerics.hpp"

namespace poincare {

// What the formulas need of a point: both are scaled to the unit ball.
struct RowTerms {
    double norm;    // √c·|x|
    double margin;  // 1 − c·|x|², right to a few ulp also where |x| is next to the boundary
};

// Whether a sum of squares lost nothing to the range of the format.
inline bool safe_square(double square) {
    return square >= kSafeSquareLow && square <= kSafeSquareHigh;
}

// A row as float64: itself, or a copy in a buffer that the caller keeps.
class WideRow {
  public:
    explicit WideRow(std::size_t d) : buffer_(d) {}
    const double* operator()(const double* row) { return row; }
    const double* operator()(const float* row) {
        for (std::size_t i = 0; i < buffer_.size(); ++i) buffer_[i] = static_cast<double>(row[i]);
        return buffer_.data();
    }

  private:
    std::vector<double> buffer_;
};

class BallTerms {
  public:
    explicit BallTerms(double curvature);
    RowTerms of(const double* x, std::size_t d) const;
    // The same of a row whose x·x is known.
    template <typename T>
    RowTerms of(const T* x, std::size_t d, double square, WideRow& wide) const {
        const double norm = sqrt_c_ * std::sqrt(square);
        if (safe_square(square) && std::fabs(1.0 - norm) >= kCompensatedMargin)
            return {norm, (1.0 - norm) * (1.0 + norm)};
        return of(wide(x), d);
    }
    double curvature() const { return c_; }
    double sqrt_c() const { return sqrt_c_; }

  private:
    double c_, sqrt_c_;
};

// |x| and |x − y| without overflow or underflow, at any magnitude that the format holds.
double euclidean_norm(const double* x, std::size_t d);
double euclidean_gap(const double* x, const double* y, std::size_t d);

// From |x−y|² and 1/√(margins) to distances:
//   s = √c·|x−y|/√(margin·margin),  d = 2·asinh(s) = log1p(2s·(s + √(1+s²)))
// The product of the inverse roots is taken first, so that d(x, y) and d(y, x) have the same bits.
POINCARE_INLINE double distance_of_gap(double gap, double inverse_roots, double sqrt_c,
                                       double inverse_sqrt_c) {
    const double s = gap * (sqrt_c * inverse_roots);
    return inverse_sqrt_c * log1p_nonnegative(2.0 * s * (s + std::sqrt(1.0 + s * s)));
}

// Writes the vector of length `length` along x (the zero vector, where x has no direction). An infinite
// component is a direction by itself.
void scale_to_length(const double* x, std::size_t d, double length, double* out);

// The smallest row that is not strictly inside the ball, whichever thread meets it first.
class FirstOutside {
  public:
    void note(std::size_t row) {
        std::size_t known = row_.load(std::memory_order_relaxed);
        while (row < known && !row_.compare_exchange_weak(known, row)) {
        }
    }
    // −1: none
    std::ptrdiff_t row() const {
        const std::size_t found = row_.load();
        return found == kNone ? -1 : static_cast<std::ptrdiff_t>(found);
    }

  private:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::atomic<std::size_t> row_{kNone};
};

// RowTerms of n rows, as two columns. Returns −1, or the first row outside the ball.
template <typename T>
std::ptrdiff_t ball_row_terms(const T* x, std::size_t n, std::size_t d, double curvature, double* norm,
                              double* margin, int threads);

// d(x[i·x_step], y[i·y_step]) for i < n; a step is 0 (one row against all) or 1. Returns −1, or the first
// row outside the ball: i for x, n + i for y.
//   d = (2/√c)·asinh(√c·|x−y| / √((1−c|x|²)(1−c|y|²)))       (Nickel & Kiela 2017, eq. 1, without arcosh)
template <typename T>
std::ptrdiff_t ball_distances(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                              std::size_t d, double curvature, double* out, int threads);

// All pairs: out[i·m + j] = d(x[i], y[j]), the same bits as ball_distances. Returns −1, or the first row
// outside the ball: i for x, n + j for y.
template <typename T>
std::ptrdiff_t ball_pairwise(const T* x, std::size_t n, const T* y, std::size_t m, std::size_t d,
                             double curvature, T* out, int threads);

// out[i] = the vector of length length[i·length_step] along x[i·x_step].
template <typename T>
void scale_rows(const T* x, std::size_t x_step, const double* length, std::size_t length_step, std::size_t n,
                std::size_t d, T* out, int threads);

}  // namespace poincare
