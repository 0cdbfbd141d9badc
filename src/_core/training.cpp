#include "training.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "cpu.hpp"
#include "huge_pages.hpp"
#include "interrupt.hpp"
#include "lanes.hpp"
#include "manifolds.hpp"
#include "numerics.hpp"
#include "sampling.hpp"
#include "softmax.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kAhead = 3;  // pairs whose rows are on their way while one is computed
constexpr std::size_t kRing = kAhead + 1;
constexpr std::size_t kBetweenPolls = 4096;  // pairs
constexpr std::size_t kGrain = 1000;         // pairs a thread should have to look at
constexpr std::size_t kInCache = 4 << 20;    // bytes of rows; beyond, negatives are drawn of a pool

template <typename Real>
bool is_large(std::size_t nodes, std::size_t stride) {
    return nodes * stride * sizeof(Real) > kInCache;
}

// Coordinates of a row are loaded times this: 0 in the lanes that hold none, else 1.
template <typename Real, std::size_t N>
struct RowMask {
    std::size_t last;  // where the last vector of a row begins
    Lanes<Real, N> ones, of_last;

    RowMask(std::size_t dim, std::size_t stride) : last(stride - N) {
        Real one[N];
        std::fill(one, one + N, Real{1});
        load(ones, one);
        std::fill(one + (dim - last), one + N, Real{0});
        load(of_last, one);
    }
    POINCARE_INLINE const Lanes<Real, N>& at(std::size_t c) const { return c == last ? of_last : ones; }
};

template <typename Real, std::size_t N>
POINCARE_INLINE void squared_gaps(const Real* u, std::size_t stride, std::size_t n,
                                  const RowMask<Real, N>& coordinates, Scratch<Real, N>& w) {
    using Vector = Lanes<Real, N>;
    for (std::size_t c = 0; c < stride; c += N) {
        const Vector mask = coordinates.at(c);
        Vector node;
        load(node, u + c);
        for (std::size_t k = 0; k < n; ++k) {
            Vector x;
            load(x, w.row[k] + c);
            const Vector gap = (node - x) * mask;
            Vector squares = gap * gap;
            if (c > 0) {
                load(x, &w.squares[k * N]);
                squares = x + squares;
            }
            store(&w.squares[k * N], squares);
        }
    }
    for (std::size_t k = 0; k < n; ++k) {
        Vector squares;
        load(squares, &w.squares[k * N]);
        w.squared_gap[k] = sum_lanes<Real, N>(squares);
    }
}

// Moves all rows of the sample; w.squares receives their squared norms. A negative drawn twice takes both
// steps, one after the other. What lies in a free lane stays: other threads may read it. Returns the squared
// norm of u.
template <typename Real, std::size_t N>
POINCARE_INLINE Real move_rows(Real* u, std::size_t stride, std::size_t n,
                               const RowMask<Real, N>& coordinates, Scratch<Real, N>& w) {
    using Vector = Lanes<Real, N>;
    Real shrink = sum_in_order(w.shrink_node.data(), n);
    Vector node_squares{};
    for (std::size_t c = 0; c < stride; c += N) {
        const Vector mask = coordinates.at(c);
        Vector row, node, step;
        load(row, u + c);
        node = row * mask;
        step = node * shrink;
        for (std::size_t k = 0; k < n; ++k) {
            Vector other, x, squares;
            load(other, w.row[k] + c);
            x = other * mask;
            const Vector gap = node - x;
            step = step + gap * w.pull_node[k];
            other = (other - x * w.shrink_other[k]) + gap * w.pull_other[k];
            store(w.row[k] + c, other);
            squares = other * (other * mask);
            if (c > 0) {
                load(x, &w.squares[k * N]);
                squares = x + squares;
            }
            store(&w.squares[k * N], squares);
        }
        row = row - step;
        store(u + c, row);
        node_squares = node_squares + row * (row * mask);
    }
    return sum_lanes<Real, N>(node_squares);
}

