#include "threads.hpp"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace poincare {
namespace {

std::atomic<bool> forked{false};

int processors_by_affinity() {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
    return static_cast<int>(std::thread::hardware_concurrency());
}

// Processors granted by a cgroup v2 quota, or a large number where there is none.
int read_quota() {
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) return 1 << 20;
    char* end = nullptr;
    const double granted = std::strtod(quota.c_str(), &end);
    if (end == quota.c_str()) return 1 << 20;
    return std::max(1, static_cast<int>(std::ceil(granted / period)));
}

int processors_by_quota() {
    static const int quota = read_quota();
    return quota;
}

// OMP_NUM_THREADS (the first number of a list), or a large number where it says nothing. Asked of the
// environment, because a number of threads that is given with a parallel region overrides what OpenMP makes
// of it.
int read_limit() {
    const char* text = std::getenv("OMP_NUM_THREADS");
    const long limit = text ? std::strtol(text, nullptr, 10) : 0;
    return limit >= 1 && limit < 1 << 20 ? static_cast<int>(limit) : 1 << 20;
}

int processors_by_environment() {
    static const int limit = read_limit();
    return limit;
}

}  // namespace

int available_threads() {
    const int granted = std::min(processors_by_affinity(), processors_by_quota());
    return std::max(1, std::min(granted, processors_by_environment()));
}

void make_serial_after_fork() {
    forked.store(true, std::memory_order_relaxed);
}

bool serial_after_fork() {
    return forked.load(std::memory_order_relaxed);
}

int threads_for(int requested, std::size_t work, std::size_t grain) {
    if (serial_after_fork() || work < 2 * grain) return 1;
    const int limit = requested > 0 ? requested : available_threads();
    const std::size_t useful = std::max<std::size_t>(1, work / std::max<std::size_t>(1, grain));
    return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(limit), useful));
}

}  // namespace poincare
