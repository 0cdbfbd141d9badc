// Ctrl-C in long loops: they ask Python between blocks, and stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>

#include "threads.hpp"

namespace poincare {

// Returns true where a Python exception is set by now. Called without the GIL.
using InterruptCheck = bool (*)();
void set_interrupt_check(InterruptCheck check);

// Thrown with a Python exception set, which is what the caller raises.
struct Interrupted final : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

// One for a loop, shared by its threads; operator() is called between blocks of some milliseconds. Signals
// belong to the thread that Python came in on: it asks now and then, the others look whether it was told to
// stop.
class InterruptPoll {
  public:
    // In a loop of small pieces: asks at every 64th of them.
    void now_and_then(std::size_t piece) {
        constexpr std::size_t kEvery = 64;
        if (piece % kEvery == 0) (*this)();
    }

    void operator()() {
        if (stopped_.load(std::memory_order_relaxed)) throw Interrupted();
        if (std::this_thread::get_id() != owner_) return;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < kBetween) return;
        last_ = now;
        if (!asked()) return;
        stopped_.store(true, std::memory_order_relaxed);
        throw Interrupted();
    }

  private:
    static constexpr std::chrono::milliseconds kBetween{40};
    static bool asked();

    std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_{false};
};

// parallel_ranges, each thread's piece in blocks of `block` between which an interrupt ends it all.
template <typename Body>
void interruptible_ranges(std::size_t n, int threads, std::size_t block, Body&& body) {
    InterruptPoll poll;
    const std::size_t step = std::max<std::size_t>(1, block);
    parallel_ranges(n, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t start = begin; start < end; start += step) {
            poll();
            body(start, std::min(end, start + step));
        }
    });
}

// The same over rows of d coordinates each, for kernels that do a few things with every one.
template <typename Body>
void interruptible_rows(std::size_t n, int threads, std::size_t d, Body&& body) {
    constexpr std::size_t kCoordinates = std::size_t{1} << 22;  // some milliseconds of work
    constexpr std::size_t kPerRow = 32;                         // as many as a row takes whatever its length
    interruptible_ranges(n, threads, kCoordinates / (d + kPerRow), body);
}

}  // namespace poincare
