#include "relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "neighbourhoods.hpp"
#include "numerics.hpp"
#include "reproducible_random.hpp"
#include "threads.hpp"

namespace poincare {
namespace {

constexpr std::size_t kFewestSteps = 60;
constexpr double kPairBudget = 4e6;  // pairs over all steps that wide sets may take before kFewestSteps
constexpr std::size_t kGrain = 256;  // points a thread: below, a step is too short to share out
constexpr std::size_t kStepsPerSearch = 10;             // between two searches for neighbours
constexpr float kFirstStep = 0.3f, kLastStep = 0.003f;  // in units of the mean nearest distance
constexpr float kInertia = 0.8f;
constexpr int kFirstSquarings = 2, kLastSquarings = 7;  // weights are (δ/|x − y|)² to the power 2^squarings

PaddedRows random_start(std::size_t count, std::size_t dim, std::uint64_t seed) {
    PaddedRows points(count, dim);
    std::vector<double> direction(dim);
    ReproducibleRandom random(seed);
    for (std::size_t i = 0; i < count; ++i) {
        random.direction(direction.data(), dim);
        std::transform(direction.begin(), direction.end(), points.row(i),
                       [](double x) { return static_cast<float>(x); });
    }
    return points;
}

// What one step does, besides the points: how far, and how sharply near pairs outweigh far ones.
struct Step {
    float length;  // in units of δ
    int squarings;

    Step(std::size_t step, std::size_t steps) {
        const float done = steps > 1 ? static_cast<float>(step) / static_cast<float>(steps - 1) : 1.0f;
        const float left = 1 - done;
        length = kLastStep + (kFirstStep - kLastStep) * left * left * left;
        squarings =
            std::min(kLastSquarings,
                     kFirstSquarings + static_cast<int>(done * (kLastSquarings - kFirstSquarings + 1)));
    }
};

class Relaxation {
  public:
    Relaxation(std::size_t count, std::size_t dim, std::uint64_t seed, int threads, InterruptPoll& poll)
        : poll_(poll),
          points_(random_start(count, dim, seed)),
          push_(count * points_.width),
          inertia_(count * points_.width, 0.0f),
          nearest_square_(count),
          kept_(neighbours_kept(count, dim)),
          lists_(count, kept_),
          threads_(threads_for(threads, count, kGrain)) {}

    void run(std::size_t steps) {
        const bool all_are_near = kept_ + 1 == points_.count;
        for (std::size_t number = 0; number < steps; ++number) {
            if (number == 0 || (number % kStepsPerSearch == 0 && !all_are_near))
                lists_.search(points_, threads_, poll_);
            if (number == 0) mean_square_ = mean_nearest_square();
            take(Step(number, steps));
        }
    }

    const PaddedRows& points() const { return points_; }

  private:
    double mean_nearest_square() {
        std::vector<float> ignored(kept_);
        for (std::size_t i = 0; i < points_.count; ++i) measure(i, ignored.data());
        return mean(nearest_square_);
    }

    static double mean(const std::vector<float>& values) {
        double sum = 0;
        for (float value : values) sum += static_cast<double>(value);
        return sum / static_cast<double>(values.size());
    }

    // Squared distances from point i to its neighbours; those of no neighbour are out of reach.
    void measure(std::size_t i, float* squares) {
        const std::uint32_t* list = lists_.of(i);
        float nearest = 4.0f;
        for (std::size_t k = 0; k < kept_; ++k) {
            const float square = 2 - 2 * dot_padded(points_.row(i), points_.row(list[k]), points_.width);
            squares[k] = list[k] == i ? 4.0f : std::max(square, kLeastSquaredGap);
            nearest = std::min(nearest, squares[k]);
        }
        nearest_square_[i] = nearest;
    }

