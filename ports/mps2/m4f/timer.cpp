// SPDX-License-Identifier: Apache-2.0
//
// The M4F's SysTick interrupt, which every image has in its vectors.
#include "consort/mps2/timer.hpp"

extern "C" {
// Programs without the executive have no timer interrupt.
__attribute__((weak)) void consort_timer_interrupt() noexcept;

void consort_systick() noexcept {
    if (consort::mps2::Timer::due()) {
        consort_timer_interrupt();
    }
}
}
