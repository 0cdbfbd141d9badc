#include "cones.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "arctangent.hpp"
#include "ball.hpp"
#include "cpu.hpp"
#include "interrupt.hpp"
#include "numerics.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;
constexpr std::size_t kBlock = 32;  // pairs that are turned into angles together

// |u − v|² and |u + v|² of unit vectors.
struct Chords {
    double gap, sum;
};

// The shorter of the two is summed term by term, the longer follows from |u−v|² + |u+v|² = 4.
Chords summed_chords(const double* u, const double* v, std::size_t d) {
    const double gap = squared_gap(u, v, d);
    if (gap <= 2) return {gap, 4 - gap};
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) sum += (u[i] + v[i]) * (u[i] + v[i]);
    return {4 - sum, sum};
}

// The point at the apex of a cone: its direction is taken once, where many points are looked at.
class Apex {
  public:
    explicit Apex(std::size_t d) : wide_(d), direction_(d) {}

    template <typename T>
    void read(const T* x, const BallTerms& terms, std::size_t number, FirstOutside& outside) {
        const double* const row = wide_(x);
        terms_ = terms.of(row, direction_.size());
        if (terms_.margin <= 0) outside.note(number);
        scale_to_length(row, direction_.size(), 1.0, direction_.data());
    }
    const double* direction() const { return direction_.data(); }
    const RowTerms& terms() const { return terms_; }

  private:
    WideRow wide_;
    std::vector<double> direction_;
    RowTerms terms_{0, 1};
};

struct BlockOfRows {
    double norm[kBlock], margin[kBlock], half_aperture[kBlock];
};

struct BlockOfPairs {
    BlockOfRows apex;
    double norm[kBlock], margin[kBlock];  // of the points
    double gap[kBlock], sum[kBlock];      // chords
    double angle[kBlock];
};

// Ξ, as cones.hpp has it
POINCARE_INLINE double angle_of(double n, double g, double m, double h, double gap, double sum) {
    const double both = n + m;
    const double by_margins = (g - h) / (both > 0 ? both : 1.0);
    const bool next_to_boundary = (g < kNextToBoundary) & (h < kNextToBoundary);
    const double outward = next_to_boundary ? by_margins : m - n;
    const double one_less_product = g / (1 + n) + n * (h / (1 + m));  // 1 − n·m
    const double angle = atan2_nonnegative(m * g * std::sqrt(gap * sum) / 2,
                                           outward * one_less_product - m * (1 + n * n) * gap / 2);
    return both == 0 ? 0.0 : angle;
}

// ψ = arcsin(K·g/n); π in the central region n < K.
POINCARE_INLINE double half_aperture_of(double norm, double margin, double K) {
    const double aperture = asin_nonnegative(K * margin / (norm > 0 ? norm : 1.0));
    return norm < K ? kPi : aperture + (norm - norm);
}

struct Level {
    void (*angles)(BlockOfPairs&);
    void (*half_apertures)(BlockOfRows&, double K);
};

#define POINCARE_CONES_LEVEL(TAG, ATTRIBUTE)                                                   \
    ATTRIBUTE void angles_##TAG(BlockOfPairs& block) {                                         \
        for (std::size_t j = 0; j < kBlock; ++j)                                               \
            block.angle[j] = angle_of(block.apex.norm[j], block.apex.margin[j], block.norm[j], \
                                      block.margin[j], block.gap[j], block.sum[j]);            \
    }                                                                                          \
    ATTRIBUTE void apertures_##TAG(BlockOfRows& block, double K) {                             \
        for (std::size_t j = 0; j < kBlock; ++j)                                               \
            block.half_aperture[j] = half_aperture_of(block.norm[j], block.margin[j], K);      \
    }                                                                                          \
    constexpr Level level_##TAG = {angles_##TAG, apertures_##TAG};

POINCARE_CONES_LEVEL(baseline, )
#ifdef POINCARE_WIDE_LEVELS
POINCARE_CONES_LEVEL(avx2, POINCARE_AVX2)
POINCARE_CONES_LEVEL(avx512, POINCARE_AVX512)
#endif

const Level& level_in_force() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return level_avx512;
    if (simd_level() == SimdLevel::avx2) return level_avx2;
#endif
    return level_baseline;
}

}  // namespace

template <typename T>
std::ptrdiff_t half_apertures(const T* x, std::size_t n, std::size_t d, double curvature, double K,
                              double* out, int threads) {
    const BallTerms terms(curvature);
    const Level& level = level_in_force();
    FirstOutside outside;
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        WideRow wide(d);
        BlockOfRows block{};
        for (std::size_t start = begin; start < end; start += kBlock) {
            const std::size_t size = std::min(kBlock, end - start);
            for (std::size_t j = 0; j < size; ++j) {
                const RowTerms row = terms.of(wide(x + (start + j) * d), d);
                if (row.margin <= 0) outside.note(start + j);
                block.norm[j] = row.norm;
                block.margin[j] = row.margin;
            }
            level.half_apertures(block, K);
            std::copy_n(block.half_aperture, size, out + start);
        }
    });
    return outside.row();
}

