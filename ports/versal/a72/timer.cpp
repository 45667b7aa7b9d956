// SPDX-License-Identifier: Apache-2.0
//
// The A72's interrupt handler, called by start.S with interrupts disabled.
#include "consort/versal/timer.hpp"

extern "C" {
// Programs without the executive have no timer interrupt.
__attribute__((weak)) void consort_timer_interrupt() noexcept;

void consort_interrupt() noexcept {
    if (consort::versal::PrivateTimer::taken()) {
        consort_timer_interrupt();
    }
}
}
