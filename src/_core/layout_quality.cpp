#include "layout_quality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "interrupt.hpp"
#include "polar.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kGrain = 1 << 14;  // distances a thread should have to work on
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnreached = std::numeric_limits<double>::quiet_NaN();

double chord_squared(const PolarRows& points, std::size_t i, std::size_t j) {
    const std::size_t dim = points.dim;
    const double *u = points.direction + i * dim, *v = points.direction + j * dim;
    double sum = 0;
    if (points.low == nullptr) {
        for (std::size_t k = 0; k < dim; ++k) sum += (u[k] - v[k]) * (u[k] - v[k]);
        return sum;
    }
    const double *low_u = points.low + i * dim, *low_v = points.low + j * dim;
    for (std::size_t k = 0; k < dim; ++k) {
        const double difference = u[k] - v[k];
        const double of_v = u[k] - difference;  // what rounding took from the difference, exactly
        const double lost = (u[k] - (difference + of_v)) + (of_v - v[k]);
        const double gap = difference + (lost + (low_u[k] - low_v[k]));
        sum += gap * gap;
    }
    return sum;
}

// Everything from one node at a time; keeps its arrays.
class Source {
  public:
    Source(const PolarRows& points, const ParentTree& tree)
        : points_(points), tree_(tree), in_tree_(tree.nodes), gaps_(tree.nodes) {}

    NodeQuality measure(std::size_t source) {
        walk(source);
        NodeQuality quality = {0, kInfinity, 0, kUnreached, 0};
        for (std::size_t i = 0; i < tree_.nodes; ++i) {
            if (i == source) continue;
            gaps_[i] = polar_rows_distance(points_, source, i);
            if (!(in_tree_[i] > 0)) continue;  // another tree, or the same place
            const double ratio = gaps_[i] / in_tree_[i];
            quality.error += std::fabs(ratio - 1);
            quality.least = std::min(quality.least, ratio);
            quality.largest = std::max(quality.largest, ratio);
            ++quality.pairs;
        }
        quality.precision = precision(source);
        return quality;
    }

  private:
    // Distances along the edges: up to the root, then down from whatever is known.
    void walk(std::size_t source) {
        std::fill(in_tree_.begin(), in_tree_.end(), kUnreached);
        in_tree_[source] = 0;
        for (std::size_t at = source; tree_.parent[at] >= 0;) {
            const std::size_t above = static_cast<std::size_t>(tree_.parent[at]);
            in_tree_[above] = in_tree_[at] + tree_.length[at];
            at = above;
        }
        for (std::size_t i = 0; i < tree_.nodes; ++i)
            if (std::isnan(in_tree_[i]) && tree_.parent[i] >= 0)
                in_tree_[i] = in_tree_[static_cast<std::size_t>(tree_.parent[i])] + tree_.length[i];
    }

    // A node that is no neighbour counts as closer than the neighbours at its own distance and beyond.
    double precision(std::size_t source) {
        const std::int32_t* const end = tree_.parent + tree_.nodes;
        const auto children = std::equal_range(tree_.parent, end, static_cast<std::int32_t>(source));
        const std::size_t first = static_cast<std::size_t>(children.first - tree_.parent);
        const std::size_t last = static_cast<std::size_t>(children.second - tree_.parent);
        const std::int32_t parent = tree_.parent[source];
        near_.assign(gaps_.begin() + static_cast<std::ptrdiff_t>(first),
                     gaps_.begin() + static_cast<std::ptrdiff_t>(last));
        if (parent >= 0) near_.push_back(gaps_[static_cast<std::size_t>(parent)]);
        if (near_.empty()) return kUnreached;
        std::sort(near_.begin(), near_.end());
        closer_.assign(near_.size() + 1, 0);
        for (std::size_t i = 0; i < tree_.nodes; ++i) {
            if (i == source || (i >= first && i < last) || static_cast<std::int32_t>(i) == parent) continue;
            ++closer_[static_cast<std::size_t>(std::lower_bound(near_.begin(), near_.end(), gaps_[i]) -
                                               near_.begin())];
        }
        double sum = 0, before = 0;
        for (std::size_t k = 0; k < near_.size(); ++k) {
            before += static_cast<double>(closer_[k]);
            const double place = static_cast<double>(k + 1);
            sum += place / (place + before);
        }
        return sum / static_cast<double>(near_.size());
    }

    const PolarRows& points_;
    const ParentTree& tree_;
    std::vector<double> in_tree_, gaps_, near_;
    std::vector<std::size_t> closer_;
};

}  // namespace

double polar_rows_distance(const PolarRows& points, std::size_t i, std::size_t j) {
    return polar_distance(points.radius[i], points.radius[j], chord_squared(points, i, j));
}

void polar_pair_distances(const PolarRows& points, const std::int32_t* first, const std::int32_t* second,
                          std::size_t count, double* out, int threads) {
    parallel_ranges(count, threads_for(threads, count, kGrain), [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k)
            out[k] = polar_rows_distance(points, static_cast<std::size_t>(first[k]),
                                         static_cast<std::size_t>(second[k]));
    });
}

void layout_quality(const PolarRows& points, const ParentTree& tree, const std::int32_t* sources,
                    std::size_t count, NodeQuality* out, int threads) {
    InterruptPoll poll;
    parallel_ranges(count, threads_for(threads, count * tree.nodes, kGrain),
                    [&](std::size_t begin, std::size_t end) {
                        Source source(points, tree);
                        for (std::size_t k = begin; k < end; ++k) {
                            poll();
                            out[k] = source.measure(static_cast<std::size_t>(sources[k]));
                        }
                    });
}

}  // namespace poincare