namespace {

// Rows of the two sides: x[i·x_step] beside y[i·y_step].
template <typename T>
struct Pairs {
    const T* x;
    std::size_t x_step;
    const T* y;
    std::size_t y_step;
    std::size_t n, d;
};

// A thread's blocks of pairs, from rows to angles.
template <typename T>
class PairReader {
  public:
    PairReader(const Pairs<T>& pairs, double curvature, double K, FirstOutside& outside)
        : pairs_(pairs),
          terms_(curvature),
          K_(K),
          outside_(outside),
          level_(level_in_force()),
          apex_(pairs.d),
          wide_(pairs.d),
          direction_(pairs.d) {}

    const BlockOfPairs& read(std::size_t start, std::size_t size) {
        const bool one_apex = pairs_.x_step == 0;
        double dots[kBlock], squares[kBlock];
        if (one_apex && !apex_is_read_) read_apex(start);
        if (one_apex && pairs_.y_step != 0)
            dots_and_squares(apex_.direction(), point(start), size, pairs_.d, dots, squares);
        for (std::size_t j = 0; j < size; ++j) {
            if (!one_apex) read_apex(start + j);
            if (!one_apex || pairs_.y_step == 0)
                dots_and_squares(apex_.direction(), point(start + j), 1, pairs_.d, dots + j, squares + j);
            set(j, start + j, dots[j], squares[j]);
        }
        if (!one_apex || !aperture_is_known_) level_.half_apertures(block_.apex, K_);
        aperture_is_known_ = size == kBlock;
        level_.angles(block_);
        return block_;
    }

  private:
    const T* point(std::size_t i) const { return pairs_.y + i * pairs_.y_step * pairs_.d; }

    void read_apex(std::size_t i) {
        const std::size_t row = i * pairs_.x_step;
        apex_.read(pairs_.x + row * pairs_.d, terms_, row, outside_);
        apex_is_read_ = true;
    }

    void set(std::size_t j, std::size_t i, double dot, double square) {
        const RowTerms terms = terms_.of(point(i), pairs_.d, square, wide_);
        if (terms.margin <= 0) outside_.note(pairs_.n + i * pairs_.y_step);
        block_.apex.norm[j] = apex_.terms().norm;
        block_.apex.margin[j] = apex_.terms().margin;
        block_.norm[j] = terms.norm;
        block_.margin[j] = terms.margin;
        const Chords chords = chords_of(point(i), dot, terms.norm / terms_.sqrt_c());
        block_.gap[j] = chords.gap;
        block_.sum[j] = chords.sum;
    }

    // Far from 0 and π both follow from the cosine.
    Chords chords_of(const T* point, double dot, double length) {
        const double cosine = dot / length;
        if (length > kSmallestLength && std::fabs(cosine) < kPlainCosine)
            return {2 - 2 * cosine, 2 + 2 * cosine};
        scale_to_length(wide_(point), pairs_.d, 1.0, direction_.data());
        return summed_chords(apex_.direction(), direction_.data(), pairs_.d);
    }

    const Pairs<T>& pairs_;
    const BallTerms terms_;
    const double K_;
    FirstOutside& outside_;
    const Level& level_;
    Apex apex_;
    bool apex_is_read_ = false, aperture_is_known_ = false;
    WideRow wide_;
    std::vector<double> direction_;
    BlockOfPairs block_{};
};

// out[i] = measure(Ξ of the pair, ψ of the apex)
template <typename T, typename Measure>
std::ptrdiff_t measure_pairs(const Pairs<T>& pairs, double curvature, double K, double* out, int threads,
                             Measure&& measure) {
    FirstOutside outside;
    const std::size_t n = pairs.n, d = pairs.d;
    interruptible_rows(n, threads_for(threads, n * d, kGrain), d, [&](std::size_t begin, std::size_t end) {
        PairReader<T> reader(pairs, curvature, K, outside);
        for (std::size_t start = begin; start < end; start += kBlock) {
            const std::size_t size = std::min(kBlock, end - start);
            const BlockOfPairs& block = reader.read(start, size);
            for (std::size_t j = 0; j < size; ++j)
                out[start + j] = measure(block.angle[j], block.apex.half_aperture[j]);
        }
    });
    return outside.row();
}

}  // namespace

template <typename T>
std::ptrdiff_t cone_angles(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                           std::size_t d, double curvature, double* out, int threads) {
    const Pairs<T> pairs{x, x_step, y, y_step, n, d};
    return measure_pairs(pairs, curvature, kDefaultConeK, out, threads,
                         [](double angle, double) { return angle; });
}

template <typename T>
std::ptrdiff_t cone_energies(const T* x, std::size_t x_step, const T* y, std::size_t y_step, std::size_t n,
                             std::size_t d, double curvature, double K, double* out, int threads) {
    const Pairs<T> pairs{x, x_step, y, y_step, n, d};
    return measure_pairs(pairs, curvature, K, out, threads, [](double angle, double half_aperture) {
        const double excess = angle - half_aperture;
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
