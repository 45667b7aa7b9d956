// SPDX-License-Identifier: Apache-2.0
//
// The A53's interrupt handler, called by start.S with interrupts disabled.
#include "consort/zynqmp/timer.hpp"

extern "C" {
// Programs without the executive have no timer interrupt.
__attribute__((weak)) void consort_timer_interrupt() noexcept;

void consort_interrupt() noexcept {
    using consort::zynqmp::Timer;
    const std::uint32_t taken = Timer::Gic::acknowledge();
    if (Timer::Gic::number(taken) == Timer::interrupt) {
        Timer::disarm();
        Timer::Gic::end(taken);
        consort_timer_interrupt();
    }
}
}
