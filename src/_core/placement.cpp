#include "placement.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "embeddings.hpp"
#include "interrupt.hpp"
#include "numerics.hpp"
#include "polar.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = 1 << 16;          // numbers a thread should have to work on
constexpr std::size_t kUninterrupted = 1 << 18;  // and between two looks for Ctrl-C

constexpr std::uint8_t kPlaced = 0, kLearnt = 1, kBelowLearnt = 2;  // values of `learnt`

// ln sinh x for x >= 0, at any size
double log_sinh(double x) {
    return x + std::log(-std::expm1(-2 * x)) - kLn4 / 2;
}

// Makes a vector one of length 1; false where it has no direction. Squares of what is very long or very short
// leave float64, so such a vector is first divided by its largest component.
bool normalise(double* x, std::size_t dim) {
    double squared = dot(x, x, dim);
    if (!(squared > kSafeSquareLow && squared < kSafeSquareHigh)) {
        double largest = 0;
        for (std::size_t i = 0; i < dim; ++i) largest = std::max(largest, std::fabs(x[i]));
        if (largest == 0) return false;
        for (std::size_t i = 0; i < dim; ++i) x[i] /= largest;
        squared = dot(x, x, dim);
    }
    const double inverse = 1 / std::sqrt(squared);
    for (std::size_t i = 0; i < dim; ++i) x[i] *= inverse;
    return true;
}

double squared_sum(const double* x, const double* y, std::size_t dim) {
    double sum = 0;
    for (std::size_t i = 0; i < dim; ++i) {
        const double s = x[i] + y[i];
        sum += s * s;
    }
    return sum;
}

// A unit vector at right angles to u: the axis that u avoids most, straightened. None in one dimension.
bool perpendicular(const double* u, std::size_t dim, double* out) {
    if (dim < 2) return false;
    std::size_t axis = 0;
    for (std::size_t i = 1; i < dim; ++i)
        if (std::fabs(u[i]) < std::fabs(u[axis])) axis = i;
    for (std::size_t i = 0; i < dim; ++i) out[i] = -u[axis] * u[i];
    out[axis] += 1;
    return normalise(out, dim);
}

// out = a·x + b·y; out may be x or y.
void combine(double a, const double* x, double b, const double* y, double* out, std::size_t dim) {
    for (std::size_t i = 0; i < dim; ++i) out[i] = a * x[i] + b * y[i];
}

// Places children of one level below another; keeps what their radii share.
class Placer {
  public:
    // `spare` is room for dim numbers.
    Placer(const PlacementRule& rule, std::size_t dim, double* spare)
        : rule_(rule), dim_(dim), spare_(spare) {}

    // Final direction of a child at `radius` whose own direction is scale·x (of length 1), below a parent in
    // the direction u. `direction` may be x.
    void bend(const double* u, double parent_radius, double radius, const double* x, double scale,
              double* direction) {
        set_radii(rule_.sqrt_c * parent_radius, rule_.sqrt_c * radius);
        mix(u, x, scale, direction);
        if (rule_.cone_constrained) pull_into_cone(u, direction);
    }

  private:
    void set_radii(double R, double S) {
        if (R == R_ && S == S_) return;
        R_ = R;
        S_ = S;
        log_sinh_R_ = log_sinh(R);
        log_sinh_S_ = log_sinh(S);
    }

    void mix(const double* u, const double* x, double scale, double* out) {
        const double cosine = dot(u, x, dim_) * scale;
        // Far from u, 1 − cos keeps all its digits; near u the chord must be a sum of squares.
        const bool near = cosine > kNearlyParallel;
        if (near || rule_.inherit == 0) combine(scale, x, 0, x, out, dim_);
        if (rule_.inherit == 0) return;
        const double* e = near ? out : x;
        const double e_scale = near ? 1 : scale;
        const double gap = near ? squared_gap(u, out, dim_) : 2 - 2 * cosine;
        const double D = polar_distance(R_, S_, gap);
        const double towards_parent = log_sinh(rule_.inherit * D) + log_sinh_R_;
        const double towards_own = log_sinh((1 - rule_.inherit) * D) + log_sinh_S_;
        const double larger = std::max(towards_parent, towards_own);
        if (!std::isfinite(larger)) {  // D = 0: parent and raw point are one
            combine(e_scale, e, 0, e, out, dim_);
            return;
        }
        const double a = std::exp(towards_parent - larger);
        const double b = std::exp(towards_own - larger);
        // |a·u + b·e|² without a pass over the sum; |u|² is measured, so that no rounding grows down a chain.
        const double squared = a * a * dot(u, u, dim_) + b * b + 2 * a * b * (near ? 1 - gap / 2 : cosine);
        if (squared > kSafelyLong) {
            const double inverse = 1 / std::sqrt(squared);
            combine(a * inverse, u, b * inverse * e_scale, e, out, dim_);
            return;
        }
        combine(a, u, b * e_scale, e, spare_, dim_);
        // Opposite directions can cancel: then the geodesic passes through the origin just there, any
        // direction is right, and the child keeps its own.
        const bool cancelled = dot(spare_, spare_, dim_) < kCancelledSquare;
        if (cancelled) combine(e_scale, e, 0, e, spare_, dim_);
        normalise(spare_, dim_);
        std::copy(spare_, spare_ + dim_, out);
    }

