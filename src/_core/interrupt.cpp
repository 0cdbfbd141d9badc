#include "interrupt.hpp"

namespace poincare {
namespace {

std::atomic<InterruptCheck> check_signals{nullptr};

}  // namespace

void set_interrupt_check(InterruptCheck check) {
    check_signals.store(check, std::memory_order_relaxed);
}

bool InterruptPoll::asked() {
    const InterruptCheck check = check_signals.load(std::memory_order_relaxed);
    return check != nullptr && check();
}

}  // namespace poincare
