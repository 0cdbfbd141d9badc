#include "sarkar.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "double_double.hpp"
#include "interrupt.hpp"
#include "numerics.hpp"
#include "reproducible_random.hpp"
#include "spreading.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = 256;  // nodes a thread

void normalise_or(double* x, std::size_t n, const double* otherwise) {
    double square = 0;
    for (std::size_t i = 0; i < n; ++i) square += x[i] * x[i];
    if (!(square > 0)) {
        std::copy(otherwise, otherwise + n, x);
        return;
    }
    const double length = std::sqrt(square);
    for (std::size_t i = 0; i < n; ++i) x[i] /= length;
}

// The triangle of origin, start (radius r) and end, with φ the angle between u and v. Each quantity is a sum
// of terms that are not negative, divided by a power of e that keeps it finite.
struct Triangle {
    double r, length, low, gap, sum;
    double cos2, sin2;  // cos²(φ/2), sin²(φ/2)

    Triangle(double r_, double length_, double cos2_, double sin2_)
        : r(r_),
          length(length_),
          low(std::min(r_, length_)),
          gap(std::fabs(r_ - length_)),
          sum(r_ + length_),
          cos2(cos2_),
          sin2(sin2_) {}

    // sinh²(s/2) = sinh²((r+l)/2)·cos²(φ/2) + sinh²((r−l)/2)·sin²(φ/2), and s ≥ |r − l| where that underflows
    double end_radius() const {
        const double ratio = std::exp(-low) * std::expm1(-gap) / std::expm1(-sum);
        const double share = std::sqrt(cos2 + ratio * ratio * sin2);
        if (sum < 2 * kLargestSinhArgument) return 2 * std::asinh(std::sinh(sum / 2) * share);
        const double log_sinh = sum / 2 + std::log1p(-std::exp(-sum)) - kLn2 + std::log(share);
        if (log_sinh < kLargestSinhArgument) return std::max(gap, 2 * std::asinh(std::exp(log_sinh)));
        return std::min(std::max(gap, 2 * (log_sinh + kLn2)), kLargestRadius);
    }

    // sinh s · cos θ and sinh l, both times 2·e^−(r+l), where θ is the angle at the origin:
    //   sinh s · cos θ = sinh(r+l)·cos²(φ/2) + sinh(r−l)·sin²(φ/2),   sinh s · sin θ = sinh l · sin φ
    double end_along() const {
        const double shorter = -std::exp(-2 * low) * std::expm1(-2 * gap) * sin2;
        return -std::expm1(-2 * sum) * cos2 + (r >= length ? shorter : -shorter);
    }
    double end_across() const { return -std::exp(-r) * std::expm1(-2 * length); }

    // The geodesic turns by −2·arg(1 + ρt·e^{iφ}) in Euclidean coordinates, ρ = tanh(r/2), t = tanh(l/2).
    double product() const {
        return std::expm1(-r) * std::expm1(-length) / ((1 + std::exp(-r)) * (1 + std::exp(-length)));
    }
    double one_minus_product() const {
        return 2 * std::exp(-low) * (1 + std::exp(-gap)) / ((1 + std::exp(-r)) * (1 + std::exp(-length)));
    }
};

struct HalfAngle {
    double cos2, sin2;  // cos²(φ/2), sin²(φ/2)
};

// u = a − b and v = a + b with a ⊥ b, |a| = cos(φ/2), |b| = sin(φ/2): right also where u = ±v.
HalfAngle half_angle(const double* u, const double* v, std::size_t dim) {
    double cos2 = 0, sin2 = 0;
    for (std::size_t j = 0; j < dim; ++j) {
        const double a = (u[j] + v[j]) / 2, b = (v[j] - u[j]) / 2;
        cos2 += a * a;
        sin2 += b * b;
    }
    return {cos2, sin2};
}

}  // namespace

