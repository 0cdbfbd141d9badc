// The table of all distances between two sets of rows. A block of one side stays in the first cache while a
// chunk of the other, which stays in the second, meets it: squared gaps of a few rows from a few at a time,
// then all their distances at once.
#include <algorithm>
#include <memory>
#include <vector>

#include "ball.hpp"
#include "cpu.hpp"
#include "interrupt.hpp"
#include "pair_distances.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;          // numbers of input worth a thread of their own
constexpr std::size_t kUninterrupted = std::size_t{1} << 24;  // multiplications between two looks for Ctrl-C
constexpr std::size_t kPerPair = 32;                          // as many as a pair takes whatever its length
constexpr std::size_t kFirstCache = std::size_t{24} << 10;    // bytes of a block
constexpr std::size_t kSecondCache = std::size_t{512} << 10;  // and of a chunk
constexpr std::size_t kLeastRows = 8, kMostOfBlock = 32, kMostOfChunk = 4096;

// Rows of one side with their roots.
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

// Copies of rows as float64, each from the start of a cache line.
class PackedRows {
  public:
    PackedRows(std::size_t most, std::size_t d)
        : d_(d), stride_((d + kOfLine - 1) / kOfLine * kOfLine), memory_(most * stride_ + kOfLine) {
        void* place = memory_.data();
        std::size_t room = memory_.size() * sizeof(double);
        first_ = static_cast<double*>(std::align(kCacheLine, most * stride_ * sizeof(double), place, room));
    }
    PackedRows(const PackedRows&) = delete;
    PackedRows& operator=(const PackedRows&) = delete;

    template <typename T>
    void take(const T* rows, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t k = 0; k < d_; ++k)
                first_[i * stride_ + k] = static_cast<double>(rows[i * d_ + k]);
    }
    const double* row(std::size_t i) const { return first_ + i * stride_; }
    std::size_t stride() const { return stride_; }

  private:
    static constexpr std::size_t kOfLine = kCacheLine / sizeof(double);
    std::size_t d_, stride_;
    std::vector<double> memory_;
    double* first_;
};

struct Range {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
};

std::size_t rows_within(std::size_t bytes, std::size_t d, std::size_t most) {
    return std::clamp(bytes / (d * sizeof(double)) / kLeastRows * kLeastRows, kLeastRows, most);
}

template <typename T>
class Table {
  public:
    Table(const Side<T>& x, const Side<T>& y, std::size_t d, const BlockDistances& distances, T* out)
        : x_(x),
          y_(y),
          d_(d),
          distances_(distances),
          out_(out),
          block_(rows_within(kFirstCache, d, kMostOfBlock)),
          chunk_(rows_within(kSecondCache, d, kMostOfChunk)) {}

    void fill(Range x, Range y, InterruptPoll& poll) const {
        PackedRows chunk(std::min(chunk_, x.end - x.begin), d_), block(std::min(block_, y.end - y.begin), d_);
        const std::size_t across =
            std::max(block_, kUninterrupted / (chunk_ * (d_ + kPerPair)) / block_ * block_);
        for (std::size_t i = x.begin; i < x.end; i += chunk_) {
            const Range part{i, std::min(x.end, i + chunk_)};
            chunk.take(x_.row(i), part.size());
            for (std::size_t j = y.begin; j < y.end; j += across) {
                poll();
                fill_part(part, chunk, {j, std::min(y.end, j + across)}, block);
            }
        }
    }

  private:
    void fill_part(Range x, const PackedRows& chunk, Range y, PackedRows& block) const {
        for (std::size_t start = y.begin; start < y.end; start += block_) {
            const Range columns{start, std::min(y.end, start + block_)};
            block.take(y_.row(start), columns.size());
            const std::size_t together = BlockOfPairs::kMost / columns.size();
            for (std::size_t i = x.begin; i < x.end; i += together)
                meet({i, std::min(x.end, i + together)}, chunk.row(i - x.begin), columns, block);
        }
    }

    void meet(Range x, const double* rows, Range y, const PackedRows& block) const {
        const std::size_t n = x.size(), m = y.size(), stride = block.stride();
        BlockOfPairs pairs;
        double line[BlockOfPairs::kMost];
        row_kernels().gap_table_f64(rows, n, block.row(0), m, d_, stride, pairs.squared_gap);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < m; ++j)
                pairs.inverse_roots[i * m + j] = x_.root(x.begin + i) * y_.root(y.begin + j);
        distances_(pairs, n * m, line, [&](std::size_t pair) {
            return euclidean_gap(rows + pair / m * stride, block.row(pair % m), d_);
        });
        for (std::size_t i = 0; i < n; ++i) {
            T* const to = out_ + (x.begin + i) * y_.size() + y.begin;
            for (std::size_t j = 0; j < m; ++j) to[j] = static_cast<T>(line[i * m + j]);
        }
    }

    const Side<T>&x_, &y_;
    std::size_t d_;
    const BlockDistances& distances_;
    T* out_;
    std::size_t block_, chunk_;  // rows of y and of x that stay in cache
};

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
    const Table<T> table(side_x, side_y, d, distances, out);
    InterruptPoll poll;
    parallel_ranges(std::max(n, m), threads_for(threads, n * m * d, kGrain),
                    [&](std::size_t begin, std::size_t end) {
                        if (n >= m)
                            table.fill({begin, end}, {0, m}, poll);
                        else
                            table.fill({0, n}, {begin, end}, poll);
                    });
    return -1;
}

template std::ptrdiff_t ball_pairwise(const float*, std::size_t, const float*, std::size_t, std::size_t,
                                      double, float*, int);
template std::ptrdiff_t ball_pairwise(const double*, std::size_t, const double*, std::size_t, std::size_t,
                                      double, double*, int);

}  // namespace poincare