    // Rotates e towards u, as far as the parent's entailment cone (Ganea et al. 2018) asks. On the cone's
    // wall, at depth S, the angle from the axis is
    //   θmax = 2·atan[cosh((S−R)/2) / cosh((S+R)/2) · tan((ψ−Y)/2)],   sin Y = sin ψ · sinh R / sinh S
    // (Napier's analogies in the triangle of origin, apex and wall).
    void pull_into_cone(const double* u, double* e) {
        const double R = R_;
        const double S = S_;
        const double psi = ConeApex::half_aperture(R, rule_.cone_k);
        if (psi == kPi) return;
        const double Y = std::asin(std::min(1.0, std::sin(psi) * std::exp(log_sinh_R_ - log_sinh_S_)));
        // cosh(x)/cosh(y) = e^(x−y)·(1+e^−2x)/(1+e^−2y) with x − y = −R
        const double ratio = std::exp(-R) * (1 + std::exp(R - S)) / (1 + std::exp(-R - S));
        // θmax shrinks as e^−2R: from R ≈ 18 on, the parent's own direction is the only one in float64 that
        // fits.
        const double widest =
            2 * std::atan(ratio * std::tan((psi - Y) / 2)) * (1 - kConeMargin) - kDirectionNoise;
        const double gap = squared_gap(u, e, dim_);
        const double angle = 2 * std::atan2(std::sqrt(gap), std::sqrt(squared_sum(u, e, dim_)));
        if (angle <= widest) return;
        if (widest <= 0) {
            std::copy(u, u + dim_, e);
            return;
        }
        // The part of e at right angles to u; e − u is exact where the two are near.
        for (std::size_t i = 0; i < dim_; ++i) spare_[i] = (e[i] - u[i]) + gap / 2 * u[i];
        const bool sideways = dot(spare_, spare_, dim_) > kCancelledSquare
                                  ? normalise(spare_, dim_)
                                  : angle > 1 && perpendicular(u, dim_, spare_);
        if (!sideways) {
            std::copy(u, u + dim_, e);
            return;
        }
        const double cosine = std::cos(widest);
        const double sine = std::sin(widest);
        combine(cosine, u, sine, spare_, e, dim_);
        normalise(e, dim_);
    }

    PlacementRule rule_;
    std::size_t dim_;
    double* spare_;
    double R_ = -1;
    double S_ = -1;
    double log_sinh_R_ = 0;
    double log_sinh_S_ = 0;
};

// A row as float64: itself, or a copy.
const double* widened(const double* row, std::size_t, double*) {
    return row;
}
const double* widened(const float* row, std::size_t dim, double* copy) {
    std::copy(row, row + dim, copy);
    return copy;
}

template <typename T>
std::int32_t level_below(const PlacementColumns<T>& columns, std::int32_t row) {
    const std::int32_t parent = columns.parent[row];
    return parent < 0 ? 0 : columns.level[parent] + 1;
}

// Of a row that was not learnt, whose mark it sets.
template <typename T>
double radius_below(const PlacementColumns<T>& columns, std::size_t row, std::int32_t parent,
                    const PlacementRule& rule) {
    const bool below = columns.learnt != nullptr && parent >= 0 && columns.learnt[parent] != kPlaced;
    if (columns.learnt != nullptr) columns.learnt[row] = below ? kBelowLearnt : kPlaced;
    return below ? columns.radius[parent] + rule.depth_step
                 : rule.base_depth + columns.level[row] * rule.depth_step;
}

template <typename T>
void place_row(const PlacementColumns<T>& columns, std::size_t row, const T* embedding,
               const PlacementRule& rule, Placer& placer) {
    const std::size_t dim = columns.dim;
    double* direction = columns.direction + row * dim;
    const bool learnt = columns.learnt != nullptr && columns.learnt[row] == kLearnt;
    if (learnt && columns.radius[row] > 0) return;
    const std::int32_t parent = columns.parent[row];
    const double radius = learnt ? 0 : radius_below(columns, row, parent, rule);
    columns.radius[row] = radius;
    columns.directed[row] = 1;

    const double* x = widened(embedding, dim, direction);
    double squared = dot(x, x, dim);
    if (!(squared > kSafeSquareLow && squared < kSafeSquareHigh)) {
        std::copy(x, x + dim, direction);
        if (!normalise(direction, dim)) {
            columns.directed[row] = 0;
            std::fill(direction, direction + dim, 0.0);
            return;
        }
        x = direction;
        squared = 1;
    }
    const double scale = 1 / std::sqrt(squared);
    if (parent >= 0 && columns.directed[parent] && !learnt) {
        const std::size_t above = static_cast<std::size_t>(parent);
        placer.bend(columns.direction + above * dim, columns.radius[above], radius, x, scale, direction);
    } else {
        combine(scale, x, 0, x, direction, dim);
    }
}

