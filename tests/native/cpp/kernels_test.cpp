// Kernels of random shapes, called from several threads at once on shared columns, against plain loops in
// long double or double. Buffers are as long as they must be and no longer: a step beyond is an error that
// AddressSanitizer sees.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "checking.hpp"
#include "cone_members.hpp"
#include "decay.hpp"
#include "hashing.hpp"
#include "layout_quality.hpp"
#include "numerics.hpp"
#include "optimistic.hpp"
#include "placement.hpp"
#include "rows.hpp"
#include "sampling.hpp"
#include "sarkar.hpp"
#include "scan.hpp"
#include "spreading.hpp"
#include "tree.hpp"

namespace {

using checking::below;
using checking::Random;
using checking::uniform;

constexpr std::size_t kThreads = 4;

bool close(double x, double y, double tolerance) {
    return x == y || std::abs(x - y) <= tolerance * std::max({1.0, std::abs(x), std::abs(y)});
}

void rows_of_any_length(Random& random) {
    const std::size_t n = below(random, 70);
    const std::size_t count = 1 + below(random, 9);
    std::vector<float> query(n), matrix(n * count), out(count);
    std::vector<double> x(n), y(n);
    for (float& value : query) value = static_cast<float>(uniform(random, -1, 1));
    for (float& value : matrix) value = static_cast<float>(uniform(random, -1, 1));
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = uniform(random, -1, 1);
        y[i] = uniform(random, -1, 1);
    }
    long double inner = 0, gap = 0;
    for (std::size_t i = 0; i < n; ++i) {
        inner += static_cast<long double>(x[i]) * y[i];
        gap += (static_cast<long double>(x[i]) - y[i]) * (static_cast<long double>(x[i]) - y[i]);
    }
    CHECK(close(poincare::dot(x.data(), y.data(), n), static_cast<double>(inner), 1e-14));
    CHECK(close(poincare::squared_gap(x.data(), y.data(), n), static_cast<double>(gap), 1e-14));
    std::vector<std::int32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    poincare::dots_f32(query.data(), matrix.data(), order.data(), 0, count, n, out.data());
    for (std::size_t r = 0; r < count; ++r)
        CHECK(out[r] ==
              poincare::dot(query.data(), matrix.data() + n * static_cast<std::size_t>(order[r]), n));
    poincare::dots_f32(query.data(), matrix.data(), nullptr, 0, count, n, out.data());
    for (std::size_t r = 0; r < count; ++r)
        CHECK(out[r] == poincare::dot(query.data(), matrix.data() + n * r, n));
}

// A random store: a tree placed by the kernel, times, accesses; some rows without direction.
struct Store {
    std::size_t dim, n;
    double sqrt_c;
    std::vector<double> embedding, direction, radius;
    std::vector<float> code_scale, code_error;
    std::vector<std::int8_t> codes;
    std::vector<std::int32_t> level, parent, first_child, last_child, next, previous, rows;
    std::vector<std::uint8_t> directed, learnt;
    std::vector<std::int64_t> t, accesses, valid_from, valid_until;

