// Short fixed-width vectors and their sums. The order of every sum is fixed by the type, not by the SIMD
// level that runs it, so each level returns the same bits.
#pragma once

#include <cstddef>
#include <cstring>

#include "cpu.hpp"

namespace poincare {

#ifdef POINCARE_VECTOR_TYPES
template <typename Real, std::size_t N>
struct LanesOf {
    typedef Real type __attribute__((vector_size(N * sizeof(Real))));
};
#else
template <typename Real, std::size_t N>
struct PlainLanes {
    Real v[N];
    friend PlainLanes operator+(PlainLanes a, const PlainLanes& b) {
        for (std::size_t i = 0; i < N; ++i) a.v[i] += b.v[i];
        return a;
    }
    friend PlainLanes operator-(PlainLanes a, const PlainLanes& b) {
        for (std::size_t i = 0; i < N; ++i) a.v[i] -= b.v[i];
        return a;
    }
    friend PlainLanes operator*(PlainLanes a, const PlainLanes& b) {
        for (std::size_t i = 0; i < N; ++i) a.v[i] *= b.v[i];
        return a;
    }
    friend PlainLanes operator-(PlainLanes a, Real b) {
        for (std::size_t i = 0; i < N; ++i) a.v[i] -= b;
        return a;
    }
    friend PlainLanes operator*(PlainLanes a, Real b) {
        for (std::size_t i = 0; i < N; ++i) a.v[i] *= b;
        return a;
    }
};
template <typename Real, std::size_t N>
struct LanesOf {
    using type = PlainLanes<Real, N>;
};
#endif
template <typename Real, std::size_t N>
using Lanes = typename LanesOf<Real, N>::type;

template <typename Vector, typename Real>
POINCARE_INLINE void load(Vector& to, const Real* from) {
    std::memcpy(&to, from, sizeof(to));
}

template <typename Vector, typename Real>
POINCARE_INLINE void store(Real* to, const Vector& from) {
    std::memcpy(to, &from, sizeof(from));
}

// Pairwise sum: halves onto halves.
template <typename Real, std::size_t N>
POINCARE_INLINE Real sum_lanes(const Lanes<Real, N>& x) {
    if constexpr (N == 2) {
        Real pair[2];
        std::memcpy(pair, &x, sizeof(pair));
        return pair[0] + pair[1];
    } else {
        Lanes<Real, N / 2> low, high;
        std::memcpy(&low, &x, sizeof(low));
        std::memcpy(&high, reinterpret_cast<const char*>(&x) + sizeof(low), sizeof(high));
        const Lanes<Real, N / 2> half = low + high;
        return sum_lanes<Real, N / 2>(half);
    }
}

}  // namespace poincare
