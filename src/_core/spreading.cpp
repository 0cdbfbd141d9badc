#include "spreading.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "polar.hpp"
#include "relaxation.hpp"
#include "reproducible_random.hpp"

namespace poincare {
namespace {

constexpr int kReflections = 4;  // random ones, that turn a closed-form set away from the axes

double dot_rows(const double* x, const double* y, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

void circle(std::size_t count, double* out) {
    for (std::size_t i = 0; i < count; ++i) {
        const double angle = 2 * kPi * static_cast<double>(i) / static_cast<double>(count);
        out[2 * i] = std::cos(angle);
        out[2 * i + 1] = std::sin(angle);
    }
}

// A regular simplex of `size` unit vectors in the size − 1 coordinates from `first` on.
void simplex(std::size_t size, std::size_t dim, std::size_t first, double* rows) {
    if (size == 1) {
        rows[first] = 1;
        return;
    }
    const double rank = static_cast<double>(size - 1);
    for (std::size_t j = 0; j + 1 < size; ++j) {
        const double left = rank - static_cast<double>(j);
        const double height = std::sqrt((rank + 1) * left / (rank * (left + 1)));
        rows[j * dim + first + j] = height;
        for (std::size_t i = j + 1; i < size; ++i) rows[i * dim + first + j] = -height / left;
    }
}

// At most 2·dim vectors: count − dim simplexes that share the dimensions out among them.
void orthogonal_simplexes(std::size_t count, std::size_t dim, std::uint64_t seed, double* out) {
    std::fill(out, out + count * dim, 0.0);
    if (count <= dim) {
        simplex(count, dim, 0, out);
    } else {
        const std::size_t groups = count - dim;
        std::size_t row = 0;
        for (std::size_t g = 0; g < groups; ++g) {
            const std::size_t begin = dim * g / groups;
            const std::size_t size = dim * (g + 1) / groups - begin + 1;
            simplex(size, dim, begin, out + row * dim);
            row += size;
        }
    }
    std::vector<double> mirror(dim);
    ReproducibleRandom random(seed);
    for (int turn = 0; turn < kReflections; ++turn) {
        random.direction(mirror.data(), dim);
        reflect_rows(out, count, dim, mirror.data());
    }
}

}  // namespace

void reflect_rows(double* rows, std::size_t count, std::size_t dim, const double* mirror) {
    const double square = dot_rows(mirror, mirror, dim);
    if (square == 0) return;
    for (std::size_t i = 0; i < count; ++i) {
        double* row = rows + i * dim;
        const double twice = 2 * dot_rows(mirror, row, dim) / square;
        for (std::size_t j = 0; j < dim; ++j) row[j] -= twice * mirror[j];
    }
}

void spread_sphere(std::size_t count, std::size_t dim, std::uint64_t seed, std::size_t steps, double* out,
                   int threads) {
    InterruptPoll poll;
    spread_sphere(count, dim, seed, steps, out, threads, poll);
}

void spread_sphere(std::size_t count, std::size_t dim, std::uint64_t seed, std::size_t steps, double* out,
                   int threads, InterruptPoll& poll) {
    poll();
    if (count == 0) return;
    if (dim == 2) return circle(count, out);
    if (count <= 2 * dim) return orthogonal_simplexes(count, dim, seed, out);
    relax_on_sphere(count, dim, seed, steps, out, threads, poll);
}

void align_first(double* rows, std::size_t count, std::size_t dim, const double* target) {
    if (count == 0) return;
    std::vector<double> mirror(dim);
    for (std::size_t j = 0; j < dim; ++j) mirror[j] = rows[j] - target[j];
    reflect_rows(rows, count, dim, mirror.data());
    std::copy(target, target + dim, rows);
}

}  // namespace poincare
