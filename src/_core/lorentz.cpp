#include "lorentz.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "ball.hpp"
#include "interrupt.hpp"
#include "numerics.hpp"
#include "polar.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;

// Direction and scaled radius of a point, from its space coordinates.
class PolarRow {
  public:
    explicit PolarRow(std::size_t d) : d_(d), wide_(d), direction_(d) {}

    template <typename T>
    void read(const T* row, double sqrt_c) {
        const double* space = wide_(row + 1);
        sinh_ = sqrt_c * euclidean_norm(space, d_);
        cosh_ = std::hypot(1.0, sinh_);
        scale_to_length(space, d_, 1.0, direction_.data());
        missing_ = std::isnan(static_cast<double>(row[0])) ? static_cast<double>(row[0]) : 0.0;
    }
    double distance_to(const PolarRow& other) const {
        const double chord = squared_gap(direction_.data(), other.direction_.data(), d_);
        return scaled_distance(other, chord) + missing_ + other.missing_;
    }

  private:
    double scaled_distance(const PolarRow& other, double chord) const {
        if (std::max(sinh_, other.sinh_) > kLargestSinh)
            return polar_distance(std::asinh(sinh_), std::asinh(other.sinh_), chord);
        const double total = sinh_ * other.cosh_ + cosh_ * other.sinh_;
        if (total < kSmallestSinh) return polar_distance(sinh_, other.sinh_, chord);  // sinh R = R down there
        const double sinh_gap = (sinh_ - other.sinh_) * ((sinh_ + other.sinh_) / total);
        const double radial = sinh_gap * sinh_gap / (2 * (1 + std::sqrt(1 + sinh_gap * sinh_gap)));
        const double s = std::sqrt(radial + sinh_ * other.sinh_ * (chord / 4));
        return log1p_nonnegative(2 * s * (s + std::sqrt(1 + s * s)));
    }

    std::size_t d_;
    WideRow wide_;
    std::vector<double> direction_;
    double sinh_ = 0, cosh_ = 1;
    double missing_ = 0;  // NaN where the time coordinate is NaN
};

}  // namespace

template <typename T>
std::ptrdiff_t ball_to_lorentz(const T* x, std::size_t n, std::size_t d, double curvature, T* out,
                               int threads) {
    const BallTerms terms(curvature);
    FirstOutside outside;
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        WideRow wide(d);
        for (std::size_t i = begin; i < end; ++i) {
            const double* row = wide(x + i * d);
            const double margin = terms.of(row, d).margin;
            if (margin <= 0) outside.note(i);
            const double factor = 2.0 / margin;
            T* to = out + i * (d + 1);
            to[0] = static_cast<T>((factor - 1.0) / terms.sqrt_c());
            for (std::size_t k = 0; k < d; ++k) to[k + 1] = static_cast<T>(row[k] * factor);
        }
    });
    return outside.row();
}

template <typename T>
MapReport ball_from_lorentz(const T* x, std::size_t n, std::size_t d, double curvature, double limit, T* out,
                            int threads) {
    const double sqrt_c = std::sqrt(curvature);
    FirstOutside below;
    std::atomic<bool> saturated{false};
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        WideRow wide(d);
        std::vector<double> point(d);
        for (std::size_t i = begin; i < end; ++i) {
            const T* row = x + i * (d + 1);
            const double time = static_cast<double>(row[0]);
            if (time <= 0) below.note(i);
            const double* space = wide(row + 1);
            for (std::size_t k = 0; k < d; ++k) point[k] = space[k] / (1.0 + sqrt_c * time);
            if (keep_inside(point.data(), d, sqrt_c, limit)) saturated.store(true, std::memory_order_relaxed);
            for (std::size_t k = 0; k < d; ++k) out[i * d + k] = static_cast<T>(point[k]);
        }
    });
    return {below.row(), saturated.load()};
}

template <typename T>
void lorentz_distances(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                       std::size_t d, double curvature, double* out, int threads) {
    const double sqrt_c = std::sqrt(curvature);
    const std::size_t width = d + 1;
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        PolarRow row_x(d), row_y(d);
        for (std::size_t i = begin; i < end; ++i) {
            if (x_step != 0 || i == begin) row_x.read(x + i * x_step * width, sqrt_c);
            if (y_step != 0 || i == begin) row_y.read(y + i * y_step * width, sqrt_c);
            out[i] = row_x.distance_to(row_y) / sqrt_c;
        }
    });
}

#define POINCARE_INSTANTIATE(T)                                                                             \
    template MapReport ball_from_lorentz(const T*, std::size_t, std::size_t, double, double, T*, int);      \
    template std::ptrdiff_t ball_to_lorentz(const T*, std::size_t, std::size_t, double, T*, int);           \
    template void lorentz_distances(const T*, std::size_t, const T*, std::size_t, std::size_t, std::size_t, \
                                    double, double*, int);
POINCARE_INSTANTIATE(float)
POINCARE_INSTANTIATE(double)

}  // namespace poincare