void geodesic_end(const double* u, double r, const double* v, double length, std::size_t dim,
                  double* direction, double* radius, double* back) {
    if (r == 0) {
        std::copy(v, v + dim, direction);
        *radius = length;
        if (back != nullptr) std::transform(v, v + dim, back, [](double x) { return -x; });
        return;
    }
    const auto [cos2, sin2] = half_angle(u, v, dim);
    const Triangle triangle(r, length, cos2, sin2);
    *radius = triangle.end_radius();

    const double along = triangle.end_along(), across = triangle.end_across();
    const double of_a = along + 2 * across * sin2, of_b = 2 * across * cos2 - along;
    for (std::size_t j = 0; j < dim; ++j)
        direction[j] = of_a * ((u[j] + v[j]) / 2) + of_b * ((v[j] - u[j]) / 2);
    normalise_or(direction, dim, r > length ? u : v);
    if (back == nullptr) return;

    const double product = 2 * triangle.product();
    double real = triangle.one_minus_product() + product * cos2;
    double imaginary = product * std::sqrt(cos2 * sin2);
    const double scale = std::max(real, imaginary);
    real /= scale;
    imaginary /= scale;
    const double square = real * real + imaginary * imaginary;
    const double cosine = (real * real - imaginary * imaginary) / square;
    const double slope = 2 * real * (product / scale) / square;  // sin of the turn, over cos(φ/2)·sin(φ/2)
    const double back_a = -(cosine + slope * sin2), back_b = -(cosine - slope * cos2);
    for (std::size_t j = 0; j < dim; ++j)
        back[j] = back_a * ((u[j] + v[j]) / 2) + back_b * ((v[j] - u[j]) / 2);
    normalise_or(back, dim, u);
}

void precise_geodesic_end(const double* u, const double* low_u, double r, const double* v, double length,
                          std::size_t dim, double* direction, double* low, double* radius, double* back) {
    geodesic_end(u, r, v, length, dim, direction, radius, back);
    if (r == 0) {
        std::fill(low, low + dim, 0.0);
        normalise(direction, low, dim);
        return;
    }
    const auto [cos2, sin2] = half_angle(u, v, dim);
    // The child's ray is cos θ·u + sin θ·w, with w the part of v at right angles to u, over sin φ.
    const Triangle triangle(r, length, cos2, sin2);
    const double cosine = (cos2 - sin2) / (cos2 + sin2), sine = 2 * std::sqrt(cos2 * sin2) / (cos2 + sin2);
    const double along = triangle.end_along(), across = triangle.end_across();
    const double whole = std::hypot(along, across * sine);
    const bool turns = whole > 0;  // the end is at the origin otherwise
    const double of_u = turns ? along / whole : 1, of_w = turns ? across / whole : 0;
    for (std::size_t j = 0; j < dim; ++j) {
        const double aside = (v[j] - u[j]) + (1 - cosine) * u[j];
        const DoubleDouble end = DoubleDouble{u[j], low_u[j]} * of_u + two_product(aside, of_w);
        direction[j] = end.high;
        low[j] = end.low;
    }
    normalise(direction, low, dim);
}

namespace {

// One set of directions for every size that a node of the tree needs: its children, and its parent's slot.
class SpreadSets {
  public:
    SpreadSets(const SarkarTree& tree, std::uint64_t seed, std::size_t steps, int threads,
               InterruptPoll& poll)
        : dim_(tree.dim) {
        std::vector<std::size_t> sizes;
        for (std::size_t i = 0; i < tree.nodes; ++i) {
            const std::size_t size = slots(tree, i);
            if (size == 0 || sets_.count(size) != 0) continue;
            sets_[size].resize(size * dim_);
            sizes.push_back(size);
        }
        // Wide sets share their own work out, narrow ones are shared out among the threads.
        std::sort(sizes.rbegin(), sizes.rend());
        const auto narrow = std::find_if(sizes.begin(), sizes.end(), [](std::size_t n) { return n < 512; });
        for (auto size = sizes.begin(); size != narrow; ++size)
            spread_sphere(*size, dim_, seed, steps, sets_[*size].data(), threads, poll);
        // Dealt like cards, so that each thread gets wide and narrow ones.
        const std::size_t left = static_cast<std::size_t>(sizes.end() - narrow);
        const std::size_t hands = static_cast<std::size_t>(threads_for(threads, left, 1));
        parallel_ranges(hands, static_cast<int>(hands), [&](std::size_t begin, std::size_t end) {
            for (std::size_t hand = begin; hand < end; ++hand)
                for (std::size_t i = hand; i < left; i += hands) {
                    const std::size_t size = *(narrow + static_cast<std::ptrdiff_t>(i));
                    spread_sphere(size, dim_, seed, steps, sets_.find(size)->second.data(), 1, poll);
                }
        });
    }

    // Directions that node i needs: one a child, and that of its parent.
    static std::size_t slots(const SarkarTree& tree, std::size_t i) {
        const std::size_t children = static_cast<std::size_t>(tree.child_count[i]);
        return children == 0 || i == 0 ? children : children + 1;
    }