// Folds embeddings of rows that are in place, while they are in the processor's cache; `spare` is room for
// dim numbers.
template <typename T>
class Folder {
  public:
    Folder(const PlacementColumns<T>& columns, double* spare)
        : mixture_{columns.direction, columns.parent, columns.own, columns.above, columns.dim},
          kept_(columns.kept),
          spare_(spare) {}

    void fold(std::size_t at, std::size_t row, const T* embedding) {
        if constexpr (std::is_same_v<T, float>)
            if (kept_) kept_[at] = !fold_embedding(mixture_, row, embedding, spare_);
    }

  private:
    MixtureColumns mixture_;
    std::uint8_t* kept_;
    double* spare_;
};

}  // namespace

template <typename T>
void place_rows(const PlacementColumns<T>& columns, const std::int32_t* rows, std::size_t n,
                const PlacementRule& rule, int threads) {
    if (n == 0) return;
    std::int32_t shallowest = INT32_MAX;
    std::int32_t deepest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t level = level_below(columns, rows[i]);
        columns.level[rows[i]] = level;
        shallowest = std::min(shallowest, level);
        deepest = std::max(deepest, level);
    }
    // Rows of one level do not depend on each other: sorted by level, each level is a range for the threads.
    std::vector<std::size_t> ends(static_cast<std::size_t>(deepest - shallowest) + 1);
    for (std::size_t i = 0; i < n; ++i) ++ends[static_cast<std::size_t>(columns.level[rows[i]] - shallowest)];
    std::size_t total = 0;
    for (std::size_t& end : ends) {
        const std::size_t count = end;
        end = total;
        total += count;
    }
    std::vector<std::size_t> by_level(n);  // positions in `rows`
    for (std::size_t i = 0; i < n; ++i)
        by_level[ends[static_cast<std::size_t>(columns.level[rows[i]] - shallowest)]++] = i;

    InterruptPoll poll;
    const std::size_t block = kUninterrupted / columns.dim + 1;
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
        const std::size_t wide = end - begin;
        parallel_ranges(wide, threads_for(threads, wide * columns.dim, kGrain),
                        [&](std::size_t first, std::size_t last) {
                            std::vector<double> spare(columns.dim);
                            Placer placer(rule, columns.dim, spare.data());
                            Folder<T> folder(columns, spare.data());
                            for (std::size_t i = first; i < last; ++i) {
                                if ((i - first) % block == 0) poll();
                                const std::size_t at = by_level[begin + i];
                                const std::size_t row = static_cast<std::size_t>(rows[at]);
                                const T* embedding = columns.embedding + at * columns.dim;
                                place_row(columns, row, embedding, rule, placer);
                                folder.fold(at, row, embedding);
                            }
                        });
        begin = end;
    }
}

template <typename T>
void place_row_alone(const PlacementColumns<T>& columns, std::int32_t row, const PlacementRule& rule,
                     double* spare) {
    columns.level[row] = level_below(columns, row);
    Placer placer(rule, columns.dim, spare);
    place_row(columns, static_cast<std::size_t>(row), columns.embedding, rule, placer);
    Folder<T>(columns, spare).fold(0, static_cast<std::size_t>(row), columns.embedding);
}

template void place_row_alone(const PlacementColumns<float>&, std::int32_t, const PlacementRule&, double*);
template void place_row_alone(const PlacementColumns<double>&, std::int32_t, const PlacementRule&, double*);

template void place_rows(const PlacementColumns<float>&, const std::int32_t*, std::size_t,
                         const PlacementRule&, int);
template void place_rows(const PlacementColumns<double>&, const std::int32_t*, std::size_t,
                         const PlacementRule&, int);

void points_of_rows(const double* direction, const double* radius, const std::int32_t* rows, std::size_t n,
                    std::size_t dim, double sqrt_c, double* out, int threads) {
    interruptible_rows(
        n, threads_for(threads, n * dim, kGrain), dim, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                const std::size_t row = static_cast<std::size_t>(rows[i]);
                const double norm = std::min(std::tanh(sqrt_c * radius[row] / 2), kLargestPointNorm) / sqrt_c;
                const double* u = direction + row * dim;
                for (std::size_t j = 0; j < dim; ++j) out[i * dim + j] = norm * u[j];
            }
        });
}

}  // namespace poincare
