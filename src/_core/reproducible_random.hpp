// Random directions whose bits are the same on every machine: integer arithmetic, sums and a square root.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "numerics.hpp"

namespace poincare {

// SplitMix64 (Steele, Lea & Flood 2014).
class ReproducibleRandom {
  public:
    explicit ReproducibleRandom(std::uint64_t seed) : state_(seed) {}

    // A generator of its own for each `stream`, so that work can be shared out in any way.
    ReproducibleRandom(std::uint64_t seed, std::uint64_t stream) : state_(seed) {
        state_ = next() ^ (stream * 0xD1342543DE82EF95ULL);
        next();
    }

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }

    // Nearly normal, variance 1: the sum of twelve 16-bit uniform numbers, centred.
    double nearly_normal() {
        std::int64_t sum = 0;
        for (int word = 0; word < 3; ++word) {
            const std::uint64_t bits = next();
            for (int part = 0; part < 4; ++part)
                sum += static_cast<std::int64_t>((bits >> (16 * part)) & 0xFFFF);
        }
        return (static_cast<double>(sum) - 6.0 * 65535.0) / 65536.0;
    }

    void direction(double* out, std::size_t dim) {
        double square = 0;
        while (square < kShortestNormalDraw) {
            square = 0;
            for (std::size_t j = 0; j < dim; ++j) {
                out[j] = nearly_normal();
                square += out[j] * out[j];
            }
        }
        const double length = std::sqrt(square);
        for (std::size_t j = 0; j < dim; ++j) out[j] /= length;
    }

  private:
    std::uint64_t state_;
};

}  // namespace poincare