    const std::vector<double>& of(std::size_t size) const { return sets_.find(size)->second; }

  private:
    std::size_t dim_;
    std::unordered_map<std::size_t, std::vector<double>> sets_;
};

class Layout {
  public:
    Layout(const SarkarTree& tree, std::uint64_t seed, std::size_t steps, double* direction, double* low,
           double* radius, int threads)
        : tree_(tree),
          seed_(seed),
          sets_(tree, seed, steps, threads, poll_),
          direction_(direction),
          low_(low),
          radius_(radius),
          first_child_(tree.nodes + 1),
          rank_(tree.nodes) {
        std::size_t next = 1, inner = 0;
        for (std::size_t i = 0; i < tree.nodes; ++i) {
            first_child_[i] = next;
            next += static_cast<std::size_t>(tree.child_count[i]);
            rank_[i] = inner;
            if (tree.child_count[i] > 0) ++inner;
        }
        first_child_[tree.nodes] = next;
        back_.resize(inner * tree.dim);
        std::fill(direction, direction + tree.dim, 0.0);
        if (low != nullptr) std::fill(low, low + tree.dim, 0.0);
        radius[0] = 0;
    }

    void run(int threads) {
        // Level by level: a node needs its parent placed, and nothing of its own level.
        std::size_t begin = 0, end = 1;
        while (begin < end) {
            parallel_ranges(end - begin, threads_for(threads, end - begin, kGrain),
                            [&](std::size_t from, std::size_t to) {
                                std::vector<double> slots, mirror(tree_.dim);
                                for (std::size_t i = begin + from; i < begin + to; ++i) {
                                    poll_.now_and_then(i);
                                    place_children(i, slots, mirror);
                                }
                            });
            const std::size_t next = first_child_[end];
            begin = end;
            end = next;
        }
    }

  private:
    void place_children(std::size_t i, std::vector<double>& slots, std::vector<double>& mirror) {
        const std::size_t size = SpreadSets::slots(tree_, i);
        if (size == 0) return;
        const std::size_t dim = tree_.dim;
        slots = sets_.of(size);
        if (dim == 2) {
            if (i > 0) turn_circle(slots, back_.data() + rank_[i] * dim);
        } else {
            // A turn of its own for every node, so that equal nodes do not all lie in one plane.
            ReproducibleRandom(seed_, i + 1).direction(mirror.data(), dim);
            reflect_rows(slots.data(), size, dim, mirror.data());
            if (i > 0) align_first(slots.data(), size, dim, back_.data() + rank_[i] * dim);
        }
        const double* v = slots.data() + (i > 0 ? dim : 0);
        for (std::size_t child = first_child_[i]; child < first_child_[i + 1]; ++child, v += dim) {
            poll_.now_and_then(child);
            double* back = tree_.child_count[child] > 0 ? back_.data() + rank_[child] * dim : nullptr;
            if (low_ == nullptr)
                geodesic_end(direction_ + i * dim, radius_[i], v, tree_.length[child], dim,
                             direction_ + child * dim, radius_ + child, back);
            else
                precise_geodesic_end(direction_ + i * dim, low_ + i * dim, radius_[i], v, tree_.length[child],
                                     dim, direction_ + child * dim, low_ + child * dim, radius_ + child,
                                     back);
        }
    }

    // Rotates the even circle so that its first angle is that of `to`.
    static void turn_circle(std::vector<double>& slots, const double* to) {
        for (std::size_t k = 0; k + 1 < slots.size(); k += 2) {
            const double x = slots[k], y = slots[k + 1];
            slots[k] = x * to[0] - y * to[1];
            slots[k + 1] = x * to[1] + y * to[0];
        }
    }

    InterruptPoll poll_;
    const SarkarTree& tree_;
    std::uint64_t seed_;
    SpreadSets sets_;
    double* direction_;
    double* low_;  // may be null
    double* radius_;
    std::vector<std::size_t> first_child_, rank_;  // rank among the nodes with children
    std::vector<double> back_;
};

}  // namespace

void sarkar_polar(const SarkarTree& tree, std::uint64_t seed, std::size_t steps, double* direction,
                  double* low, double* radius, int threads) {
    if (tree.nodes == 0) return;
    Layout(tree, seed, steps, direction, low, radius, threads).run(threads);
}

}  // namespace poincare
