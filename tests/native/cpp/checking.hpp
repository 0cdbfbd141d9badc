// What the C++ tests share: a check that ends the program, random numbers, threads that start together.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

// Unlike assert, also in release builds, and from any thread.
#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            std::fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                               \
        }                                                                               \
    } while (false)

namespace checking {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

inline double uniform(Random& random, double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
}

inline std::vector<double> unit_vector(Random& random, std::size_t dim) {
    std::vector<double> x(dim);
    std::normal_distribution<double> normal;
    double square = 0;
    while (square == 0) {
        square = 0;
        for (double& value : x) {
            value = normal(random);
            square += value * value;
        }
    }
    for (double& value : x) value /= std::sqrt(square);
    return x;
}

// body(t) in `count` threads at once.
template <typename Body>
void in_threads(std::size_t count, Body&& body) {
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < count; ++t)
        threads.emplace_back([&, t] {
            while (!go.load()) std::this_thread::yield();
            body(t);
        });
    go.store(true);
    for (std::thread& thread : threads) thread.join();
}

// How long the long version of a test takes longer than the short one: the first argument, 1 without any.
inline int effort(int argc, char** argv) {
    return argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
}

}  // namespace checking
