#include "training.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu.hpp"
#include "lanes.hpp"
#include "numerics.hpp"
#include "sampling.hpp"

namespace poincare {
namespace {

constexpr std::size_t kAhead = 3;  // pairs whose rows are on their way while one is computed
constexpr std::size_t kRing = kAhead + 1;
constexpr std::size_t kCacheLine = 64;

// Scratch of one epoch, an entry for the related node and each negative.
template <typename Real, std::size_t N>
struct Scratch {
    explicit Scratch(std::size_t others)
        : squares(others * N),
          row(others),
          squared_gap(others),
          attraction(others),
          boundary_gap(others),
          pull_node(others),
          pull_other(others),
          shrink_node(others),
          shrink_other(others) {}
    std::vector<Real> squares;  // one vector of partial sums each
    std::vector<Real*> row;
    std::vector<Real> squared_gap;
    std::vector<Real> attraction;    // exp(−d), up to a common factor
    std::vector<Real> boundary_gap;  // 1 − |x|²
    // The step of node u is Σ pull_node·(u − x) + shrink_node·u, that of x is pull_other·(x − u) +
    // shrink_other·x.
    std::vector<Real> pull_node, pull_other, shrink_node, shrink_other;
};

// A running Σ log(ratio) with a logarithm only once in a while.
class LogSum {
  public:
    POINCARE_INLINE void add(double linear, double ratio) {
        sum_ += linear;
        product_ *= ratio;
        if (product_ > kLargestProduct) settle();
    }
    double total() {
        settle();
        return sum_;
    }

  private:
    void settle() {
        sum_ += std::log(product_);
        product_ = 1;
    }
    double sum_ = 0, product_ = 1;
};

template <typename Real>
POINCARE_INLINE Real sum_in_order(const Real* x, std::size_t n) {
    Real even = 0, odd = 0;
    std::size_t k = 0;
    for (; k + 2 <= n; k += 2) {
        even += x[k];
        odd += x[k + 1];
    }
    return k < n ? (even + x[k]) + odd : even + odd;
}

// The ball of curvature 1. With δ = 2|u−x|²/(ab), a = 1−|u|², b = 1−|x|² and s = sinh d = √(δ(δ+2)):
// exp(−d) = 1/(1+δ+s), so no transcendental function is needed; the Riemannian gradient of d at u is
// (1/(bs))·[a(u−x) + |u−x|²·u] (the factor a²/4 of the inverse metric cancels the 4/a² of the gradient).
template <typename Real>
struct Ball {
    Real* boundary_gap;

    POINCARE_INLINE void fetch(std::int32_t node) const { prefetch(boundary_gap + node); }

    template <std::size_t N>
    POINCARE_INLINE void gather(const Sample& sample, Scratch<Real, N>& w) const {
        for (std::size_t k = 0; k < sample.others; ++k) w.boundary_gap[k] = boundary_gap[sample.other[k]];
    }

    template <std::size_t N>
    POINCARE_INLINE void steps(const Sample& sample, Scratch<Real, N>& w, Real rate, LogSum& loss) const {
        const std::size_t n = sample.others;
        const Real a = boundary_gap[sample.node];
        Real* const e = w.attraction.data();
        Real* const inverse_sinh = w.pull_node.data();
        const Real* const g = w.squared_gap.data();
        const Real* const b = w.boundary_gap.data();
        for (std::size_t k = 0; k < n; ++k) {
            const Real delta = 2 * g[k] / (a * b[k]);
            const Real s = std::sqrt(delta * (delta + 2));
            e[k] = 1 / (1 + delta + s);
            inverse_sinh[k] = s > 0 ? 1 / s : Real{0};
        }
        const Real all = sum_in_order(e, n);
        loss.add(0, static_cast<double>(all) / static_cast<double>(e[0]));
        const Real per_all = 1 / all;
        const Real inverse_a = 1 / a;
        Real* const pull_node = w.pull_node.data();
        Real* const pull_other = w.pull_other.data();
        Real* const shrink_node = w.shrink_node.data();
        Real* const shrink_other = w.shrink_other.data();
        for (std::size_t k = 0; k < n; ++k) {
            const Real slope = rate * ((k == 0 ? Real{1} : Real{0}) - e[k] * per_all) * inverse_sinh[k];
            const Real at_node = slope / b[k];
            const Real at_other = slope * inverse_a;
            pull_node[k] = at_node * a;
            shrink_node[k] = at_node * g[k];
            pull_other[k] = at_other * b[k];
            shrink_other[k] = at_other * g[k];
        }
    }

