#include "cones.hpp"

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

// A point as norm, margin and, where it is asked for, direction.
class ConeRow {
  public:
    explicit ConeRow(std::size_t d) : wide_(d), direction_(d) {}

    template <typename T>
    void read(const T* row, const BallTerms& terms, std::size_t number, FirstOutside& outside) {
        row_ = wide_(row);
        terms_ = terms.of(row_, direction_.size());
        length_ = terms_.norm / terms.sqrt_c();
        if (terms_.margin <= 0) outside.note(number);
        directed_ = false;
    }
    const double* row() const { return row_; }
    std::size_t size() const { return direction_.size(); }
    const double* direction() {
        if (!directed_) scale_to_length(row_, direction_.size(), 1.0, direction_.data());
        directed_ = true;
        return direction_.data();
    }
    double length() const { return length_; }
    double norm() const { return terms_.norm; }
    double margin() const { return terms_.margin; }

  private:
    WideRow wide_;
    std::vector<double> direction_;
    bool directed_ = false;
    const double* row_ = nullptr;
    double length_ = 0;
    RowTerms terms_{0, 1};
};

// |u − v|² and |u + v|² of unit vectors.
struct Chords {
    double gap, sum;
};

// Far from 0 and π both follow from the cosine. Elsewhere the shorter of the two is summed term by term, and
// the longer follows from |u−v|² + |u+v|² = 4.
Chords chords(ConeRow& apex, ConeRow& point) {
    const std::size_t d = apex.size();
    const double* u = apex.direction();
    if (point.length() > kSmallestLength) {
        const double cosine = dot(u, point.row(), d) / point.length();
        if (std::fabs(cosine) < kPlainCosine) return {2 - 2 * cosine, 2 + 2 * cosine};
    }
    const double* v = point.direction();
    const double gap = squared_gap(u, v, d);
    if (gap <= 2) return {gap, 4 - gap};
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) sum += (u[i] + v[i]) * (u[i] + v[i]);
    return {4 - sum, sum};
}

double angle(ConeRow& apex, ConeRow& point) {
    const auto [chord, sum] = chords(apex, point);
    const double n = apex.norm(), m = point.norm(), g = apex.margin(), h = point.margin();
    if (n + m == 0) return 0;
    const double outward = g < kNextToBoundary && h < kNextToBoundary ? (g - h) / (n + m) : m - n;
    const double one_less_product = g / (1 + n) + n * (h / (1 + m));  // 1 − n·m
    return std::atan2(m * g * std::sqrt(chord * sum) / 2,
                      outward * one_less_product - m * (1 + n * n) * chord / 2);
}

// ψ = arcsin(K·g/n); π in the central region n < K.
double half_aperture(double norm, double margin, double K) {
    if (norm < K) return kPi;
    const double sine = K * margin / norm;
    return std::asin(sine > 1 ? 1.0 : sine);
}

}  // namespace

template <typename T>
std::ptrdiff_t half_apertures(const T* x, std::size_t n, std::size_t d, double curvature, double K,
                              double* out, int threads) {
    const BallTerms terms(curvature);
    FirstOutside outside;
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        WideRow wide(d);
        for (std::size_t i = begin; i < end; ++i) {
            const RowTerms row = terms.of(wide(x + i * d), d);
            if (row.margin <= 0) outside.note(i);
            out[i] = half_aperture(row.norm, row.margin, K);
        }
    });
    return outside.row();
}

namespace {

// out[i] = measure(apex, point, ψ of the apex)
template <typename T, typename Measure>
std::ptrdiff_t measure_pairs(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                             std::size_t d, double curvature, double K, double* out, int threads,
                             Measure&& measure) {
    const BallTerms terms(curvature);
    FirstOutside outside;
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        ConeRow apex(d), point(d);
        double aperture = 0;
        for (std::size_t i = begin; i < end; ++i) {
            if (x_step != 0 || i == begin) {
                apex.read(x + i * x_step * d, terms, i * x_step, outside);
                aperture = half_aperture(apex.norm(), apex.margin(), K);
            }
            if (y_step != 0 || i == begin) point.read(y + i * y_step * d, terms, n + i * y_step, outside);
            out[i] = measure(angle(apex, point), aperture);
        }
    });
    return outside.row();
}

}  // namespace

template <typename T>
std::ptrdiff_t cone_angles(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                           std::size_t d, double curvature, double* out, int threads) {
    return measure_pairs(x, x_step, y, y_step, n, d, curvature, kDefaultConeK, out, threads,
                         [](double angle, double) { return angle; });
}

template <typename T>
std::ptrdiff_t cone_energies(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                             std::size_t d, double curvature, double K, double* out, int threads) {
    return measure_pairs(x, x_step, y, y_step, n, d, curvature, K, out, threads,
                         [](double angle, double aperture) {
                             const double excess = angle - aperture;
                             return excess < 0 ? 0.0 : excess;  // NaN stays NaN
                         });
}

#define POINCARE_INSTANTIATE(T)                                                                         \
    template std::ptrdiff_t half_apertures(const T*, std::size_t, std::size_t, double, double, double*, \
                                           int);                                                        \
    template std::ptrdiff_t cone_angles(const T*, std::size_t, const T*, std::size_t, std::size_t,      \
                                        std::size_t, double, double*, int);                             \
    template std::ptrdiff_t cone_energies(const T*, std::size_t, const T*, std::size_t, std::size_t,    \
                                          std::size_t, double, double, double*, int);
POINCARE_INSTANTIATE(float)
POINCARE_INSTANTIATE(double)

}  // namespace poincare
