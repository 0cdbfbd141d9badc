#include "cone_members.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "distance_bound.hpp"
#include "interrupt.hpp"
#include "numerics.hpp"
#include "polar.hpp"
#include "rows.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr double kOutside = std::numeric_limits<double>::infinity();
constexpr std::size_t kGrain = 1 << 22;  // floats a thread at least

// The largest chord² (from above) at which a point of radius S can belong to the cone.
//
// On a sphere that encloses the apex (S > R) the angle Ξ grows with the chord: bisection. On one that does
// not, Ξ ≥ π − arcsin(sinh S / sinh R) ≥ π/2 ≥ ψ, and Ξ comes within kConeTolerance of π/2 only for S → R and
// θ → 0; chords that short are left to the exact test.
double farthest_chord(const ConeApex& apex, double R, double S) {
    if (apex.half_aperture() >= kPi) return 4;
    if (S <= R) return kShortChord;
    double inside = 0, outside = 4;
    for (int step = 0; step < 40; ++step) {
        const double middle = (inside + outside) / 2;
        (apex.energy(S, middle, 4 - middle) <= kConeTolerance ? inside : outside) = middle;
    }
    return outside + kShortChord;
}

class Cone {
  public:
    Cone(const ConeColumns& columns, std::size_t apex, double K, double sqrt_c)
        : columns_(columns),
          direction_(columns.direction + apex * columns.dim),
          R_(columns.directed[apex] ? sqrt_c * columns.radius[apex] : 0.0),  // without direction: the origin
          sqrt_c_(sqrt_c),
          apex_(R_, K),
          apex_code_(direction_, columns.coded.codes ? columns.dim : 0) {}

    const CodedQuery& apex_code() const { return apex_code_; }

    // Whether an inner product with the apex of at most so much cannot exclude the row.
    bool may_hold(std::size_t row, float product) {
        if (!columns_.directed[row]) return true;
        const double S = sqrt_c_ * columns_.radius[row];
        if (!known_ || S != last_radius_) {
            last_radius_ = S;
            farthest_ = memo(S);
            known_ = true;
        }
        return 2.0 - 2.0 * static_cast<double>(product) - kChordSlack <= farthest_;
    }

    double energy(std::size_t row) const {
        if (R_ == 0) return 0;
        if (!columns_.directed[row]) return apex_.energy(0, 0, 4);
        const double chord_squared =
            squared_gap(direction_, columns_.direction + row * columns_.dim, columns_.dim);
        return apex_.energy(sqrt_c_ * columns_.radius[row], chord_squared, std::max(0.0, 4 - chord_squared));
    }

  private:
    double memo(double S) {
        for (const auto& [radius, farthest] : remembered_)
            if (radius == S) return farthest;
        const double farthest = farthest_chord(apex_, R_, S);
        if (remembered_.size() < 256) remembered_.emplace_back(S, farthest);
        return farthest;
    }

    const ConeColumns& columns_;
    const double* direction_;
    double R_;
    double sqrt_c_;
    ConeApex apex_;
    CodedQuery apex_code_;
    bool known_ = false;
    double last_radius_ = 0;
    double farthest_ = 0;
    std::vector<std::pair<double, double>> remembered_;  // levels are few
};

}  // namespace

ConeMembers cone_members(const ConeColumns& columns, const std::int32_t* rows, std::size_t count,
                         std::int32_t apex, double K, double sqrt_c, int threads) {
    const std::size_t apex_row = static_cast<std::size_t>(apex);
    const std::unique_ptr<double[]> energies(new double[std::max<std::size_t>(count, 1)]);
    interruptible_rows(
        count, threads_for(threads, count * columns.dim, kGrain), columns.dim,
        [&](std::size_t begin, std::size_t end) {
            Cone cone(columns, apex_row, K, sqrt_c);
            float products[kCodeBlock];
            std::fill(products, products + kCodeBlock, 2.0f);
            for (std::size_t block = begin; block < end; block += kCodeBlock) {
                const std::size_t stop = std::min(end, block + kCodeBlock);
                if (columns.coded.codes)
                    products_from_above(columns.coded, cone.apex_code(), rows ? rows + block : nullptr, block,
                                        stop - block, products);
                for (std::size_t i = block; i < stop; ++i) {
                    const std::size_t row = rows ? static_cast<std::size_t>(rows[i]) : i;
                    const bool asked = row != apex_row && cone.may_hold(row, products[i - block]);
                    energies[i] = asked ? cone.energy(row) : kOutside;
                }
            }
        });
    ConeMembers members;
    for (std::size_t i = 0; i < count; ++i) {
        if (!(energies[i] <= kConeTolerance)) continue;
        members.rows.push_back(rows ? rows[i] : static_cast<std::int32_t>(i));
        members.energies.push_back(energies[i]);
    }
    return members;
}

}  // namespace poincare