    // Keeps a row inside the margin and notes its distance from the boundary.
    POINCARE_INLINE void settle(std::int32_t node, Real* row, std::size_t stride, Real squared_norm) const {
        constexpr Real limit = static_cast<Real>(1 - kBallEpsFloat64);
        if (squared_norm > limit * limit) squared_norm = project(row, stride, limit);
        boundary_gap[node] = 1 - squared_norm;
    }

    static Real project(Real* row, std::size_t stride, Real limit) {
        const auto norm_of_row = [row, stride] {
            double squares = 0;
            for (std::size_t i = 0; i < stride; ++i)
                squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
            return std::sqrt(squares);
        };
        double norm = norm_of_row();
        if (norm > static_cast<double>(limit)) {
            for (std::size_t i = 0; i < stride; ++i)
                row[i] = static_cast<Real>(static_cast<double>(row[i]) * (static_cast<double>(limit) / norm));
            norm = norm_of_row();
        }
        return static_cast<Real>(norm * norm);
    }
};

// exp(x) for x ≤ 0 to 1e-12: plain arithmetic, hence the same bits on every platform.
POINCARE_INLINE double exp_of_negative(double x) {
    constexpr double kLog2E = 1.4426950408889634, kLn2High = 0.693147180369123816490,
                     kLn2Low = 1.90821492927058770002e-10, kSmallest = -700;
    x = std::max(x, kSmallest);
    const std::int32_t n = static_cast<std::int32_t>(x * kLog2E - 0.5);
    const double r = (x - n * kLn2High) - n * kLn2Low;
    double p = 1.0 / 3628800;
    constexpr double kTaylor[10] = {1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                    1.0 / 24,     1.0 / 6,     1.0 / 2,    1.0,       1.0};
    for (const double c : kTaylor) p = p * r + c;
    const std::uint64_t bits = static_cast<std::uint64_t>(n + 1023) << 52;
    double scale;
    std::memcpy(&scale, &bits, sizeof(scale));
    return p * scale;
}

template <typename Real>
struct Euclidean {
    POINCARE_INLINE void fetch(std::int32_t) const {}

    template <std::size_t N>
    POINCARE_INLINE void gather(const Sample&, Scratch<Real, N>&) const {}

    template <std::size_t N>
    POINCARE_INLINE void steps(const Sample& sample, Scratch<Real, N>& w, Real rate, LogSum& loss) const {
        const std::size_t n = sample.others;
        Real* const e = w.attraction.data();
        Real* const distance = w.pull_other.data();
        for (std::size_t k = 0; k < n; ++k) distance[k] = std::sqrt(w.squared_gap[k]);
        const double nearest = static_cast<double>(*std::min_element(distance, distance + n));
        for (std::size_t k = 0; k < n; ++k)
            e[k] = static_cast<Real>(exp_of_negative(nearest - static_cast<double>(distance[k])));
        const Real all = sum_in_order(e, n);
        loss.add(static_cast<double>(distance[0]) - nearest, static_cast<double>(all));
        const Real per_all = 1 / all;
        for (std::size_t k = 0; k < n; ++k) {
            const Real slope = rate * ((k == 0 ? Real{1} : Real{0}) - e[k] * per_all);
            const Real pull = distance[k] > 0 ? slope / distance[k] : Real{0};
            w.pull_node[k] = w.pull_other[k] = pull;
            w.shrink_node[k] = w.shrink_other[k] = 0;
        }
    }