    // The sum of the neighbours' pushes on point i, tangent to the sphere.
    void collect(std::size_t i, int squarings, float* weights) {
        measure(i, weights);
        float bound = kLargestRepulsion;
        for (int s = 0; s < squarings; ++s) bound = std::sqrt(bound);
        const float scale = static_cast<float>(mean_square_), least = 1 / bound;
        for (std::size_t k = 0; k < kept_; ++k)
            weights[k] = std::min(std::max(scale / weights[k], least), bound);
        for (int s = 0; s < squarings; ++s)
            for (std::size_t k = 0; k < kept_; ++k) weights[k] *= weights[k];

        const std::size_t width = points_.width;
        const std::uint32_t* list = lists_.of(i);
        const float* own = points_.row(i);
        float* push = push_.data() + i * width;
        std::fill(push, push + width, 0.0f);
        for (std::size_t k = 0; k < kept_; ++k) {
            const float* other = points_.row(list[k]);
            for (std::size_t j = 0; j < width; ++j) push[j] -= weights[k] * other[j];
        }
        const float outward = dot_padded(push, own, width);
        for (std::size_t j = 0; j < width; ++j) push[j] -= outward * own[j];
    }

    void move(std::size_t i, float reach) {
        const std::size_t width = points_.width;
        const float* push = push_.data() + i * width;
        float* inertia = inertia_.data() + i * width;
        float* point = points_.row(i);
        const float strength = std::sqrt(dot_padded(push, push, width));
        const float scale = strength > 0 ? (1 - kInertia) * reach / strength : 0.0f;
        for (std::size_t j = 0; j < width; ++j) {
            inertia[j] = kInertia * inertia[j] + scale * push[j];
            point[j] += inertia[j];
        }
        const float shrink = 1 / std::sqrt(dot_padded(point, point, width));
        for (std::size_t j = 0; j < width; ++j) point[j] *= shrink;
    }

    void take(const Step& step) {
        parallel_ranges(points_.count, threads_, [&](std::size_t begin, std::size_t end) {
            std::vector<float> weights(kept_);
            for (std::size_t i = begin; i < end; ++i) {
                poll_.now_and_then(i);
                collect(i, step.squarings, weights.data());
            }
        });
        mean_square_ = mean(nearest_square_);
        const float reach = step.length * static_cast<float>(std::sqrt(mean_square_));
        parallel_ranges(points_.count, threads_, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) move(i, reach);
        });
    }

    InterruptPoll& poll_;
    PaddedRows points_;
    std::vector<float> push_, inertia_, nearest_square_;
    std::size_t kept_;
    Neighbourhoods lists_;
    int threads_;
    double mean_square_ = 0;
};

}  // namespace

std::size_t neighbours_kept(std::size_t count, std::size_t dim) {
    return std::min(count - 1, std::clamp<std::size_t>(2 * dim + 4, 12, 32));
}

std::size_t relaxation_steps(std::size_t count, std::size_t dim, std::size_t steps) {
    const double pairs = static_cast<double>(count) * static_cast<double>(neighbours_kept(count, dim));
    const double bounded = std::max(static_cast<double>(kFewestSteps), kPairBudget / pairs);
    return bounded < static_cast<double>(steps) ? static_cast<std::size_t>(bounded) : steps;
}

void relax_on_sphere(std::size_t count, std::size_t dim, std::uint64_t seed, std::size_t steps, double* out,
                     int threads, InterruptPoll& poll) {
    Relaxation relaxation(count, dim, seed, threads, poll);
    relaxation.run(relaxation_steps(count, dim, steps));
    for (std::size_t i = 0; i < count; ++i) {
        const float* point = relaxation.points().row(i);
        double square = 0;
        for (std::size_t j = 0; j < dim; ++j)
            square += static_cast<double>(point[j]) * static_cast<double>(point[j]);
        const double length = std::sqrt(square);
        for (std::size_t j = 0; j < dim; ++j) out[i * dim + j] = static_cast<double>(point[j]) / length;
    }
}

}  // namespace poincare
