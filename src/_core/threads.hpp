// Threads: one place decides how many, and how a range is shared out among them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <mutex>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace poincare {

// Processors this process may use (affinity and cgroup quota counted); at least 1.
int available_threads();

// Called in a forked child: libgomp hangs there, so the child stays serial for good.
void make_serial_after_fork();
bool serial_after_fork();

// Threads to use when `requested` were asked for (0: the default) and `work` units wait:
// one below `grain` units a thread, one after fork.
int threads_for(int requested, std::size_t work, std::size_t grain);

// Calls body(begin, end) on contiguous pieces of [0, n), at most one a thread. What a piece computes may
// not depend on where it is cut. The first exception is kept and thrown again in the caller.
template <typename Body>
void parallel_ranges(std::size_t n, int threads, Body&& body) {
    if (n == 0) return;
    if (threads <= 1) {
        body(std::size_t{0}, n);
        return;
    }
#ifdef _OPENMP
    std::exception_ptr first;
    std::mutex guard;
    const std::size_t pieces = std::min<std::size_t>(static_cast<std::size_t>(threads), n);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (std::ptrdiff_t piece = 0; piece < static_cast<std::ptrdiff_t>(pieces); ++piece) {
        const std::size_t p = static_cast<std::size_t>(piece);
        try {
            body(n * p / pieces, n * (p + 1) / pieces);
        } catch (...) {
            const std::lock_guard<std::mutex> hold(guard);
            if (!first) first = std::current_exception();
        }
    }
    if (first) std::rethrow_exception(first);
#else
    body(std::size_t{0}, n);
#endif
}

}  // namespace poincare