    POINCARE_INLINE void settle(std::int32_t, Real*, std::size_t, Real) const {}
};

template <typename Real, std::size_t N>
POINCARE_INLINE void squared_gaps(const Real* u, std::size_t stride, std::size_t n, Scratch<Real, N>& w) {
    using Vector = Lanes<Real, N>;
    for (std::size_t c = 0; c < stride; c += N) {
        Vector node;
        load(node, u + c);
        for (std::size_t k = 0; k < n; ++k) {
            Vector x;
            load(x, w.row[k] + c);
            const Vector gap = node - x;
            Vector squares = gap * gap;
            if (c > 0) {
                load(x, &w.squares[k * N]);
                squares = x + squares;
            }
            store(&w.squares[k * N], squares);
        }
    }
    for (std::size_t k = 0; k < n; ++k) {
        Vector squares;
        load(squares, &w.squares[k * N]);
        w.squared_gap[k] = sum_lanes<Real, N>(squares);
    }
}

// Moves all rows of the sample; w.squares receives their squared norms. A negative drawn twice takes both
// steps, one after the other. Returns the squared norm of u.
template <typename Real, std::size_t N>
POINCARE_INLINE Real move_rows(Real* u, std::size_t stride, std::size_t n, Scratch<Real, N>& w) {
    using Vector = Lanes<Real, N>;
    Real shrink = sum_in_order(w.shrink_node.data(), n);
    Vector node_squares{};
    for (std::size_t c = 0; c < stride; c += N) {
        Vector node, step;
        load(node, u + c);
        step = node * shrink;
        for (std::size_t k = 0; k < n; ++k) {
            Vector x, squares;
            load(x, w.row[k] + c);
            const Vector gap = node - x;
            step = step + gap * w.pull_node[k];
            x = (x - x * w.shrink_other[k]) + gap * w.pull_other[k];
            store(w.row[k] + c, x);
            squares = x * x;
            if (c > 0) {
                load(x, &w.squares[k * N]);
                squares = x + squares;
            }
            store(&w.squares[k * N], squares);
        }
        node = node - step;
        store(u + c, node);
        node_squares = node_squares + node * node;
    }
    return sum_lanes<Real, N>(node_squares);
}

template <typename Real, std::size_t N, typename Geometry>
POINCARE_INLINE void learn(const Sample& sample, Real* points, std::size_t stride, Real rate,
                           const Geometry& geometry, Scratch<Real, N>& w, LogSum& loss) {
    const std::size_t n = sample.others;
    Real* const u = points + static_cast<std::size_t>(sample.node) * stride;
    for (std::size_t k = 0; k < n; ++k)
        w.row[k] = points + static_cast<std::size_t>(sample.other[k]) * stride;
    geometry.gather(sample, w);
    squared_gaps<Real, N>(u, stride, n, w);
    geometry.steps(sample, w, rate, loss);
    const Real node_norm = move_rows<Real, N>(u, stride, n, w);
    geometry.settle(sample.node, u, stride, node_norm);
    for (std::size_t k = 0; k < n; ++k) {
        Lanes<Real, N> squares;
        load(squares, &w.squares[k * N]);
        geometry.settle(sample.other[k], w.row[k], stride, sum_lanes<Real, N>(squares));
    }
}

template <typename Real, typename Geometry>
struct Epoch {
    Real* points;
    std::size_t nodes, stride;
    const TrainingPairs& pairs;
    const ExcludedNodes& excluded;
    std::size_t negatives;
    Real rate;
    RandomState& random;
    Geometry geometry;

    template <std::size_t N>
    POINCARE_INLINE double run() const {
        shuffle(pairs, random);
        Scratch<Real, N> scratch(1 + negatives);
        LogSum loss;
        Sample ring[kRing];
        for (Sample& sample : ring) sample.other.resize(1 + negatives);
        for (std::size_t i = 0; i < pairs.count + kAhead; ++i) {
            fetch_excluded(i);
            if (i < pairs.count) announce(ring[i % kRing], i);
            if (i >= kAhead)
                learn<Real, N>(ring[(i - kAhead) % kRing], points, stride, rate, geometry, scratch, loss);
        }
        return loss.total();
    }

