// Double-double arithmetic: a number as the unevaluated sum of two doubles, 106 bits (Dekker 1971; Knuth
// 1997). Needs IEEE arithmetic as written: no contraction, no reassociation.
#pragma once

#include <cmath>
#include <cstddef>

namespace poincare {

struct DoubleDouble {
    double high, low;  // |low| ≤ half a unit in the last place of high
};

// x + y, exactly.
inline DoubleDouble two_sum(double x, double y) {
    const double sum = x + y;
    const double of_y = sum - x;
    return {sum, (x - (sum - of_y)) + (y - of_y)};
}

// x + y, exactly, where |x| ≥ |y|.
inline DoubleDouble quick_two_sum(double x, double y) {
    const double sum = x + y;
    return {sum, y - (sum - x)};
}

// x · y, exactly.
inline DoubleDouble two_product(double x, double y) {
    const double product = x * y;
    return {product, std::fma(x, y, -product)};
}

inline DoubleDouble operator+(DoubleDouble x, DoubleDouble y) {
    const DoubleDouble high = two_sum(x.high, y.high), low = two_sum(x.low, y.low);
    const DoubleDouble partly = quick_two_sum(high.high, high.low + low.high);
    return quick_two_sum(partly.high, partly.low + low.low);
}

inline DoubleDouble operator*(DoubleDouble x, double y) {
    const DoubleDouble product = two_product(x.high, y);
    return quick_two_sum(product.high, product.low + x.low * y);
}

inline DoubleDouble square(DoubleDouble x) {
    const DoubleDouble product = two_product(x.high, x.high);
    return quick_two_sum(product.high, product.low + 2 * (x.high * x.low));
}

// Length 1 to 106 bits for a vector of high and low parts whose length is near 1 already.
inline void normalise(double* high, double* low, std::size_t dim) {
    for (int round = 0; round < 2; ++round) {  // the second corrects what the first left: less than 1e-30
        DoubleDouble squared = {0, 0};
        for (std::size_t i = 0; i < dim; ++i) squared = squared + square({high[i], low[i]});
        const double excess = (squared.high - 1) + squared.low;
        const double change = excess * (3 * excess / 8 - 0.5);  // 1/√(1+ε) − 1 = −ε/2 + 3ε²/8 − …
        for (std::size_t i = 0; i < dim; ++i) {
            const DoubleDouble changed = DoubleDouble{high[i], low[i]} + two_product(high[i], change);
            high[i] = changed.high;
            low[i] = changed.low;
        }
    }
}

}  // namespace poincare