template <typename Real, typename Geometry>
struct Epoch {
    Real* points;
    std::size_t dim, stride;
    const ShuffledPairs& pairs;
    const NegativeSampler& sampler;
    const EpochSettings& settings;
    bool large;     // rows do not fit the cache
    bool filtered;  // rows hold filters
    Geometry geometry;
    InterruptPoll& poll;

    // The pairs of [begin, end); the sum of their losses.
    template <std::size_t N>
    POINCARE_INLINE double run(std::size_t begin, std::size_t end, RandomState& random) const {
        Scratch<Real, N> scratch(sampler.most_others());
        const RowMask<Real, N> coordinates(dim, stride);
        const Softmax softmax(settings.temperature);
        LogSum loss;
        NegativePool pool;
        if (large) pool.fill([&] { return sampler.any(random); });
        Sample ring[kRing];
        for (Sample& sample : ring) sample.other.resize(sampler.most_others());
        for (std::size_t i = begin; i < end + kAhead; ++i) {
            if (i % kBetweenPolls == 0) poll();
            fetch_excluded(i, end);
            if (i < end) announce(ring[i % kRing], i, pool, random);
            if (i >= begin + kAhead)
                learn<N>(ring[(i - kAhead) % kRing], coordinates, scratch, softmax, loss);
        }
        return loss.total();
    }

    // Notes in every row, or beside it, what the geometry keeps there, and the filter.
    template <std::size_t N>
    POINCARE_INLINE void settle_all(std::size_t nodes) const {
        for (std::size_t i = 0; i < nodes; ++i) {
            Real* const row = points + i * stride;
            Lanes<Real, N> squares{}, x;
            for (std::size_t c = 0; c < stride; c += N) {
                load(x, row + c);
                squares = squares + x * x;
            }
            const std::int32_t node = static_cast<std::int32_t>(i);
            geometry.settle(node, row, dim, sum_lanes<Real, N>(squares));
            if (filtered) FilterLanes<Real>::store(sampler.filter_of(node), row + dim);
        }
    }

    template <std::size_t N>
    POINCARE_INLINE void learn(const Sample& sample, const RowMask<Real, N>& coordinates, Scratch<Real, N>& w,
                               const Softmax& softmax, LogSum& loss) const {
        const std::size_t n = sample.others;
        Real* const u = points + static_cast<std::size_t>(sample.node) * stride;
        for (std::size_t k = 0; k < n; ++k) {
            w.row[k] = points + static_cast<std::size_t>(sample.other[k]) * stride;
            w.side[k] = geometry.side.of(sample.other[k]);
        }
        squared_gaps<Real, N>(u, stride, n, coordinates, w);
        geometry.steps(geometry.side.of(sample.node), n, w, static_cast<Real>(settings.rate), softmax, loss);
        const Real node_norm = move_rows<Real, N>(u, stride, n, coordinates, w);
        geometry.settle(sample.node, u, dim, node_norm);
        for (std::size_t k = 0; k < n; ++k) {
            Lanes<Real, N> squares;
            load(squares, &w.squares[k * N]);
            geometry.settle(sample.other[k], w.row[k], dim, sum_lanes<Real, N>(squares));
        }
    }

    // The list of a pair to come, in steps, since where it lies has to be fetched first; of a row that has a
    // filter the row.
    POINCARE_INLINE void fetch_excluded(std::size_t i, std::size_t end) const {
        const ExcludedNodes& excluded = sampler.excluded;
        if (excluded.start == nullptr) return;
        if (filtered && i + 3 * kAhead < end) prefetch_row(pairs.of[i + 3 * kAhead].source);
        if (i + 2 * kAhead < end) {
            const std::int32_t u = pairs.of[i + 2 * kAhead].source;
            if (filter_in_row(u).holds_everything()) prefetch(excluded.start + u);
        }
        if (i + kAhead >= end) return;
        const std::int32_t u = pairs.of[i + kAhead].source;
        if (!filter_in_row(u).holds_everything()) return;
        const std::int64_t* const start = excluded.start + u;
        prefetch(excluded.shifted + start[0]);
        prefetch(excluded.shifted + start[1] - 1);  // of a short list its other line, if it has two
    }