    explicit Store(Random& random)
        : dim(1 + below(random, 40)),
          n(1 + below(random, 120)),
          sqrt_c(std::sqrt(uniform(random, 0.1, 4))),
          embedding(n * dim),
          direction(n * dim),
          radius(n),
          code_scale(n),
          code_error(n),
          codes(n * poincare::code_stride(dim)),
          level(n),
          parent(n, -1),
          first_child(n, -1),
          last_child(n, -1),
          next(n, -1),
          previous(n, -1),
          rows(n),
          directed(n),
          learnt(n),
          t(n),
          accesses(n),
          valid_from(n, poincare::kMissingInstant),
          valid_until(n, poincare::kMissingInstant) {
        std::vector<std::int32_t> parents(n, -1);
        for (std::size_t i = 0; i < n; ++i) {
            rows[i] = static_cast<std::int32_t>(i);
            if (below(random, 10) != 0) {
                const std::vector<double> unit = checking::unit_vector(random, dim);
                std::copy(unit.begin(), unit.end(), embedding.begin() + static_cast<std::ptrdiff_t>(i * dim));
            }
            if (i > 0 && below(random, 5) != 0) parents[i] = static_cast<std::int32_t>(below(random, i));
            t[i] = static_cast<std::int64_t>(below(random, 1000000000));
            accesses[i] = static_cast<std::int64_t>(below(random, 5));
            if (below(random, 3) == 0) valid_until[i] = t[i];
            if (below(random, 6) == 0) {
                const std::vector<double> unit = checking::unit_vector(random, dim);
                std::copy(unit.begin(), unit.end(), direction.begin() + static_cast<std::ptrdiff_t>(i * dim));
                learnt[i] = directed[i] = 1;
                radius[i] = uniform(random, 0.01, 3);
            }
        }
        poincare::attach_rows(links(), rows.data(), parents.data(), n);
    }

    poincare::TreeLinks links() {
        return {parent.data(), first_child.data(), last_child.data(), next.data(), previous.data()};
    }

    void place(Random& random) {
        const poincare::PlacementRule rule{uniform(random, 0.1, 2), uniform(random, 0.1, 2),
                                           uniform(random, 0, 1),   sqrt_c,
                                           below(random, 2) == 0,   0.1};
        const poincare::PlacementColumns<double> columns{
            embedding.data(), direction.data(), radius.data(), level.data(),
            parent.data(),    directed.data(),  learnt.data(), dim};
        const std::vector<double> given = radius;
        poincare::place_rows(columns, rows.data(), n, rule, 1);
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t above = parent[i];
            CHECK(level[i] == (above < 0 ? 0 : level[static_cast<std::size_t>(above)] + 1));
            const bool is_below = above >= 0 && learnt[static_cast<std::size_t>(above)] != 0;
            CHECK(learnt[i] == 1 || learnt[i] == (is_below ? 2 : 0));
            if (learnt[i] == 1)
                CHECK(radius[i] == given[i]);
            else if (is_below)
                CHECK(radius[i] == radius[static_cast<std::size_t>(above)] + rule.depth_step);
            else
                CHECK(close(radius[i], rule.base_depth + level[i] * rule.depth_step, 1e-12));
            double square = 0;
            for (std::size_t j = 0; j < dim; ++j) square += direction[i * dim + j] * direction[i * dim + j];
            CHECK(directed[i] ? std::abs(square - 1) < 1e-9 : square == 0);
        }
        poincare::encode_rows(direction.data(), nullptr, n, dim, codes.data(), code_scale.data(),
                              code_error.data(), 1);
        for (std::size_t i = 0; i < n; ++i) check_code(i);
    }

    void check_code(std::size_t row) const {
        long double square = 0;
        const std::int8_t* code = codes.data() + row * poincare::code_stride(dim);
        for (std::size_t j = 0; j < dim; ++j) {
            const long double gap = static_cast<long double>(direction[row * dim + j]) -
                                    static_cast<long double>(code_scale[row]) * code[j];
            square += gap * gap;
        }
        CHECK(std::sqrt(square) <= static_cast<long double>(code_error[row]));
    }

    poincare::ScanColumns columns() const {
        return {direction.data(),
                {codes.data(), code_scale.data(), code_error.data(), poincare::code_stride(dim)},
                radius.data(),
                directed.data(),
                {t.data(), accesses.data(), valid_from.data(), valid_until.data()},
                dim};
    }
};

double distance(const Store& store, std::size_t row, const double* query, double r, bool shell) {
    const double s = shell ? r : store.radius[row];
    if (!query || !store.directed[row])
        return shell ? 2 / store.sqrt_c * std::asinh(std::sinh(store.sqrt_c * r)) : r + s;
    long double gap = 0;
    for (std::size_t j = 0; j < store.dim; ++j) {
        const long double difference =
            static_cast<long double>(query[j]) - store.direction[row * store.dim + j];
        gap += difference * difference;
    }
    const long double a = std::sinh(store.sqrt_c * (r - s) / 2.0L), c = store.sqrt_c;
    const long double q = a * a + std::sinh(c * r) * std::sinh(c * s) * gap / 4;
    return static_cast<double>(2 / c * std::asinh(std::sqrt(q)));
}

