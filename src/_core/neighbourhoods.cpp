#include "neighbourhoods.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kTile = 64;           // candidates whose products are taken together
constexpr std::size_t kCellsSearched = 12;  // of the √count cells
constexpr std::size_t kGrain = 64;
constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

// Candidates column by column in tiles of kTile, so that products run along the candidates.
struct Candidates {
    std::size_t dim;
    std::vector<std::uint32_t> index;
    std::vector<float> columns;

    Candidates(const PaddedRows& points, std::vector<std::uint32_t> chosen)
        : dim(points.dim), index(std::move(chosen)) {
        const std::size_t tiles = (index.size() + kTile - 1) / kTile;
        columns.assign(tiles * kTile * dim, 0.0f);
        for (std::size_t c = 0; c < index.size(); ++c) {
            const float* row = points.row(index[c]);
            float* tile = columns.data() + c / kTile * kTile * dim + c % kTile;
            for (std::size_t j = 0; j < dim; ++j) tile[j * kTile] = row[j];
        }
    }

    // Products of `x` with the candidates from `first` (a multiple of kTile) on.
    void products(const float* x, std::size_t first, float* out) const {
        const float* tile = columns.data() + first * dim;
        std::fill(out, out + kTile, 0.0f);
        for (std::size_t j = 0; j < dim; ++j, tile += kTile)
            for (std::size_t c = 0; c < kTile; ++c) out[c] += x[j] * tile[c];
    }
};

using Scored = std::pair<float, std::uint32_t>;

bool closer(const Scored& a, const Scored& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
}

// The `kept` best of a stream of scored candidates.
class Shortlist {
  public:
    explicit Shortlist(std::size_t kept) : kept_(kept) { scored_.reserve(4 * kept); }

    // Starts afresh; `own` is never taken in.
    void clear(std::uint32_t own = kNobody) {
        scored_.clear();
        least_ = -2.0f;
        own_ = own;
    }

    void add(float score, std::uint32_t index) {
        if (score < least_ || index == own_) return;
        scored_.emplace_back(score, index);
        if (scored_.size() == 4 * kept_) cut();
    }

    // The best of all, after `write`.
    std::uint32_t first() const { return std::min_element(scored_.begin(), scored_.end(), closer)->second; }

    void write(std::uint32_t own, std::uint32_t* list) {
        cut();
        std::size_t found = 0;
        for (const Scored& item : scored_) list[found++] = item.second;
        std::fill(list + found, list + kept_, own);
        std::sort(list, list + kept_);
    }

  private:
    void cut() {
        if (scored_.size() <= kept_) return;
        const auto edge = scored_.begin() + static_cast<std::ptrdiff_t>(kept_);
        std::nth_element(scored_.begin(), edge, scored_.end(), closer);
        scored_.resize(kept_);
        least_ = std::min_element(scored_.begin(), scored_.end())->first;
    }

    std::size_t kept_;
    float least_ = -2.0f;
    std::uint32_t own_ = kNobody;
    std::vector<Scored> scored_;
};

void scan(const float* x, const Candidates& candidates, Shortlist& best) {
    float product[kTile];
    const std::size_t n = candidates.index.size();
    for (std::size_t first = 0; first < n; first += kTile) {
        candidates.products(x, first, product);
        const std::size_t in_tile = std::min(kTile, n - first);
        for (std::size_t c = 0; c < in_tile; ++c) best.add(product[c], candidates.index[first + c]);
    }
}

std::vector<std::uint32_t> first_indices(std::size_t n) {
    std::vector<std::uint32_t> index(n);
    std::iota(index.begin(), index.end(), 0u);
    return index;
}

void search_all(const PaddedRows& points, std::size_t kept, std::uint32_t* lists, int threads,
                InterruptPoll& poll) {
    const Candidates everyone(points, first_indices(points.count));
    parallel_ranges(points.count, threads_for(threads, points.count, kGrain),
                    [&](std::size_t begin, std::size_t end) {
                        Shortlist best(kept);
                        for (std::size_t i = begin; i < end; ++i) {
                            poll.now_and_then(i);
                            const std::uint32_t own = static_cast<std::uint32_t>(i);
                            best.clear(own);
                            scan(points.row(i), everyone, best);
                            best.write(own, lists + i * kept);
                        }
                    });
}

