#include "ball.hpp"

#include <algorithm>
#include <cmath>

#include "interrupt.hpp"
#include "margin.hpp"
#include "numerics.hpp"
#include "pair_distances.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;  // numbers of input worth a thread of their own
constexpr std::size_t kBlock = 32;                    // pairs that are turned into distances together

double largest_magnitude(const double* x, std::size_t d) {
    double largest = 0;
    for (std::size_t i = 0; i < d; ++i) {
        const double magnitude = std::fabs(x[i]);
        if (!(magnitude <= largest)) largest = magnitude;
        if (std::isnan(largest)) return largest;
    }
    return largest;
}

// |x − y|, of numbers whose squares leave the range of the format
double gap_by_scaling(const double* x, const double* y, std::size_t d) {
    double largest = 0;
    for (std::size_t i = 0; i < d; ++i) {
        const double magnitude = std::fabs(x[i] - y[i]);
        if (!(magnitude <= largest)) largest = magnitude;
        if (std::isnan(largest)) return largest;
    }
    if (largest == 0 || std::isinf(largest)) return largest;
    const int exponent = std::ilogb(largest);
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) {
        const double scaled = std::scalbn(x[i] - y[i], -exponent);
        sum += scaled * scaled;
    }
    return std::scalbn(std::sqrt(sum), exponent);
}

}  // namespace

double euclidean_gap(const double* x, const double* y, std::size_t d) {
    const double square = squared_gap(x, y, d);
    return safe_square(square) ? std::sqrt(square) : gap_by_scaling(x, y, d);
}

double euclidean_norm(const double* x, std::size_t d) {
    const double square = dot(x, x, d);
    if (safe_square(square)) return std::sqrt(square);
    const double largest = largest_magnitude(x, d);
    if (largest == 0 || !std::isfinite(largest)) return largest;
    const int exponent = std::ilogb(largest);
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) {
        const double scaled = std::scalbn(x[i], -exponent);
        sum += scaled * scaled;
    }
    return std::scalbn(std::sqrt(sum), exponent);
}

BallTerms::BallTerms(double curvature) : c_(curvature), sqrt_c_(std::sqrt(curvature)) {}

RowTerms BallTerms::of(const double* x, std::size_t d) const {
    const double norm = sqrt_c_ * euclidean_norm(x, d);
    if (std::fabs(1.0 - norm) < kCompensatedMargin) return {norm, compensated_margin(x, d, c_)};
    return {norm, (1.0 - norm) * (1.0 + norm)};
}

void scale_to_length(const double* x, std::size_t d, double length, double* out) {
    const double square = dot(x, x, d);
    if (safe_square(square)) {
        const double factor = length / std::sqrt(square);
        for (std::size_t i = 0; i < d; ++i) out[i] = x[i] * factor;
        return;
    }
    const double largest = largest_magnitude(x, d);
    if (largest == 0 || std::isnan(largest)) {
        std::fill(out, out + d, largest * length);
        return;
    }
    if (std::isinf(largest)) {
        for (std::size_t i = 0; i < d; ++i) out[i] = std::isinf(x[i]) ? std::copysign(1.0, x[i]) : 0.0;
    } else {
        const int exponent = std::ilogb(largest);
        for (std::size_t i = 0; i < d; ++i) out[i] = std::scalbn(x[i], -exponent);
    }
    const double factor = length / std::sqrt(dot(out, out, d));
    for (std::size_t i = 0; i < d; ++i) out[i] *= factor;
}

template <typename T>
std::ptrdiff_t ball_row_terms(const T* x, std::size_t n, std::size_t d, double curvature, double* norm,
                              double* margin, int threads) {
    const BallTerms terms(curvature);
    FirstOutside outside;
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        WideRow wide(d);
        for (std::size_t i = begin; i < end; ++i) {
            const RowTerms row = terms.of(wide(x + i * d), d);
            if (row.margin <= 0) outside.note(i);
            norm[i] = row.norm;
            margin[i] = row.margin;
        }
    });
    return outside.row();
}