// An optimistic score is at least the score and not far above it, also where scores are too low for float32.
void low_scores(const Store& store, Random& random) {
    const double bias = -std::pow(10.0, uniform(random, 0, 200));
    const poincare::ScanQuery query{};
    const poincare::ScanScoring scoring{store.sqrt_c, bias, 0, nullptr, 0, 0, nullptr, nullptr};
    const poincare::ScanCandidates candidates{nullptr, store.n};
    const poincare::ScanColumns columns = store.columns();
    std::vector<float> above(store.n);
    poincare::OptimisticScores(columns, query, scoring, candidates)(0, store.n, above.data());
    for (std::size_t i = 0; i < store.n; ++i) {
        const double score = bias * store.radius[i];
        CHECK(static_cast<double>(above[i]) >= score);
        CHECK(static_cast<double>(above[i]) <= std::max(score, -1e38) * (1 - 1e-6) + 1e-39);
    }
}

void scan(const Store& store, Random& random) {
    const bool shell = below(random, 2) == 0;
    const std::vector<double> unit = checking::unit_vector(random, store.dim);
    const bool lost = below(random, 8) == 0;
    const poincare::ScanQuery query{shell ? poincare::ScanMetric::shell : poincare::ScanMetric::hyperbolic,
                                    lost ? nullptr : unit.data(), uniform(random, 0.1, 4)};
    const double rows_of_factors[] = {0, 2.0, 0, 1, 5.0, 0.5, 2, 0.01, 0};
    const std::vector<poincare::DecayFactor> factors = poincare::decay_factors(rows_of_factors, 3);
    const poincare::ScanScoring scoring{store.sqrt_c,
                                        uniform(random, -1, 1),
                                        uniform(random, -1, 2),
                                        factors.data(),
                                        factors.size(),
                                        2000000000,
                                        nullptr,
                                        nullptr};
    std::vector<std::int32_t> candidates(store.rows);
    std::shuffle(candidates.begin(), candidates.end(), random);
    candidates.resize(1 + below(random, store.n));
    candidates.shrink_to_fit();
    std::vector<std::uint8_t> mask(candidates.size());
    for (std::uint8_t& flag : mask) flag = below(random, 3) != 0;
    const std::size_t k = 1 + below(random, candidates.size() + 3);
    std::vector<poincare::ScanHit> hits(k);
    const std::size_t found = poincare::scan_top_k_of_passing(store.columns(), query, scoring,
                                                              {candidates.data(), candidates.size()},
                                                              mask.data(), k, hits.data(), 1);
    const std::size_t passing = static_cast<std::size_t>(std::count(mask.begin(), mask.end(), 1));
    CHECK(found == std::min(k, passing));

    std::vector<double> scores;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (!mask[i]) continue;
        const std::size_t row = static_cast<std::size_t>(candidates[i]);
        const double d = distance(store, row, lost ? nullptr : unit.data(), query.radius, shell);
        const double weight =
            poincare::log_weight(factors.data(), factors.size(), scoring.now, store.t[row],
                                 store.accesses[row], store.valid_from[row], store.valid_until[row]);
        scores.push_back(-d + scoring.depth_bias * store.radius[row] + scoring.time_coef * weight);
    }
    std::sort(scores.rbegin(), scores.rend());
    for (std::size_t i = 0; i < found; ++i) {
        CHECK(close(hits[i].score, scores[i], 1e-9));
        CHECK(mask[static_cast<std::size_t>(hits[i].position)] != 0);
        CHECK(i == 0 || hits[i - 1].score >= hits[i].score);
    }
}

