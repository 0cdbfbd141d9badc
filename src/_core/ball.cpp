#include "ball.hpp"

#include <algorithm>
#include <cmath>

#include "cpu.hpp"
#include "interrupt.hpp"
#include "margin.hpp"
#include "numerics.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;          // numbers of input worth a thread of their own
constexpr std::size_t kUninterrupted = std::size_t{1} << 24;  // multiplications between two looks for Ctrl-C
constexpr std::size_t kBlock = 32;                            // rows that stay in the first cache

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

// The pairs that are turned into distances together.
struct BlockOfPairs {
    double squared_gap[kBlock];
    double inverse_root_x[kBlock];  // 1/√margin
    double inverse_root_y[kBlock];
    std::size_t unsafe[kBlock];  // pairs whose square left the safe range, with |x−y| itself
    double unsafe_gap[kBlock];
    std::size_t n_unsafe = 0;

    void set(std::size_t j, const double* x, const double* y, std::size_t d, double root_x, double root_y) {
        inverse_root_x[j] = root_x;
        inverse_root_y[j] = root_y;
        squared_gap[j] = poincare::squared_gap(x, y, d);
        if (!safe_square(squared_gap[j])) note_unsafe(j, gap_by_scaling(x, y, d));
    }
    void note_unsafe(std::size_t j, double gap) {
        unsafe[n_unsafe] = j;
        unsafe_gap[n_unsafe++] = gap;
    }
};

#define POINCARE_BALL_LEVEL(TAG, ATTRIBUTE)                                                                 \
    ATTRIBUTE void distances_##TAG(const BlockOfPairs& block, std::size_t n, double sqrt_c,                 \
                                   double inverse_sqrt_c, double* out) {                                    \
        for (std::size_t j = 0; j < n; ++j)                                                                 \
            out[j] =                                                                                        \
                distance_of_gap(std::sqrt(block.squared_gap[j]),                                            \
                                block.inverse_root_x[j] * block.inverse_root_y[j], sqrt_c, inverse_sqrt_c); \
    }

POINCARE_BALL_LEVEL(baseline, )
#ifdef POINCARE_WIDE_LEVELS
POINCARE_BALL_LEVEL(avx2, POINCARE_AVX2)
POINCARE_BALL_LEVEL(avx512, POINCARE_AVX512)
#endif

using Transform = void (*)(const BlockOfPairs&, std::size_t, double, double, double*);

Transform transform_of_level() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return distances_avx512;
    if (simd_level() == SimdLevel::avx2) return distances_avx2;
#endif
    return distances_baseline;
}

class BlockDistances {
  public:
    explicit BlockDistances(double sqrt_c)
        : sqrt_c_(sqrt_c), inverse_sqrt_c_(1.0 / sqrt_c), transform_(transform_of_level()) {}

    void operator()(BlockOfPairs& pairs, std::size_t n, double* out) const {
        transform_(pairs, n, sqrt_c_, inverse_sqrt_c_, out);
        for (std::size_t u = 0; u < pairs.n_unsafe; ++u) {
            const std::size_t j = pairs.unsafe[u];
            out[j] = distance_of_gap(pairs.unsafe_gap[u], pairs.inverse_root_x[j] * pairs.inverse_root_y[j],
                                     sqrt_c_, inverse_sqrt_c_);
        }
        pairs.n_unsafe = 0;
    }

  private:
    double sqrt_c_, inverse_sqrt_c_;
    Transform transform_;
};

// 1/√margin of a row; notes the row where it is not inside the ball.
double inverse_root(const BallTerms& terms, const double* x, std::size_t d, std::size_t row,
                    FirstOutside& outside) {
    const double margin = terms.of(x, d).margin;
    if (margin <= 0) outside.note(row);
    return 1.0 / std::sqrt(margin);
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
    std::fill_n(pairs.inverse_root_x, kBlock, root);
    for (std::size_t start = begin; start < end; start += kBlock) {
        const std::size_t size = std::min(kBlock, end - start);
        gaps_and_squares(x, many + start * d, size, d, pairs.squared_gap, squares);
        for (std::size_t j = 0; j < size; ++j) {
            const T* const row = many + (start + j) * d;
            const double margin = terms.of(row, d, squares[j], wide).margin;
            if (margin <= 0) outside.note(number_of(start + j));
            pairs.inverse_root_y[j] = 1.0 / std::sqrt(margin);
            if (!safe_square(pairs.squared_gap[j])) pairs.note_unsafe(j, gap_by_scaling(x, wide(row), d));
        }
        distances(pairs, size, out + start);
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
        const double *row_x = nullptr, *row_y = nullptr;
        double root_x = 0, root_y = 0;
        BlockOfPairs pairs;
        for (std::size_t start = begin; start < end; start += kBlock) {
            const std::size_t size = std::min(kBlock, end - start);
            for (std::size_t j = 0; j < size; ++j) {
                const std::size_t i = start + j;
                if (x_step != 0 || i == begin) {
                    row_x = wide_x(x + i * x_step * d);
                    root_x = inverse_root(terms, row_x, d, i * x_step, outside);
                }
                if (y_step != 0 || i == begin) {
                    row_y = wide_y(y + i * y_step * d);
                    root_y = inverse_root(terms, row_y, d, n + i * y_step, outside);
                }
                pairs.set(j, row_x, row_y, d, root_x, root_y);
            }
            distances(pairs, size, out + start);
        }
    });
    return outside.row();
}

