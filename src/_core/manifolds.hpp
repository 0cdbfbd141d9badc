// What a step of training looks like in each geometry: attraction of the nodes of a sample, and how far each
// is pulled.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lanes.hpp"
#include "numerics.hpp"
#include "sampling.hpp"
#include "softmax.hpp"

namespace poincare {

// Scratch of one epoch, an entry for the related node and each negative.
template <typename Real, std::size_t N>
struct Scratch {
    explicit Scratch(std::size_t others)
        : squares(others * N),
          row(others),
          squared_gap(others),
          attraction(others),
          side(others),
          pull_node(others),
          pull_other(others),
          shrink_node(others),
          shrink_other(others) {}
    std::vector<Real> squares;  // one vector of partial sums each
    std::vector<Real*> row;
    std::vector<Real> squared_gap;
    std::vector<Real> attraction;  // exp(−βd), up to a common factor
    std::vector<Real> side;        // what the geometry keeps beside a row
    // The step of node u is Σ pull_node·(u − x) + shrink_node·u, that of x is pull_other·(x − u) +
    // shrink_other·x.
    std::vector<Real> pull_node, pull_other, shrink_node, shrink_other;
};

// Where a number is kept for each row: in the row's last lane where the dimension leaves it free, so that a
// row and its number arrive together, else in an array of its own.
template <typename Real>
struct Side {
    Real* first;
    std::size_t step;

    POINCARE_INLINE Real& of(std::int32_t node) const { return first[static_cast<std::size_t>(node) * step]; }
    POINCARE_INLINE bool apart() const { return step == 1; }
};

template <typename Real>
Real norm_of_row(const Real* row, std::size_t stride) {
    double squares = 0;
    for (std::size_t i = 0; i < stride; ++i)
        squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
    return static_cast<Real>(std::sqrt(squares));
}

// Shortens a row to `limit`; its squared norm afterwards.
template <typename Real>
Real shorten(Real* row, std::size_t stride, Real limit) {
    Real norm = norm_of_row(row, stride);
    if (norm > limit) {
        const double factor = static_cast<double>(limit) / static_cast<double>(norm);
        for (std::size_t i = 0; i < stride; ++i)
            row[i] = static_cast<Real>(static_cast<double>(row[i]) * factor);
        norm = norm_of_row(row, stride);
    }
    return norm * norm;
}

// softmax'(k): what the loss, divided by β, gains where d(u, x_k) grows.
template <typename Real>
POINCARE_INLINE Real slope_of(std::size_t k, Real attraction, Real per_all) {
    return (k == 0 ? Real{1} : Real{0}) - attraction * per_all;
}

// The ball of curvature 1. With δ = 2|u−x|²/(ab), a = 1−|u|², b = 1−|x|² and s = sinh d = √(δ(δ+2)):
// exp(−d) = 1/(1+δ+s), so no transcendental function is needed; the Riemannian gradient of d at u is
// (1/(bs))·[a(u−x) + |u−x|²·u] (the factor a²/4 of the inverse metric cancels the 4/a² of the gradient).
template <typename Real>
struct Ball {
    Side<Real> side;  // 1 − |x|² of each row

    template <std::size_t N>
    POINCARE_INLINE void steps(Real a, std::size_t n, Scratch<Real, N>& w, Real rate, const Softmax& softmax,
                               LogSum& loss) const {
        Real* const e = w.attraction.data();
        Real* const inverse_sinh = w.pull_node.data();
        const Real* const g = w.squared_gap.data();
        const Real* const b = w.side.data();
        for (std::size_t k = 0; k < n; ++k) {
            const Real delta = 2 * g[k] / (a * b[k]);
            const Real s = std::sqrt(delta * (delta + 2));
            e[k] = 1 / (1 + delta + s);
            inverse_sinh[k] = s > 0 ? 1 / s : Real{0};
        }
        const Real per_all = softmax.of_attractions(e, n, loss);
        const Real inverse_a = 1 / a;
        Real* const pull_node = w.pull_node.data();
        Real* const pull_other = w.pull_other.data();
        Real* const shrink_node = w.shrink_node.data();
        Real* const shrink_other = w.shrink_other.data();
        for (std::size_t k = 0; k < n; ++k) {
            const Real slope = rate * slope_of(k, e[k], per_all) * inverse_sinh[k];
            const Real at_node = slope / b[k];
            const Real at_other = slope * inverse_a;
            pull_node[k] = at_node * a;
            shrink_node[k] = at_node * g[k];
            pull_other[k] = at_other * b[k];
            shrink_other[k] = at_other * g[k];
        }
    }