void walk(Store& store, Random& random) {
    const std::int32_t root = static_cast<std::int32_t>(below(random, store.n));
    const auto below_root =
        poincare::subtree_rows(store.parent.data(), store.last_child.data(), store.previous.data(), root);
    CHECK(below_root.front() == root);
    std::size_t expected = 0;
    for (std::size_t i = 0; i < store.n; ++i) {
        std::int32_t at = static_cast<std::int32_t>(i);
        while (at >= 0 && at != root) at = store.parent[static_cast<std::size_t>(at)];
        expected += at == root;
    }
    CHECK(below_root.size() == expected);
    if (store.parent[static_cast<std::size_t>(root)] >= 0) {
        poincare::detach_row(store.links(), root);
        CHECK(store.parent[static_cast<std::size_t>(root)] == -1);
        const std::int32_t none = -1;
        poincare::attach_rows(store.links(), &root, &none, 1);
    }
}

void cones_and_points(const Store& store, Random& random) {
    const auto apex = static_cast<std::int32_t>(below(random, store.n));
    const poincare::ConeColumns columns{store.direction.data(), store.columns().coded, store.radius.data(),
                                        store.directed.data(), store.dim};
    const auto members =
        poincare::cone_members(columns, store.rows.data(), store.n, apex, 0.1, store.sqrt_c, 1);
    CHECK(members.rows.size() == members.energies.size());
    for (std::size_t i = 0; i < members.rows.size(); ++i) {
        CHECK(members.rows[i] != apex);
        CHECK(members.energies[i] >= 0 && members.energies[i] <= poincare::kConeTolerance);
    }
    std::vector<double> points(store.n * store.dim);
    poincare::points_of_rows(store.direction.data(), store.radius.data(), store.rows.data(), store.n,
                             store.dim, store.sqrt_c, points.data(), 1);
    for (std::size_t i = 0; i < store.n; ++i) {
        double square = 0;
        for (std::size_t j = 0; j < store.dim; ++j)
            square += points[i * store.dim + j] * points[i * store.dim + j];
        CHECK(std::sqrt(square) * store.sqrt_c < 1);
    }
}

void texts(Random& random) {
    const std::vector<std::uint8_t> is_word((0x110000 + 7) / 8, 0x7e);
    std::vector<std::vector<std::uint32_t>> wide(1 + below(random, 5));
    std::vector<poincare::TextView> views;
    for (auto& text : wide) {
        text.resize(below(random, 40));
        for (std::uint32_t& c : text)
            c = static_cast<std::uint32_t>(below(random, below(random, 2) ? 128 : 0x110000));
        text.shrink_to_fit();
        views.push_back({text.data(), text.size(), 4});
    }
    const poincare::HashingOptions options{1 + below(random, 50), 1 + below(random, 3), 3 + below(random, 4),
                                           0};
    std::vector<double> rows(views.size() * options.dim, -1);
    poincare::hash_texts(views.data(), views.size(), is_word.data(), options, rows.data(), 1);
    for (std::size_t i = 0; i < views.size(); ++i) {
        double square = 0;
        for (std::size_t j = 0; j < options.dim; ++j)
            square += rows[i * options.dim + j] * rows[i * options.dim + j];
        CHECK(square == 0 || std::abs(square - 1) < 1e-9);
    }
}

void spread(Random& random) {
    const std::size_t dim = 2 + below(random, 5), count = 1 + below(random, 30);
    std::vector<double> out(count * dim);
    poincare::spread_sphere(count, dim, below(random, 100), 5, out.data(), 1);
    for (std::size_t i = 0; i < count; ++i) {
        double square = 0;
        for (std::size_t j = 0; j < dim; ++j) square += out[i * dim + j] * out[i * dim + j];
        CHECK(std::abs(square - 1) < 1e-9);
    }
}

