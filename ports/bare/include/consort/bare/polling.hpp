// SPDX-License-Identifier: Apache-2.0
//
// What the executive asks of a core's timer, and the answer of a core that has no timer interrupt: it looks
// at its clock whenever no job runs, so that what has begun runs to its end.
//
// A core's timer is a type `CoreTimer` in its consort/bare/this_core.hpp:
//   look()             called when a job has ended, before the next is chosen: nothing where interrupts come
//   start()            before the first arm()
//   arm(at)            the interrupt is to come at this tick of the core's clock; never: not at all
//   enable, disable    interrupts; they are disabled when the executive begins
//   request_dispatch() from the interrupt handler: consort_dispatch() is called, with interrupts disabled,
//                      before what was interrupted goes on
//   idle()             called with interrupts disabled; returns after one was handled, or at once
// Its handler calls consort_timer_interrupt(), with interrupts disabled.
#pragma once

#include "consort/port.hpp"

extern "C" {
void consort_timer_interrupt() noexcept;
void consort_dispatch() noexcept;
}

namespace consort::bare {

inline constexpr Ticks never_interrupts = ~Ticks{0};

template <class Port>
struct Polling {
    static void start() noexcept {}
    static void arm(Ticks at) noexcept { armed = at; }
    static void enable() noexcept {}
    static void disable() noexcept {}
    static void request_dispatch() noexcept {}
    static void look() noexcept {
        if (Port::now() >= armed) {
            consort_timer_interrupt();
        }
    }
    static void idle() noexcept {
        Port::relax();
        look();
    }

  private:
    static inline Ticks armed = never_interrupts;
};

}  // namespace consort::bare