namespace {

// out[i] = d(one, many[i]); number_of(i) is that of a row of `many` in what is noted.
template <typename T, typename Number>
void one_to_many(const T* one, std::size_t number_of_one, const T* many, std::size_t begin, std::size_t end,
                 std::size_t d, const BallTerms& terms, const BlockDistances& distances,
                 FirstOutside& outside, Number&& number_of, double* out) {
    WideRow wide_one(d), wide(d);
    const double* const x = wide_one(one);
    const double root = inverse_root(terms, x, d, number_of_one, outside);
    double squares[kBlock];
    BlockOfPairs pairs;
    for (std::size_t start = begin; start < end; start += kBlock) {
        const std::size_t size = std::min(kBlock, end - start);
        gaps_and_squares(x, many + start * d, size, d, pairs.squared_gap, squares);
        for (std::size_t j = 0; j < size; ++j) {
            const T* const row = many + (start + j) * d;
            const double margin = terms.of(row, d, squares[j], wide).margin;
            if (margin <= 0) outside.note(number_of(start + j));
            pairs.inverse_roots[j] = root * (1.0 / std::sqrt(margin));
        }
        distances(pairs, size, out + start,
                  [&](std::size_t j) { return euclidean_gap(x, wide(many + (start + j) * d), d); });
    }
}

}  // namespace

template <typename T>
std::ptrdiff_t ball_distances(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                              std::size_t d, double curvature, double* out, int threads) {
    const BallTerms terms(curvature);
    const BlockDistances distances(terms.sqrt_c());
    FirstOutside outside;
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        if (x_step == 0 && y_step != 0)
            return one_to_many(
                x, 0, y, begin, end, d, terms, distances, outside, [n](std::size_t i) { return n + i; }, out);
        if (y_step == 0 && x_step != 0)
            return one_to_many(
                y, n, x, begin, end, d, terms, distances, outside, [](std::size_t i) { return i; }, out);
        WideRow wide_x(d), wide_y(d);
        BlockOfPairs pairs;
        for (std::size_t start = begin; start < end; start += kBlock) {
            const std::size_t size = std::min(kBlock, end - start);
            for (std::size_t j = 0; j < size; ++j) {
                const std::size_t of_x = (start + j) * x_step, of_y = (start + j) * y_step;
                const double *row_x = wide_x(x + of_x * d), *row_y = wide_y(y + of_y * d);
                pairs.squared_gap[j] = squared_gap(row_x, row_y, d);
                pairs.inverse_roots[j] = inverse_root(terms, row_x, d, of_x, outside) *
                                         inverse_root(terms, row_y, d, n + of_y, outside);
            }
            distances(pairs, size, out + start, [&](std::size_t j) {
                const std::size_t i = start + j;
                return euclidean_gap(wide_x(x + i * x_step * d), wide_y(y + i * y_step * d), d);
            });
        }
    });
    return outside.row();
}

namespace {

void write_row(const double* x, std::size_t d, double length, double*, double* out) {
    scale_to_length(x, d, length, out);
}
void write_row(const double* x, std::size_t d, double length, double* buffer, float* out) {
    scale_to_length(x, d, length, buffer);
    for (std::size_t i = 0; i < d; ++i) out[i] = static_cast<float>(buffer[i]);
}

}  // namespace

template <typename T>
void scale_rows(const T* x, std::size_t x_step, const double* length, std::size_t length_step, std::size_t n,
                std::size_t d, T* out, int threads) {
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        WideRow wide(d);
        std::vector<double> buffer(d);
        for (std::size_t i = begin; i < end; ++i)
            write_row(wide(x + i * x_step * d), d, length[i * length_step], buffer.data(), out + i * d);
    });
}

#define POINCARE_INSTANTIATE(T)                                                                           \
    template std::ptrdiff_t ball_row_terms(const T*, std::size_t, std::size_t, double, double*, double*,  \
                                           int);                                                          \
    template std::ptrdiff_t ball_distances(const T*, std::size_t, const T*, std::size_t, std::size_t,     \
                                           std::size_t, double, double*, int);                            \
    template void scale_rows(const T*, std::size_t, const double*, std::size_t, std::size_t, std::size_t, \
                             T*, int);
POINCARE_INSTANTIATE(float)
POINCARE_INSTANTIATE(double)

}  // namespace poincare