    POINCARE_INLINE RelatedFilter filter_in_row(std::int32_t node) const {
        if (!filtered) return RelatedFilter();
        return FilterLanes<Real>::load(points + static_cast<std::size_t>(node) * stride + dim);
    }

    POINCARE_INLINE void announce(Sample& sample, std::size_t i, NegativePool& pool,
                                  RandomState& random) const {
        if (pool.used())
            pool.renew(sampler.negatives, [&] {
                const std::int32_t node = sampler.any(random);
                prefetch_row(node);
                return node;
            });
        const ShuffledPairs::Pair& pair = pairs.of[i];
        sampler.draw(sample, pair.source, pair.target, pool, filter_in_row(pair.source), random);
        prefetch_row(sample.node);
        for (std::size_t k = 0; k < sample.others; ++k) prefetch_row(sample.other[k]);
    }

    POINCARE_INLINE void prefetch_row(std::int32_t node) const {
        const Real* const row = points + static_cast<std::size_t>(node) * stride;
        for (std::size_t c = 0; c < stride; c += kCacheLine / sizeof(Real)) prefetch(row + c);
        if (geometry.side.apart()) prefetch(&geometry.side.of(node));
    }
};

template <typename Real>
constexpr std::size_t kLanes = 32 / sizeof(Real);

#define POINCARE_EPOCH(TAG, ATTRIBUTE)                                                                 \
    template <typename Real, typename Geometry>                                                        \
    ATTRIBUTE double run_##TAG(const Epoch<Real, Geometry>& epoch, std::size_t begin, std::size_t end, \
                               RandomState& random) {                                                  \
        return epoch.template run<kLanes<Real>>(begin, end, random);                                   \
    }
POINCARE_EPOCH(baseline, )
#ifdef POINCARE_WIDE_LEVELS
POINCARE_EPOCH(avx2, POINCARE_AVX2)
#endif

template <typename Real, typename Geometry>
double run(const Epoch<Real, Geometry>& epoch, std::size_t begin, std::size_t end, RandomState& random) {
#ifdef POINCARE_WIDE_LEVELS
    // Rows are short: 512-bit code was measured to be no faster in float32 and slower in float64.
    if (simd_level() != SimdLevel::baseline) return run_avx2(epoch, begin, end, random);
#endif
    return run_baseline(epoch, begin, end, random);
}

// Clears the free lanes of every row at the end of an epoch, also of one that an interrupt ends: past the
// dimension rows are zero.
template <typename Real>
class ClearedLanes {
  public:
    ClearedLanes(Real* points, std::size_t nodes, std::size_t dim, std::size_t stride)
        : points_(points), nodes_(nodes), dim_(dim), stride_(stride) {}
    ~ClearedLanes() {
        if (dim_ == stride_) return;
        for (std::size_t i = 0; i < nodes_; ++i)
            std::fill(points_ + i * stride_ + dim_, points_ + (i + 1) * stride_, Real{0});
    }
    ClearedLanes(const ClearedLanes&) = delete;
    ClearedLanes& operator=(const ClearedLanes&) = delete;

  private:
    Real* points_;
    std::size_t nodes_, dim_, stride_;
};

// Whether free lanes are enough for a filter beside what the geometry keeps in the last one.
template <typename Real>
bool is_filtered(std::size_t nodes, std::size_t dim, std::size_t stride, const ExcludedNodes& excluded) {
    return excluded.start != nullptr && is_large<Real>(nodes, stride) &&
           dim + FilterLanes<Real>::kCount < stride;
}

