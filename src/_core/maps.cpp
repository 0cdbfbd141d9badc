#include "maps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "interrupt.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 14;  // numbers of input worth a thread of their own

using Vector = std::vector<double>;

// One row of a side, as float64, with its terms; read again only where the side moves.
template <typename T>
class Cursor {
  public:
    Cursor(Rows<T> rows, std::size_t d) : rows_(rows), d_(d), wide_(d) {}

    void move(std::size_t i, bool first) {
        if (rows_.step != 0 || first) row_ = wide_(rows_.data + i * rows_.step * d_);
    }
    void move_inside(std::size_t i, bool first, std::size_t number, const BallTerms& ball,
                     FirstOutside& outside) {
        if (rows_.step == 0 && !first) return;
        move(i, first);
        terms_ = ball.of(row_, d_);
        if (terms_.margin <= 0) outside.note(number + i * rows_.step);
    }
    const double* row() const { return row_; }
    double norm() const { return terms_.norm; }
    double margin() const { return terms_.margin; }

  private:
    Rows<T> rows_;
    std::size_t d_;
    WideRow wide_;
    const double* row_ = nullptr;
    RowTerms terms_{0, 1};
};

double distance_between(const double* x, double g, const double* y, double h, std::size_t d, double sqrt_c) {
    const double roots = (1.0 / std::sqrt(g)) * (1.0 / std::sqrt(h));
    return distance_of_gap(euclidean_gap(x, y, d), roots, sqrt_c, 1.0 / sqrt_c);
}

template <typename T>
void store(const Vector& point, T* out) {
    for (std::size_t i = 0; i < point.size(); ++i) out[i] = static_cast<T>(point[i]);
}

void mobius_add(const double* x, double g, const double* y, double h, double c, Vector& out) {
    const std::size_t d = out.size();
    for (std::size_t i = 0; i < d; ++i) out[i] = x[i] + y[i];
    const double square = c * dot(out.data(), out.data(), d);
    const double denominator = square + g * h;
    for (std::size_t i = 0; i < d; ++i) out[i] = (square * x[i] + g * out[i]) / denominator;
}

// `heading` is room for v/|v|
void exp_map(const double* x, RowTerms terms, const double* v, double sqrt_c, Vector& heading, Vector& out) {
    const std::size_t d = out.size();
    const double speed = euclidean_norm(v, d), g = terms.margin;
    scale_to_length(v, d, 1.0, heading.data());
    const double travel = 2 * sqrt_c * speed / g;
    const double shrink = std::exp(-travel), squared_shrink = std::exp(-2 * travel);
    double ahead = 0, behind = 0;
    for (std::size_t i = 0; i < d; ++i) {
        const double w = sqrt_c * x[i] + heading[i], other = sqrt_c * x[i] - heading[i];
        ahead += w * w;
        behind += other * other;
    }
    if (speed > 0) {  // |w₊| cannot be below 1 − |x|: said so, it cannot vanish by rounding
        const double nearest = g / (1 + terms.norm);
        ahead = std::max(ahead, nearest * nearest);
    }
    const double weight = ahead + squared_shrink * behind;
    const double advance = -std::expm1(-2 * travel);
    const double denominator = 2 * g * shrink + weight;
    for (std::size_t i = 0; i < d; ++i) {
        const double at = sqrt_c * x[i];
        const double numerator = weight * at + g * (advance * (at + heading[i]) + 2 * squared_shrink * at);
        out[i] = numerator / denominator / sqrt_c;
    }
}

void log_map(const double* x, double g, const double* y, double distance, double c, Vector& heading,
             Vector& out) {
    const std::size_t d = out.size();
    for (std::size_t i = 0; i < d; ++i) out[i] = y[i] - x[i];
    const double square = c * dot(out.data(), out.data(), d);
    for (std::size_t i = 0; i < d; ++i) heading[i] = g * out[i] - square * x[i];
    scale_to_length(heading.data(), d, distance * g / 2, out.data());
}

// sinh(fraction·D)/sinh(D), divided by e^((excess − 1)·D)
double sinh_ratio(double fraction, double distance, double excess) {
    if (distance == 0) return fraction;
    return std::exp((fraction - excess) * distance) * std::expm1(-2 * fraction * distance) /
           std::expm1(-2 * distance);
}

void geodesic_point(const double* x, double g, const double* y, double h, double t, double distance,
                    double sqrt_c, Vector& out) {
    const std::size_t d = out.size();
    if (t == 0 || t == 1) {
        std::copy(t == 0 ? x : y, (t == 0 ? x : y) + d, out.begin());
        return;
    }
    const double a = std::fabs(1 - t), b = std::fabs(t), excess = std::max(std::max(a, b), 1.0);
    const double weight_x = std::copysign(sinh_ratio(a, distance, excess), 1 - t) * h;
    const double weight_y = std::copysign(sinh_ratio(b, distance, excess), t) * g;
    for (std::size_t i = 0; i < d; ++i) out[i] = 2 * sqrt_c * (weight_x * x[i] + weight_y * y[i]);
    const double unit = std::exp((1 - excess) * distance) * g * h;
    const double denominator = unit + std::hypot(unit, euclidean_norm(out.data(), d));
    for (std::size_t i = 0; i < d; ++i) out[i] = out[i] / denominator / sqrt_c;
}

