// The graph's own metrics: what hnswlib compares are rows [unit direction (d), radius terms], in float32.
//
// shell: all radii equal, so the order of distances is the order of the chord |u − v|² (design §3).
// hyperbolic: q = sinh²((r−s)/2) + sinh r · sinh s · |u−v|²/4, monotone in the distance. The row stores
// e^(r/2), e^(−r/2) and sinh r, so that no transcendental is called in a comparison:
// 2·sinh((r−s)/2) = e^(r/2)·e^(−s/2) − e^(−r/2)·e^(s/2).
//
// An inner product over Lorentz MIPS vectors would not do: a graph links stored points to each other, and the
// negated time coordinate makes that product the wrong one between two stored points.
#pragma once

#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "numerics.hpp"
#include "rows.hpp"

namespace poincare {

enum class GraphMetric { shell, hyperbolic };

constexpr std::size_t kRadiusTerms = 3;
constexpr double kBoundBelowRounding = 1 - 1e-5;  // of a bound that float32 surrogates are compared with

struct GraphSpaceParameters {
    std::size_t dim;
    float (*squared_gap)(const float*, const float*, std::size_t);
    void (*squared_gaps)(const float*, const float* const*, std::size_t, std::size_t, float*);
};

inline float shell_surrogate(const void* x, const void* y, const void* parameters) {
    const auto& space = *static_cast<const GraphSpaceParameters*>(parameters);
    return space.squared_gap(static_cast<const float*>(x), static_cast<const float*>(y), space.dim);
}

inline float with_radii(const float* x, const float* y, std::size_t dim, float squared_gap) {
    const float* a = x + dim;
    const float* b = y + dim;
    const float twice_sinh = a[0] * b[1] - a[1] * b[0];
    return 0.25f * (twice_sinh * twice_sinh + a[2] * b[2] * squared_gap);
}

inline float hyperbolic_surrogate(const void* x, const void* y, const void* parameters) {
    const auto& space = *static_cast<const GraphSpaceParameters*>(parameters);
    const float* u = static_cast<const float*>(x);
    const float* v = static_cast<const float*>(y);
    return with_radii(u, v, space.dim, space.squared_gap(u, v, space.dim));
}

class GraphSpace final : public hnswlib::SpaceInterface<float> {
  public:
    GraphSpace(std::size_t dim, GraphMetric metric)
        : parameters_{dim, row_kernels().squared_gap_f32, row_kernels().squared_gaps_f32}, metric_(metric) {}

    std::size_t dim() const { return parameters_.dim; }

    std::size_t row_length() const {
        return parameters_.dim + (metric_ == GraphMetric::hyperbolic ? kRadiusTerms : 0);
    }

    // Writes the row of a unit direction at √c-scaled radius r.
    void write_row(const float* direction, double radius, float* row) const {
        for (std::size_t i = 0; i < parameters_.dim; ++i) row[i] = direction[i];
        if (metric_ == GraphMetric::shell) return;
        row[parameters_.dim] = static_cast<float>(std::exp(radius / 2));
        row[parameters_.dim + 1] = static_cast<float>(std::exp(-radius / 2));
        row[parameters_.dim + 2] = static_cast<float>(std::sinh(radius));
    }

    // out[i] = the surrogate of rows x and ys[i], the same bits as the pair alone gives.
    void surrogates(const float* x, const float* const* ys, std::size_t count, float* out) const {
        parameters_.squared_gaps(x, ys, count, parameters_.dim, out);
        if (metric_ == GraphMetric::shell) return;
        for (std::size_t i = 0; i < count; ++i) out[i] = with_radii(x, ys[i], parameters_.dim, out[i]);
    }

    // At most the surrogate of a row at radius r and any at a radius from `low` to `high`.
    static float least_surrogate(double r, double low, double high) {
        const double gap = std::max({0.0, low - r, r - high});
        const double half = std::sinh(gap / 2);
        return static_cast<float>(half * half * kBoundBelowRounding);
    }

    std::size_t get_data_size() override { return row_length() * sizeof(float); }
    hnswlib::DISTFUNC<float> get_dist_func() override {
        return metric_ == GraphMetric::shell ? shell_surrogate : hyperbolic_surrogate;
    }
    void* get_dist_func_param() override { return &parameters_; }

  private:
    GraphSpaceParameters parameters_;
    GraphMetric metric_;
};

}  // namespace poincare
