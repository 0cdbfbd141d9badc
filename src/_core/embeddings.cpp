#include "embeddings.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = 1 << 16;   // numbers a thread should have to work on
constexpr std::size_t kCopied = 1 << 11;  // numbers that are copied before they are looked at
constexpr std::size_t kBlock = 64;        // numbers that are compared at once
constexpr double kCancelled = 0x1p-47;    // of the terms: what is left of them is rounding, and was 0
constexpr double kIndependent = 0x1p-20;  // 1 − cos² of two directions that both can be weighed

// The numbers of one row from `begin` on; `u` null: a row without parent.
void mix(double own, const double* direction, double above, const double* u, std::size_t begin,
         std::size_t end, float* out) {
    if (!u || above == 0) {
        for (std::size_t i = begin; i < end; ++i) out[i - begin] = static_cast<float>(own * direction[i]);
        return;
    }
    for (std::size_t i = begin; i < end; ++i) {
        const double a = own * direction[i];
        const double b = above * u[i];
        const double sum = a + b;
        const double rest = std::fabs(sum) <= kCancelled * (std::fabs(a) + std::fabs(b)) ? 0 : sum;
        out[i - begin] = static_cast<float>(rest);
    }
}

bool gives(double own, const double* direction, double above, const double* u, const float* x,
           std::size_t dim) {
    if (own == 0 || !std::isfinite(own) || !std::isfinite(above)) return false;
    float mixed[kBlock];
    for (std::size_t begin = 0; begin < dim; begin += kBlock) {
        const std::size_t end = std::min(dim, begin + kBlock);
        mix(own, direction, above, u, begin, end, mixed);
        if (std::memcmp(mixed, x + begin, (end - begin) * sizeof(float)) != 0) return false;
    }
    return true;
}

const double* direction_above(const MixtureColumns& columns, std::size_t row) {
    const std::int32_t parent = columns.parent[row];
    return parent < 0 ? nullptr : columns.direction + static_cast<std::size_t>(parent) * columns.dim;
}

}  // namespace

// Least squares, and then every bit is looked at.
bool fold_embedding(const MixtureColumns& columns, std::size_t row, const float* x, double* wide) {
    const std::size_t dim = columns.dim;
    const double* direction = columns.direction + row * dim;
    const double* u = direction_above(columns, row);
    double& own = columns.own[row];
    double& above = columns.above[row];
    std::copy(x, x + dim, wide);
    const double xd = dot(wide, direction, dim);
    const double dd = dot(direction, direction, dim);
    above = 0;
    own = dd > 0 ? xd / dd : 1;  // 1: no embedding and no direction, both zeros
    if (gives(own, direction, 0, nullptr, x, dim)) return true;
    if (u) {
        const double uu = dot(u, u, dim), ud = dot(u, direction, dim), xu = dot(wide, u, dim);
        const double independent = dd * uu - ud * ud;
        if (independent > kIndependent) {
            own = (xd * uu - xu * ud) / independent;
            above = (xu * dd - xd * ud) / independent;
            if (gives(own, direction, above, u, x, dim)) return true;
        }
    }
    own = above = 0;
    return false;
}

std::size_t fold_embeddings(const MixtureColumns& columns, const float* embedding, const std::int32_t* rows,
                            std::size_t n, std::uint8_t* kept, int threads) {
    const std::size_t dim = columns.dim;
    parallel_ranges(n, threads_for(threads, n * dim, kGrain), [&](std::size_t first, std::size_t last) {
        std::vector<double> wide(dim);
        for (std::size_t i = first; i < last; ++i)
            kept[i] =
                !fold_embedding(columns, static_cast<std::size_t>(rows[i]), embedding + i * dim, wide.data());
    });
    return static_cast<std::size_t>(std::count(kept, kept + n, std::uint8_t{1}));
}

void unfold_embeddings(const MixtureColumns& columns, const std::int32_t* rows, std::size_t n, float* out,
                       int threads) {
    const std::size_t dim = columns.dim;
    parallel_ranges(n, threads_for(threads, n * dim, kGrain), [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t row = static_cast<std::size_t>(rows[i]);
            if (columns.own[row] == 0)
                std::fill(out + i * dim, out + (i + 1) * dim, 0.0f);
            else
                mix(columns.own[row], columns.direction + row * dim, columns.above[row],
                    direction_above(columns, row), 0, dim, out + i * dim);
        }
    });
}

template <typename T>
std::size_t first_not_finite(const T* numbers, std::size_t n) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr T kInfinite = std::numeric_limits<T>::infinity();
    Bits exponent;  // all ones where a number has no end or is none
    std::memcpy(&exponent, &kInfinite, sizeof(T));
    for (std::size_t begin = 0; begin < n; begin += kBlock) {
        const std::size_t end = std::min(n, begin + kBlock);
        Bits found = 0;
        for (std::size_t i = begin; i < end; ++i) {
            Bits bits;
            std::memcpy(&bits, numbers + i, sizeof(T));
            found |= (bits & exponent) == exponent;
        }
        if (!found) continue;
        for (std::size_t i = begin; i < end; ++i)
            if (!std::isfinite(numbers[i])) return i;
    }
    return n;
}

template std::size_t first_not_finite(const float*, std::size_t);
template std::size_t first_not_finite(const double*, std::size_t);

// A block at a time: it is looked at while it is in the processor's cache.
template <typename T>
bool copy_finite(const T* from, T* to, std::size_t n, int threads) {
    std::atomic<bool> finite{true};
    parallel_ranges(n, threads_for(threads, n, kGrain), [&](std::size_t first, std::size_t last) {
        for (std::size_t begin = first; begin < last && finite; begin += kCopied) {
            const std::size_t count = std::min(last - begin, kCopied);
            std::copy(from + begin, from + begin + count, to + begin);
            if (first_not_finite(to + begin, count) != count) finite = false;
        }
    });
    return finite;
}

template bool copy_finite(const float*, float*, std::size_t, int);
template bool copy_finite(const double*, double*, std::size_t, int);

}  // namespace poincare