// Every row is a guest in the cells of its kCellsSearched nearest pivots and looks for its neighbours in the
// cell of the nearest one: a neighbour across the border is a guest there. The pivots are the first rows, and
// random as the start is.
void search_cells(const PaddedRows& points, std::size_t kept, std::uint32_t* lists, int threads,
                  InterruptPoll& poll) {
    const std::size_t n = points.count;
    const std::size_t cells = static_cast<std::size_t>(std::sqrt(static_cast<double>(n)));
    const Candidates pivots(points, first_indices(cells));
    std::vector<std::uint32_t> visited(n * kCellsSearched), home(n);
    parallel_ranges(n, threads_for(threads, n, kGrain), [&](std::size_t begin, std::size_t end) {
        Shortlist nearby(kCellsSearched);
        for (std::size_t i = begin; i < end; ++i) {
            poll.now_and_then(i);
            nearby.clear();
            scan(points.row(i), pivots, nearby);
            std::uint32_t* cell = visited.data() + i * kCellsSearched;
            nearby.write(0, cell);
            home[i] = nearby.first();
        }
    });
    std::vector<std::vector<std::uint32_t>> guests(cells), residents(cells);
    for (std::size_t i = 0; i < n; ++i) {
        residents[home[i]].push_back(static_cast<std::uint32_t>(i));
        for (std::size_t k = 0; k < kCellsSearched; ++k)
            guests[visited[i * kCellsSearched + k]].push_back(static_cast<std::uint32_t>(i));
    }
    parallel_ranges(cells, threads_for(threads, cells, 1), [&](std::size_t begin, std::size_t end) {
        Shortlist best(kept);
        for (std::size_t cell = begin; cell < end; ++cell) {
            const Candidates candidates(points, std::move(guests[cell]));
            for (std::uint32_t own : residents[cell]) {
                poll.now_and_then(own);
                best.clear(own);
                scan(points.row(own), candidates, best);
                best.write(own, lists + own * kept);
            }
        }
    });
}

// Better lists from the neighbours of each row's neighbours (Dong, Charikar & Li 2011).
void search_neighbours(const PaddedRows& points, std::size_t kept, const std::vector<std::uint32_t>& known,
                       std::uint32_t* lists, int threads, InterruptPoll& poll) {
    parallel_ranges(points.count, threads_for(threads, points.count, kGrain),
                    [&](std::size_t begin, std::size_t end) {
                        Shortlist best(kept);
                        std::vector<std::uint32_t> seen(points.count, kNobody);
                        const auto meet = [&](std::uint32_t own, std::uint32_t other) {
                            if (seen[other] == own) return;
                            seen[other] = own;
                            best.add(dot_padded(points.row(own), points.row(other), points.width), other);
                        };
                        for (std::size_t i = begin; i < end; ++i) {
                            poll.now_and_then(i);
                            const std::uint32_t own = static_cast<std::uint32_t>(i);
                            best.clear(own);
                            for (std::size_t k = 0; k < kept; ++k) {
                                const std::uint32_t near = known[i * kept + k];
                                meet(own, near);
                                for (std::size_t l = 0; l < kept; ++l) meet(own, known[near * kept + l]);
                            }
                            best.write(own, lists + i * kept);
                        }
                    });
}

}  // namespace

void Neighbourhoods::search(const PaddedRows& points, int threads, InterruptPoll& poll) {
    if (points.count <= kExactSearch) return search_all(points, kept_, lists_.data(), threads, poll);
    search_cells(points, kept_, lists_.data(), threads, poll);
    const std::vector<std::uint32_t> known = lists_;
    search_neighbours(points, kept_, known, lists_.data(), threads, poll);
}

}  // namespace poincare
