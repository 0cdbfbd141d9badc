#include "cone_training.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "interrupt.hpp"
#include "numerics.hpp"
#include "sampling.hpp"

namespace poincare {
namespace {

constexpr std::size_t kBetweenPolls = 4096;  // pairs
constexpr double kApexRoom = 1.01;           // of the smallest norm: at it the cone's slope is infinite
constexpr double kLongestStep = 0.5;         // in hyperbolic units; slopes are unbounded next to the axis
constexpr double kLeastSquaredSine = 1e-12;

double dot(const double* x, const double* y, std::size_t dim) {
    double sum = 0;
    for (std::size_t i = 0; i < dim; ++i) sum += x[i] * y[i];
    return sum;
}

struct ConeEpoch {
    double* points;
    std::size_t dim;
    const ConeEpochSettings& settings;
    double smallest, largest;  // norms
    std::vector<double> at_u, at_v;

    // Pulls v into the cone of u; the loss before.
    double attract(std::int32_t u, std::int32_t v) {
        const double excess = cone_excess(row(u), row(v), dim, settings.k, at_u.data(), at_v.data());
        if (!(excess > 0)) return 0;
        step(u, at_u, settings.rate);
        step(v, at_v, settings.rate);
        return excess;
    }

    // Pushes v, where it is next to the cone of u, out to an angle of γ. Inside, E is 0 all around and has no
    // slope: pushing out what lies there too was measured to tear the cones of large hierarchies apart.
    double repel(std::int32_t u, std::int32_t v) {
        const double excess = cone_excess(row(u), row(v), dim, settings.k, at_u.data(), at_v.data());
        if (excess >= settings.margin) return 0;
        if (!(excess > 0)) return settings.margin;
        step(u, at_u, -settings.rate);
        step(v, at_v, -settings.rate);
        return settings.margin - excess;
    }

    double* row(std::int32_t node) const { return points + static_cast<std::size_t>(node) * dim; }

    // x − rate·(1−|x|²)²/4·gradient, back between the two norms.
    void step(std::int32_t node, const std::vector<double>& gradient, double rate) const {
        double* const x = row(node);
        const double half = (1 - dot(x, x, dim)) / 2;
        const double length = std::abs(rate) * half * std::sqrt(dot(gradient.data(), gradient.data(), dim));
        if (!(length > 0) || !(length < kLargestProduct)) return;
        const double scale = -rate * half * half * std::min(1.0, kLongestStep / length);
        for (std::size_t i = 0; i < dim; ++i) x[i] += scale * gradient[i];
        settle(x);
    }

    void settle(double* x) const {
        const double norm = std::sqrt(dot(x, x, dim));
        const double wanted = std::min(std::max(norm, smallest), largest);
        if (wanted == norm) return;
        if (norm > kTiny) {
            for (std::size_t i = 0; i < dim; ++i) x[i] *= wanted / norm;
        } else {
            x[0] = wanted;
        }
    }
};

ExcludedList list_of(const ExcludedNodes& excluded, std::int32_t node) {
    return {excluded.shifted + excluded.start[node],
            static_cast<std::size_t>(excluded.start[node + 1] - excluded.start[node])};
}

}  // namespace

double smallest_apex_norm(double k) {
    return 2 * k / (1 + std::sqrt(1 + 4 * k * k));
}

double cone_excess(const double* u, const double* v, std::size_t dim, double k, double* at_u, double* at_v) {
    double a = 0, b = 0, g = 0, p = 0;  // |u|², |v|², |u−v|², <u,v>
    for (std::size_t i = 0; i < dim; ++i) {
        a += u[i] * u[i];
        b += v[i] * v[i];
        p += u[i] * v[i];
        g += (u[i] - v[i]) * (u[i] - v[i]);
    }
    std::fill(at_u, at_u + dim, 0.0);
    std::fill(at_v, at_v + dim, 0.0);
    const double sine = std::min(k * (1 - a) / std::sqrt(a), 1.0);
    const double psi = std::asin(sine);
    if (!(g > kLeastSquaredSine * a)) return -psi;
    // cos Ξ = N/D, D = |u|·|u−v|·√Q: its derivatives by p, a and b.
    const double q = 1 + a * b - 2 * p;
    const double d = std::sqrt(a * g * q);
    const double c = std::min(std::max((p * (1 + a) - a * (1 + b)) / d, -1.0), 1.0);
    const double c_p = (1 + a) / d + c * (1 / g + 1 / q);
    const double c_a = (p - 1 - b) / d - c * (1 / (2 * a) + 1 / (2 * g) + b / (2 * q));
    const double c_b = -a / d - c * (1 / (2 * g) + a / (2 * q));
    const double slope = -1 / std::sqrt(std::max(1 - c * c, kLeastSquaredSine));
    const double psi_a =
        -k * (1 + a) / (2 * a * std::sqrt(a)) / std::sqrt(std::max(1 - sine * sine, kLeastSquaredSine));
    for (std::size_t i = 0; i < dim; ++i) {
        at_u[i] = slope * (c_p * v[i] + 2 * c_a * u[i]) - 2 * psi_a * u[i];
        at_v[i] = slope * (c_p * u[i] + 2 * c_b * v[i]);
    }
    return std::acos(c) - psi;
}

double cone_epoch(double* points, std::size_t nodes, std::size_t dim, const TrainingPairs& pairs,
                  const ExcludedNodes& below, const ExcludedNodes& above, const ConeEpochSettings& settings,
                  RandomState random) {
    InterruptPoll poll;
    const ShuffledPairs shuffled(pairs, random, poll);
    ConeEpoch epoch{points,
                    dim,
                    settings,
                    smallest_apex_norm(settings.k) * kApexRoom,
                    1 - kBallEpsFloat64,
                    std::vector<double>(dim),
                    std::vector<double>(dim)};
    for (std::size_t i = 0; i < nodes; ++i) epoch.settle(points + i * dim);
    double loss = 0;
    for (std::size_t i = 0; i < pairs.count; ++i) {
        if (i % kBetweenPolls == 0) poll();
        const auto [u, v] = shuffled.of[i];
        loss += epoch.attract(u, v);
        const ExcludedList of_u = list_of(below, u), of_v = list_of(above, v);
        if (nodes > of_u.length)
            for (std::size_t k = 0; k < settings.below; ++k)
                loss += epoch.repel(u, NegativeSampler::uniform(of_u, nodes - of_u.length, random));
        if (nodes > of_v.length)
            for (std::size_t k = 0; k < settings.above; ++k)
                loss += epoch.repel(NegativeSampler::uniform(of_v, nodes - of_v.length, random), v);
    }
    return loss;
}

}  // namespace poincare
