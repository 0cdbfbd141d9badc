#include "products.hpp"

#include <algorithm>
#include <vector>

#include "cpu.hpp"
#include "interrupt.hpp"
#include "lanes.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kRowsAtOnce = 96;               // that stay in cache while every query meets them
constexpr std::size_t kGrain = std::size_t{1} << 26;  // multiplications a thread at least
constexpr std::size_t kUninterrupted = std::size_t{1} << 28;  // multiplications between two looks for Ctrl-C

struct Task {
    const float* panels;  // queries side by side: [panel][column][query of the panel], padded with zeros
    std::size_t query_count;
    const CodedRows& coded;
    const std::int32_t* rows;
    std::size_t count;
    std::size_t dim;
    float* out;
};

// ROWS rows times the queries of a panel, a query a lane: nothing has to be added up across lanes.
template <std::size_t ROWS, std::size_t VECTORS, std::size_t N>
POINCARE_INLINE void tile(const float* panel, const float* const* rows, std::size_t dim, float* out) {
    Lanes<float, N> sum[ROWS][VECTORS] = {}, query[VECTORS];
    for (std::size_t d = 0; d < dim; ++d) {
        for (std::size_t v = 0; v < VECTORS; ++v) load(query[v], panel + (d * VECTORS + v) * N);
        for (std::size_t r = 0; r < ROWS; ++r)
            for (std::size_t v = 0; v < VECTORS; ++v) sum[r][v] = sum[r][v] + query[v] * rows[r][d];
    }
    for (std::size_t r = 0; r < ROWS; ++r)
        for (std::size_t v = 0; v < VECTORS; ++v) store(out + (r * VECTORS + v) * N, sum[r][v]);
}

template <std::size_t ROWS, std::size_t VECTORS, std::size_t N>
POINCARE_INLINE void multiply(const Task& task, std::size_t begin, std::size_t end) {
    constexpr std::size_t width = VECTORS * N;
    const float* rows[ROWS];
    float sums[ROWS * width];
    float scale[kRowsAtOnce];
    std::vector<float> numbers(kRowsAtOnce * task.dim);
    for (std::size_t block = begin; block < end; block += kRowsAtOnce) {
        const std::size_t stop = std::min(end, block + kRowsAtOnce);
        for (std::size_t i = block; i < stop; ++i) {
            const std::size_t row = task.rows ? static_cast<std::size_t>(task.rows[i]) : i;
            const std::int8_t* from = task.coded.codes + row * task.coded.stride;
            float* to = numbers.data() + (i - block) * task.dim;
            for (std::size_t d = 0; d < task.dim; ++d) to[d] = static_cast<float>(from[d]);
            scale[i - block] = task.coded.scale[row];
        }
        for (std::size_t first = 0; first < task.query_count; first += width) {
            const std::size_t queries = std::min(width, task.query_count - first);
            for (std::size_t i = block; i < stop; i += ROWS) {
                const std::size_t here = std::min(ROWS, stop - i);
                for (std::size_t r = 0; r < ROWS; ++r)  // the last one again, where there are fewer
                    rows[r] = numbers.data() + (i - block + std::min(r, here - 1)) * task.dim;
                tile<ROWS, VECTORS, N>(task.panels + first * task.dim, rows, task.dim, sums);
                for (std::size_t q = 0; q < queries; ++q)
                    for (std::size_t r = 0; r < here; ++r)
                        task.out[(first + q) * task.count + i + r] =
                            scale[i - block + r] * sums[r * width + q];
            }
        }
    }
}

void multiply_baseline(const Task& task, std::size_t begin, std::size_t end) {
    multiply<4, 2, 4>(task, begin, end);
}
#ifdef POINCARE_WIDE_LEVELS
POINCARE_AVX2 void multiply_avx2(const Task& task, std::size_t begin, std::size_t end) {
    multiply<4, 2, 8>(task, begin, end);
}
POINCARE_AVX512 void multiply_avx512(const Task& task, std::size_t begin, std::size_t end) {
    multiply<6, 4, 16>(task, begin, end);
}
#endif

struct Level {
    void (*multiply)(const Task&, std::size_t, std::size_t);
    std::size_t width;  // queries of a panel
};

Level level() {
#ifdef POINCARE_WIDE_LEVELS
    if (simd_level() == SimdLevel::avx512) return {multiply_avx512, 64};
    if (simd_level() == SimdLevel::avx2) return {multiply_avx2, 16};
#endif
    return {multiply_baseline, 8};
}

std::vector<float> panels_of(const float* queries, std::size_t count, std::size_t dim, std::size_t width) {
    std::vector<float> panels((count + width - 1) / width * width * dim);
    for (std::size_t q = 0; q < count; ++q)
        for (std::size_t d = 0; d < dim; ++d)
            panels[q / width * width * dim + d * width + q % width] = queries[q * dim + d];
    return panels;
}

}  // namespace

void products_with_codes(const float* queries, std::size_t query_count, const CodedRows& coded,
                         const std::int32_t* rows, std::size_t count, std::size_t dim, float* out,
                         int threads) {
    const Level in_force = level();
    const std::vector<float> panels = panels_of(queries, query_count, dim, in_force.width);
    const Task task{panels.data(), query_count, coded, rows, count, dim, out};
    const std::size_t blocks =
        std::max<std::size_t>(1, kUninterrupted / (query_count * dim * kRowsAtOnce + 1));
    interruptible_ranges(count, threads_for(threads, query_count * count * dim, kGrain), blocks * kRowsAtOnce,
                         [&](std::size_t begin, std::size_t end) { in_force.multiply(task, begin, end); });
}

}  // namespace poincare
