#include "decay.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kRowsPerThread = 65536;  // below about a millisecond a thread costs more than it saves

using RowFunction = double (*)(const DecayFactor*, std::size_t, std::int64_t, std::int64_t, std::int64_t,
                               std::int64_t, std::int64_t);

template <RowFunction evaluate>
void evaluate_rows(const DecayFactor* factors, std::size_t factor_count, std::int64_t now,
                   const DecayColumns& columns, const std::int64_t* rows, std::size_t n, double* out,
                   int threads) {
    const auto piece = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t row = rows ? static_cast<std::size_t>(rows[i]) : i;
            out[i] = evaluate(factors, factor_count, now, columns.t[row],
                              columns.access_count ? columns.access_count[row] : 0,
                              columns.valid_from ? columns.valid_from[row] : kMissingInstant,
                              columns.valid_until ? columns.valid_until[row] : kMissingInstant);
        }
    };
    parallel_ranges(n, threads_for(threads, n, kRowsPerThread), piece);
}

}  // namespace

std::vector<DecayFactor> decay_factors(const double* rows, std::size_t count) {
    std::vector<DecayFactor> factors;
    factors.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double* row = rows + 3 * i;
        DecayFactor factor{static_cast<int>(row[0]), row[1], row[2], 0.0};
        if (factor.kind == kHalfLife) {
            factor.derived = kLn2 / (factor.a * kMicrosPerHour);
        } else if (factor.kind == kValidity) {
            factor.derived = std::log(std::max(factor.a, kMinWeight));
        } else if (factor.kind != kEbbinghaus) {
            throw std::invalid_argument("unknown kind of decay factor: " + std::to_string(row[0]));
        }
        factors.push_back(factor);
    }
    return factors;
}

void decay_weights(const DecayFactor* factors, std::size_t factor_count, std::int64_t now,
                   const DecayColumns& columns, const std::int64_t* rows, std::size_t n, double* out,
                   int threads) {
    evaluate_rows<weight>(factors, factor_count, now, columns, rows, n, out, threads);
}

void decay_log_weights(const DecayFactor* factors, std::size_t factor_count, std::int64_t now,
                       const DecayColumns& columns, const std::int64_t* rows, std::size_t n, double* out,
                       int threads) {
    evaluate_rows<log_weight>(factors, factor_count, now, columns, rows, n, out, threads);
}

}  // namespace poincare