namespace {

// Rows of one side as float64 with their roots, kBlock at a time.
template <typename T>
class Side {
  public:
    Side(const T* rows, std::size_t n, std::size_t d) : rows_(rows), n_(n), d_(d), roots_(n) {}

    void find_roots(const BallTerms& terms, std::size_t first_number, FirstOutside& outside, int threads) {
        interruptible_rows(
            n_, threads_for(threads, n_ * d_, kGrain), d_, [&](std::size_t begin, std::size_t end) {
                WideRow wide(d_);
                for (std::size_t i = begin; i < end; ++i)
                    roots_[i] = inverse_root(terms, wide(rows_ + i * d_), d_, first_number + i, outside);
            });
    }
    std::size_t size() const { return n_; }
    double root(std::size_t i) const { return roots_[i]; }
    const T* row(std::size_t i) const { return rows_ + i * d_; }

  private:
    const T* rows_;
    std::size_t n_, d_;
    std::vector<double> roots_;
};

const double* widen(const double* rows, std::size_t, std::vector<double>&) {
    return rows;
}
const double* widen(const float* rows, std::size_t count, std::vector<double>& buffer) {
    buffer.resize(count);
    for (std::size_t i = 0; i < count; ++i) buffer[i] = static_cast<double>(rows[i]);
    return buffer.data();
}

// The part [x_begin, x_end) × [y_begin, y_end) of the table of all pairs.
template <typename T>
void fill_tile(const Side<T>& x, std::size_t x_begin, std::size_t x_end, const Side<T>& y,
               std::size_t y_begin, std::size_t y_end, std::size_t d, const BlockDistances& distances,
               T* out) {
    WideRow wide(d);
    std::vector<double> buffer;
    BlockOfPairs pairs;
    double line[kBlock];
    for (std::size_t start = y_begin; start < y_end; start += kBlock) {
        const std::size_t size = std::min(kBlock, y_end - start);
        const double* block = widen(y.row(start), size * d, buffer);
        for (std::size_t i = x_begin; i < x_end; ++i) {
            const double* row = wide(x.row(i));
            for (std::size_t j = 0; j < size; ++j)
                pairs.set(j, row, block + j * d, d, x.root(i), y.root(start + j));
            distances(pairs, size, line);
            T* to = out + i * y.size() + start;
            for (std::size_t j = 0; j < size; ++j) to[j] = static_cast<T>(line[j]);
        }
    }
}

}  // namespace

template <typename T>
std::ptrdiff_t ball_pairwise(const T* x, std::size_t n, const T* y, std::size_t m, std::size_t d,
                             double curvature, T* out, int threads) {
    const BallTerms terms(curvature);
    const BlockDistances distances(terms.sqrt_c());
    FirstOutside outside;
    Side<T> side_x(x, n, d), side_y(y, m, d);
    side_x.find_roots(terms, 0, outside, threads);
    side_y.find_roots(terms, n, outside, threads);
    if (outside.row() >= 0) return outside.row();
    const int n_threads = threads_for(threads, n * m * d, kGrain);
    const auto part = [&](std::size_t across) {  // whole blocks, so that tiles stay as wide as they are quick
        return (kUninterrupted / (across * d + 1) / kBlock + 1) * kBlock;
    };
    if (n >= m)
        interruptible_ranges(n, n_threads, part(m), [&](std::size_t begin, std::size_t end) {
            fill_tile(side_x, begin, end, side_y, 0, m, d, distances, out);
        });
    else
        interruptible_ranges(m, n_threads, part(n), [&](std::size_t begin, std::size_t end) {
            fill_tile(side_x, 0, n, side_y, begin, end, d, distances, out);
        });
    return -1;
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

#define POINCARE_INSTANTIATE(T)                                                                              \
    template std::ptrdiff_t ball_row_terms(const T*, std::size_t, std::size_t, double, double*, double*,     \
                                           int);                                                             \
    template std::ptrdiff_t ball_distances(const T*, std::size_t, const T*, std::size_t, std::size_t,        \
                                           std::size_t, double, double*, int);                               \
    template std::ptrdiff_t ball_pairwise(const T*, std::size_t, const T*, std::size_t, std::size_t, double, \
                                          T*, int);                                                          \
    template void scale_rows(const T*, std::size_t, const double*, std::size_t, std::size_t, std::size_t,    \
                             T*, int);
POINCARE_INSTANTIATE(float)
POINCARE_INSTANTIATE(double)

}  // namespace poincare