// Runs `map(i, first, point)` for every row of out, keeps the points inside and stores them.
template <typename T, typename MakeMap>
MapReport map_rows(std::size_t n, std::size_t d, double sqrt_c, double limit, T* out, int threads,
                   const FirstOutside& outside, MakeMap&& make_map) {
    std::atomic<bool> saturated{false};
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        auto map = make_map();
        Vector point(d);
        for (std::size_t i = begin; i < end; ++i) {
            map(i, i == begin, point);
            if (keep_inside(point.data(), d, sqrt_c, limit)) saturated.store(true, std::memory_order_relaxed);
            store(point, out + i * d);
        }
    });
    return {outside.row(), saturated.load()};
}

}  // namespace

bool keep_inside(double* point, std::size_t d, double sqrt_c, double limit) {
    if (!(sqrt_c * euclidean_norm(point, d) > limit)) return false;
    scale_to_length(point, d, limit / sqrt_c, point);
    return true;
}

template <typename T>
MapReport mobius_additions(Rows<T> x, Rows<T> y, std::size_t n, std::size_t d, double curvature, double limit,
                           T* out, int threads) {
    const BallTerms ball(curvature);
    FirstOutside outside;
    return map_rows(n, d, ball.sqrt_c(), limit, out, threads, outside, [&] {
        return
            [&, a = Cursor<T>(x, d), b = Cursor<T>(y, d)](std::size_t i, bool first, Vector& point) mutable {
                a.move_inside(i, first, 0, ball, outside);
                b.move_inside(i, first, n, ball, outside);
                mobius_add(a.row(), a.margin(), b.row(), b.margin(), curvature, point);
            };
    });
}

template <typename T>
MapReport exp_maps(Rows<T> x, Rows<T> v, std::size_t n, std::size_t d, double curvature, double limit, T* out,
                   int threads) {
    const BallTerms ball(curvature);
    FirstOutside outside;
    return map_rows(n, d, ball.sqrt_c(), limit, out, threads, outside, [&] {
        return [&, a = Cursor<T>(x, d), b = Cursor<T>(v, d), heading = Vector(d)](std::size_t i, bool first,
                                                                                  Vector& point) mutable {
            a.move_inside(i, first, 0, ball, outside);
            b.move(i, first);
            exp_map(a.row(), {a.norm(), a.margin()}, b.row(), ball.sqrt_c(), heading, point);
        };
    });
}

template <typename T>
std::ptrdiff_t log_maps(Rows<T> x, Rows<T> y, std::size_t n, std::size_t d, double curvature, T* out,
                        int threads) {
    const BallTerms ball(curvature);
    FirstOutside outside;
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        Cursor<T> a(x, d), b(y, d);
        Vector heading(d), velocity(d);
        for (std::size_t i = begin; i < end; ++i) {
            a.move_inside(i, i == begin, 0, ball, outside);
            b.move_inside(i, i == begin, n, ball, outside);
            const double distance =
                distance_between(a.row(), a.margin(), b.row(), b.margin(), d, ball.sqrt_c());
            log_map(a.row(), a.margin(), b.row(), distance, curvature, heading, velocity);
            store(velocity, out + i * d);
        }
    });
    return outside.row();
}

template <typename T>
MapReport geodesic_points(Rows<T> x, Rows<T> y, const double* t, std::size_t t_step, std::size_t n,
                          std::size_t d, double curvature, double limit, T* out, int threads) {
    const BallTerms ball(curvature);
    const double sqrt_c = ball.sqrt_c();
    FirstOutside outside;
    return map_rows(n, d, sqrt_c, limit, out, threads, outside, [&] {
        return [&, a = Cursor<T>(x, d), b = Cursor<T>(y, d)](std::size_t i, bool first,
                                                             Vector& point) mutable {
            a.move_inside(i, first, 0, ball, outside);
            b.move_inside(i, first, n, ball, outside);
            const double distance =
                sqrt_c * distance_between(a.row(), a.margin(), b.row(), b.margin(), d, sqrt_c);
            geodesic_point(a.row(), a.margin(), b.row(), b.margin(), t[i * t_step], distance, sqrt_c, point);
        };
    });
}

#define POINCARE_INSTANTIATE(T)                                                                         \
    template MapReport mobius_additions(Rows<T>, Rows<T>, std::size_t, std::size_t, double, double, T*, \
                                        int);                                                           \
    template MapReport exp_maps(Rows<T>, Rows<T>, std::size_t, std::size_t, double, double, T*, int);   \
    template std::ptrdiff_t log_maps(Rows<T>, Rows<T>, std::size_t, std::size_t, double, T*, int);      \
    template MapReport geodesic_points(Rows<T>, Rows<T>, const double*, std::size_t, std::size_t,       \
                                       std::size_t, double, double, T*, int);
POINCARE_INSTANTIATE(float)
POINCARE_INSTANTIATE(double)

}  // namespace poincare