    // The list of a pair to come, in two steps, since where it lies has to be fetched first.
    POINCARE_INLINE void fetch_excluded(std::size_t i) const {
        if (excluded.start == nullptr) return;
        if (i + 2 * kAhead < pairs.count) prefetch(excluded.start + pairs.source[i + 2 * kAhead]);
        if (i + kAhead < pairs.count) prefetch(excluded.shifted + excluded.start[pairs.source[i + kAhead]]);
    }

    POINCARE_INLINE void announce(Sample& sample, std::size_t i) const {
        draw_sample(sample, pairs.source[i], pairs.target[i], nodes, excluded, negatives, random);
        prefetch_row(sample.node);
        for (std::size_t k = 0; k < sample.others; ++k) prefetch_row(sample.other[k]);
    }

    POINCARE_INLINE void prefetch_row(std::int32_t node) const {
        const Real* const row = points + static_cast<std::size_t>(node) * stride;
        for (std::size_t c = 0; c < stride; c += kCacheLine / sizeof(Real)) prefetch(row + c);
        geometry.fetch(node);
    }
};

template <typename Real>
constexpr std::size_t kLanes = 32 / sizeof(Real);

#define POINCARE_EPOCH(TAG, ATTRIBUTE)                               \
    template <typename Real, typename Geometry>                      \
    ATTRIBUTE double run_##TAG(const Epoch<Real, Geometry>& epoch) { \
        return epoch.template run<kLanes<Real>>();                   \
    }
POINCARE_EPOCH(baseline, )
#ifdef POINCARE_WIDE_LEVELS
POINCARE_EPOCH(avx2, POINCARE_AVX2)
#endif

template <typename Real, typename Geometry>
double run(const Epoch<Real, Geometry>& epoch) {
#ifdef POINCARE_WIDE_LEVELS
    // Rows are short: 512-bit code was measured to be no faster in float32 and slower in float64.
    if (simd_level() != SimdLevel::baseline) return run_avx2(epoch);
#endif
    return run_baseline(epoch);
}

}  // namespace

template <typename Real>
std::size_t training_stride(std::size_t dim) {
    return (dim + kLanes<Real> - 1) / kLanes<Real> * kLanes<Real>;
}

template <typename Real>
double poincare_epoch(Real* points, Real* boundary_gap, std::size_t nodes, std::size_t stride,
                      const TrainingPairs& pairs, const ExcludedNodes& excluded, std::size_t negatives,
                      double learning_rate, RandomState& random) {
    const Real rate = static_cast<Real>(learning_rate);
    return run(Epoch<Real, Ball<Real>>{points, nodes, stride, pairs, excluded, negatives, rate, random,
                                       Ball<Real>{boundary_gap}});
}

template <typename Real>
double euclidean_epoch(Real* points, std::size_t nodes, std::size_t stride, const TrainingPairs& pairs,
                       const ExcludedNodes& excluded, std::size_t negatives, double learning_rate,
                       RandomState& random) {
    const Real rate = static_cast<Real>(learning_rate);
    return run(Epoch<Real, Euclidean<Real>>{points, nodes, stride, pairs, excluded, negatives, rate, random,
                                            Euclidean<Real>{}});
}

#define POINCARE_INSTANTIATE(Real)                                                                     \
    template std::size_t training_stride<Real>(std::size_t);                                           \
    template double poincare_epoch<Real>(Real*, Real*, std::size_t, std::size_t, const TrainingPairs&, \
                                         const ExcludedNodes&, std::size_t, double, RandomState&);     \
    template double euclidean_epoch<Real>(Real*, std::size_t, std::size_t, const TrainingPairs&,       \
                                          const ExcludedNodes&, std::size_t, double, RandomState&);
POINCARE_INSTANTIATE(float)
POINCARE_INSTANTIATE(double)

}  // namespace poincare