// A random tree laid out, plainly and in double-double, and measured: edges have their lengths.
void layout(Random& random) {
    const std::size_t n = 2 + below(random, 40), dim = 2 + below(random, 4);
    std::vector<std::int32_t> parent(n, -1), sources(n);
    std::vector<std::int64_t> child_count(n);
    std::vector<double> length(n), direction(n * dim), low(n * dim), radius(n), distances(n);
    for (std::size_t i = 0; i < n; ++i) {
        sources[i] = static_cast<std::int32_t>(i);
        length[i] = uniform(random, 0.1, 0.5);
        if (i == 0) continue;
        const std::size_t first = static_cast<std::size_t>(std::max(parent[i - 1], 0));
        parent[i] = static_cast<std::int32_t>(first + below(random, i - first));  // in breadth-first order
        ++child_count[static_cast<std::size_t>(parent[i])];
    }
    const bool precise = below(random, 2) == 0;
    poincare::sarkar_polar({child_count.data(), length.data(), n, dim}, below(random, 9), 5, direction.data(),
                           precise ? low.data() : nullptr, radius.data(), 1);
    const poincare::PolarRows points{direction.data(), precise ? low.data() : nullptr, radius.data(), dim};
    poincare::polar_pair_distances(points, sources.data() + 1, parent.data() + 1, n - 1, distances.data(), 1);
    for (std::size_t i = 1; i < n; ++i) CHECK(close(distances[i - 1], length[i], precise ? 1e-10 : 1e-5));
    std::vector<poincare::NodeQuality> quality(n);
    poincare::layout_quality(points, {parent.data(), length.data(), n}, sources.data(), n, quality.data(), 1);
    for (const poincare::NodeQuality& of_node : quality) {
        CHECK(of_node.pairs == static_cast<std::int64_t>(n) - 1);
        CHECK(of_node.least > 0 && of_node.largest < 1 + 1e-5);  // the tree is the longest way
        CHECK(of_node.precision > 0 && of_node.precision <= 1);
    }
}

// Every pair once, and where it goes says nothing of where it was: many pairs go through bins, few do not.
void order_of_pairs() {
    for (const std::size_t n : {std::size_t{1000}, std::size_t{300'000}}) {
        std::vector<std::int32_t> source(n), target(n);
        for (std::size_t i = 0; i < n; ++i) {
            source[i] = static_cast<std::int32_t>(i);
            target[i] = -source[i];
        }
        poincare::RandomState random{{1, 2, 3, 4}};
        poincare::InterruptPoll poll;
        const poincare::ShuffledPairs shuffled({source.data(), target.data(), n}, random, poll);
        std::vector<char> seen(n);
        double product = 0, stayed = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const auto [from, to] = shuffled.of[i];
            CHECK(to == -from && seen[static_cast<std::size_t>(from)]++ == 0);
            const double half = static_cast<double>(n - 1) / 2;
            product += (static_cast<double>(i) / half - 1) * (from / half - 1);
            stayed += std::abs(static_cast<double>(i) - from) < 0.1 * static_cast<double>(n);
        }
        // Six deviations: of the mean of n products of variance 1/9, and of a share of 0.19.
        CHECK(std::abs(product) < 2 * std::sqrt(static_cast<double>(n)));
        CHECK(std::abs(stayed / static_cast<double>(n) - 0.19) < 2.4 / std::sqrt(static_cast<double>(n)));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = 60 * checking::effort(argc, argv);
    Random random(1);
    Store shared(random);
    shared.place(random);
    order_of_pairs();
    checking::in_threads(kThreads, [&](std::size_t t) {
        Random mine(1000 + t);
        for (int round = 0; round < rounds; ++round) {
            rows_of_any_length(mine);
            scan(shared, mine);  // many readers of one store
            low_scores(shared, mine);
            cones_and_points(shared, mine);
            Store own(mine);
            own.place(mine);
            scan(own, mine);
            walk(own, mine);
            texts(mine);
            spread(mine);
            layout(mine);
        }
    });
    std::puts("kernels: ok");
    return 0;
}