    // Keeps a row inside the margin and notes its distance from the boundary.
    POINCARE_INLINE void settle(std::int32_t node, Real* row, std::size_t stride, Real squared_norm) const {
        constexpr Real limit = static_cast<Real>(1 - kBallEpsFloat64);
        if (!(squared_norm <= limit * limit)) squared_norm = shorten(row, stride, limit);
        side.of(node) = 1 - squared_norm;
    }
};

// The hyperboloid −x₀² + |x|² = −1 of Nickel & Kiela (2018), of which rows hold x. With z = −<u,x> = cosh d,
// δ = z − 1 = (|u−x|² − (u₀−x₀)²)/2 and s = sinh d, the Riemannian gradient of d at u is (zu − x)/s: steps
// are taken to first order in x, and x₀ follows.
template <typename Real>
struct Hyperboloid {
    Side<Real> side;  // x₀ of each row

    template <std::size_t N>
    POINCARE_INLINE void steps(Real a, std::size_t n, Scratch<Real, N>& w, Real rate, const Softmax& softmax,
                               LogSum& loss) const {
        Real* const e = w.attraction.data();
        Real* const inverse_sinh = w.pull_node.data();
        Real* const delta = w.squared_gap.data();
        const Real* const b = w.side.data();
        for (std::size_t k = 0; k < n; ++k) {
            delta[k] = std::max((delta[k] - (a - b[k]) * (a - b[k])) / 2, Real{0});
            const Real s = std::sqrt(delta[k] * (delta[k] + 2));
            e[k] = 1 / (1 + delta[k] + s);
            inverse_sinh[k] = s > 0 ? 1 / s : Real{0};
        }
        const Real per_all = softmax.of_attractions(e, n, loss);
        for (std::size_t k = 0; k < n; ++k) {
            const Real slope = rate * slope_of(k, e[k], per_all) * inverse_sinh[k];
            w.pull_node[k] = w.pull_other[k] = slope;
            w.shrink_node[k] = w.shrink_other[k] = slope * delta[k];
        }
    }

    // The margin of the ball, as a limit of |x| = sinh r.
    POINCARE_INLINE void settle(std::int32_t node, Real* row, std::size_t stride, Real squared_norm) const {
        constexpr double norm = 1 - kBallEpsFloat64;
        constexpr Real limit = static_cast<Real>(2 * norm / (1 - norm * norm));
        if (!(squared_norm <= limit * limit)) squared_norm = shorten(row, stride, limit);
        side.of(node) = std::sqrt(1 + squared_norm);
    }
};

template <typename Real>
struct Euclidean {
    Side<Real> side;  // unused

    template <std::size_t N>
    POINCARE_INLINE void steps(Real, std::size_t n, Scratch<Real, N>& w, Real rate, const Softmax& softmax,
                               LogSum& loss) const {
        Real* const e = w.attraction.data();
        Real* const distance = w.pull_other.data();
        for (std::size_t k = 0; k < n; ++k) distance[k] = std::sqrt(w.squared_gap[k]);
        const Real per_all = softmax.of_distances(distance, e, n, loss);
        for (std::size_t k = 0; k < n; ++k) {
            const Real slope = rate * slope_of(k, e[k], per_all);
            const Real pull = distance[k] > 0 ? slope / distance[k] : Real{0};
            w.pull_node[k] = w.pull_other[k] = pull;
            w.shrink_node[k] = w.shrink_other[k] = 0;
        }
    }

    POINCARE_INLINE void settle(std::int32_t, Real*, std::size_t, Real) const {}
};

}  // namespace poincare