// What the piece of the pairs that begins at `begin` draws from.
RandomState state_of_piece(const RandomState& random, std::size_t begin) {
    if (begin == 0) return random;
    RandomState own = random;
    own.word[0] ^= 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(begin);
    constexpr int kMixing = 20;
    for (int i = 0; i < kMixing; ++i) next_random(own);
    return own;
}

template <typename Real, template <typename> typename Geometry>
double train_on(Real* points, std::size_t nodes, std::size_t dim, std::size_t stride,
                const TrainingPairs& pairs, const NegativeSampler& sampler, const EpochSettings& settings,
                RandomState& random) {
    const bool last_lane_is_free = dim < stride;
    std::vector<Real> beside(last_lane_is_free ? 0 : nodes);
    const Side<Real> side =
        last_lane_is_free ? Side<Real>{points + stride - 1, stride} : Side<Real>{beside.data(), 1};
    InterruptPoll poll;
    const bool large = is_large<Real>(nodes, stride);
    const ShuffledPairs shuffled(pairs, random, poll);
    const bool filtered = is_filtered<Real>(nodes, dim, stride, sampler.excluded);
    const Epoch<Real, Geometry<Real>> epoch{
        points, dim, stride, shuffled, sampler, settings, large, filtered, Geometry<Real>{side}, poll};
    const ClearedLanes<Real> cleared(points, nodes, dim, stride);
    epoch.template settle_all<kLanes<Real>>(nodes);
    double total = 0;
    std::mutex guard;
    const int threads = settings.threads == 1 ? 1 : threads_for(settings.threads, pairs.count, kGrain);
    parallel_ranges(pairs.count, threads, [&](std::size_t begin, std::size_t end) {
        RandomState own = state_of_piece(random, begin);
        const double loss = run(epoch, begin, end, own);
        const std::lock_guard<std::mutex> hold(guard);
        total += loss;
    });
    return total;
}

}  // namespace

template <typename Real>
std::size_t training_stride(std::size_t dim) {
    return (dim + kLanes<Real> - 1) / kLanes<Real> * kLanes<Real>;
}

template <typename Real>
double train_epoch(Real* points, std::size_t nodes, std::size_t dim, std::size_t stride,
                   const TrainingPairs& pairs, const ExcludedNodes& excluded, const NodeWeights& weights,
                   const IntruderTable& intruders, const EpochSettings& settings, RandomState random) {
    // Where lists begin is looked up at random, too, but where filters tell most.
    std::vector<std::int64_t, HugePages<std::int64_t>> begins;
    ExcludedNodes lists = excluded;
    if (excluded.start != nullptr && is_large<Real>(nodes, stride) &&
        !is_filtered<Real>(nodes, dim, stride, excluded)) {
        begins.assign(excluded.start, excluded.start + nodes + 1);
        lists.start = begins.data();
    }
    const NegativeSampler sampler{nodes,
                                  lists,
                                  weights,
                                  intruders,
                                  settings.negatives,
                                  static_cast<std::uint32_t>(random.word[0] >> 32)};
    switch (settings.manifold) {
        case Manifold::poincare:
            return train_on<Real, Ball>(points, nodes, dim, stride, pairs, sampler, settings, random);
        case Manifold::lorentz:
            return train_on<Real, Hyperboloid>(points, nodes, dim, stride, pairs, sampler, settings, random);
        case Manifold::euclidean:
            break;
    }
    return train_on<Real, Euclidean>(points, nodes, dim, stride, pairs, sampler, settings, random);
}

#define POINCARE_INSTANTIATE(Real)                                                                        \
    template std::size_t training_stride<Real>(std::size_t);                                              \
    template double train_epoch<Real>(Real*, std::size_t, std::size_t, std::size_t, const TrainingPairs&, \
                                      const ExcludedNodes&, const NodeWeights&, const IntruderTable&,     \
                                      const EpochSettings&, RandomState);
POINCARE_INSTANTIATE(float)
POINCARE_INSTANTIATE(double)

}  // namespace poincare
