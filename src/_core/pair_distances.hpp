// Squared gaps of a block of pairs turned into distances, in the widest registers; the same bits from each.
#pragma once

#include <cstddef>

#include "ball.hpp"

namespace poincare {

struct BlockOfPairs {
    static constexpr std::size_t kMost = 64;
    double squared_gap[kMost];
    double inverse_roots[kMost];  // 1/√(margin·margin), as a product of inverse roots
};

class BlockDistances {
  public:
    explicit BlockDistances(double sqrt_c);

    // gap_of(j): |x − y| of pair j, asked for where its square left the safe range.
    template <typename Gap>
    void operator()(const BlockOfPairs& pairs, std::size_t n, double* out, Gap&& gap_of) const {
        transform_(pairs, n, sqrt_c_, inverse_sqrt_c_, out);
        for (std::size_t j = 0; j < n; ++j)
            if (!safe_square(pairs.squared_gap[j]))
                out[j] = distance_of_gap(gap_of(j), pairs.inverse_roots[j], sqrt_c_, inverse_sqrt_c_);
    }

    using Transform = void (*)(const BlockOfPairs&, std::size_t n, double sqrt_c, double inverse_sqrt_c,
                               double* out);

  private:
    double sqrt_c_, inverse_sqrt_c_;
    Transform transform_;
};

// 1/√margin of a row; notes the row where it is not inside the ball.
inline double inverse_root(const BallTerms& terms, const double* x, std::size_t d, std::size_t row,
                           FirstOutside& outside) {
    const double margin = terms.of(x, d).margin;
    if (margin <= 0) outside.note(row);
    return 1.0 / std::sqrt(margin);
}

}  // namespace poincare
