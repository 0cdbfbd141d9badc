#include "lorentz.hpp"

#include <cmath>
#include <vector>

#include "ball.hpp"
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
        const double norm = sqrt_c * euclidean_norm(space, d_);
        radius_ = std::asinh(norm);
        scale_to_length(space, d_, 1.0, direction_.data());
        missing_ = std::isnan(static_cast<double>(row[0])) ? static_cast<double>(row[0]) : 0.0;
    }
    double distance_to(const PolarRow& other) const {
        const double chord = squared_gap(direction_.data(), other.direction_.data(), d_);
        return polar_distance(radius_, other.radius_, chord) + missing_ + other.missing_;
    }

  private:
    std::size_t d_;
    WideRow wide_;
    std::vector<double> direction_;
    double radius_ = 0;
    double missing_ = 0;  // NaN where the time coordinate is NaN
};

}  // namespace

template <typename T>
std::ptrdiff_t ball_to_lorentz(const T* x, std::size_t n, std::size_t d, double curvature, T* out,
                               int threads) {
    const BallTerms terms(curvature);
    FirstOutside outside;
    parallel_ranges(n, threads_for(threads, n * d, kGrain), [&](std::size_t begin, std::size_t end) {
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
void lorentz_distances(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                       std::size_t d, double curvature, double* out, int threads) {
    const double sqrt_c = std::sqrt(curvature);
    const std::size_t width = d + 1;
    parallel_ranges(n, threads_for(threads, n * d, kGrain), [&](std::size_t begin, std::size_t end) {
        PolarRow row_x(d), row_y(d);
        for (std::size_t i = begin; i < end; ++i) {
            if (x_step != 0 || i == begin) row_x.read(x + i * x_step * width, sqrt_c);
            if (y_step != 0 || i == begin) row_y.read(y + i * y_step * width, sqrt_c);
            out[i] = row_x.distance_to(row_y) / sqrt_c;
        }
    });
}

#define POINCARE_INSTANTIATE(T)                                                                             \
    template std::ptrdiff_t ball_to_lorentz(const T*, std::size_t, std::size_t, double, T*, int);           \
    template void lorentz_distances(const T*, std::size_t, const T*, std::size_t, std::size_t, std::size_t, \
                                    double, double*, int);
POINCARE_INSTANTIATE(float)
POINCARE_INSTANTIATE(double)

}  // namespace poincare
