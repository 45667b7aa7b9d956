// SPDX-License-Identifier: Apache-2.0
//
// The R5F's interrupt handler, called by start.S with interrupts disabled.
#include "consort/vexpress_r5f/timer.hpp"

extern "C" {
// Programs without the executive have no timer interrupt.
__attribute__((weak)) void consort_timer_interrupt() noexcept;

void consort_interrupt() noexcept {
    using consort::vexpress_r5f::Timer;
    const std::uint32_t taken = Timer::Gic::acknowledge();
    if (Timer::Gic::number(taken) == Timer::interrupt) {
        const bool due = Timer::reached();
        Timer::Gic::end(taken);
        if (due) {
            consort_timer_interrupt();
        }
    }
}
}
