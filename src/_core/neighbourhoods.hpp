// Nearest neighbours on the sphere for the relaxation: exact for moderate sets, by cells for wide ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interrupt.hpp"

namespace poincare {

// Unit rows in float32, padded with zeros to a multiple of four numbers.
struct PaddedRows {
    std::size_t count = 0, dim = 0, width = 0;
    std::vector<float> values;

    PaddedRows(std::size_t rows, std::size_t columns)
        : count(rows), dim(columns), width((columns + 3) / 4 * 4), values(rows * width, 0.0f) {}
    const float* row(std::size_t i) const { return values.data() + i * width; }
    float* row(std::size_t i) { return values.data() + i * width; }
};

// Product of two padded rows. The lanes are summed in a fixed order, so the bits are the same everywhere.
inline float dot_padded(const float* x, const float* y, std::size_t width) {
    float lane[4] = {};
    for (std::size_t i = 0; i < width; i += 4)
        for (std::size_t l = 0; l < 4; ++l) lane[l] += x[i + l] * y[i + l];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

// The `kept` nearest other rows of every row, in ascending order of index; a place that finds no neighbour
// holds the row's own index. Exact up to kExactSearch rows. Beyond, each row looks into nearby cells, and
// then among the neighbours of its neighbours: time near count^1.5, linear memory, a few neighbours missed.
class Neighbourhoods {
  public:
    Neighbourhoods(std::size_t count, std::size_t kept) : kept_(kept), lists_(count * kept) {}

    void search(const PaddedRows& points, int threads, InterruptPoll& poll);

    std::size_t kept() const { return kept_; }
    const std::uint32_t* of(std::size_t i) const { return lists_.data() + i * kept_; }

  private:
    std::size_t kept_;
    std::vector<std::uint32_t> lists_;
};

constexpr std::size_t kExactSearch = 4096;

}  // namespace poincare
