// SPDX-License-Identifier: Apache-2.0
//
// The executive's requirements on a core's timer, and the answer of a core that has no timer interrupt: it
// looks at its clock whenever no job runs, so that a job that has begun runs to its end.
//
// A core's timer is a type `CoreTimer` in its consort/bare/this_core.hpp; interrupts are disabled when the
// executive begins:
//
//   look()               called when a job has ended, before the next is chosen: for cores that poll
//   start()              before the first arm() of a run whose time is the board's
//   arm(at)              interrupt at this tick of the core's clock, or at once where it has passed
//   disarm()             no longer interrupt
//   enable(), disable()  interrupts
//   arm_and_dispatch(at) optional, from the interrupt handler: arm() and request_dispatch() in one
//   due()                optional, in the interrupt: false where the timer has to count on
//   begin_waiting(), end_waiting()  optional: with interrupts disabled, around a wait for other cores
//   await(done)          optional: with interrupts disabled, waits long, until done()
//   polls                optional: true where there is no interrupt
//   request_dispatch()   from the interrupt handler: consort_dispatch() is called, with interrupts disabled,
//                        before what was interrupted goes on
//   idle(busy)           called with interrupts disabled; returns after one was handled, or at once; or when
//                        busy() is false, where all jobs are dispatched from interrupts
//
// Its handler calls consort_timer_interrupt(), with interrupts disabled.
#pragma once

#include "consort/port.hpp"

extern "C" {
void consort_timer_interrupt() noexcept;
void consort_dispatch() noexcept;
}

namespace consort::bare {

inline constexpr Ticks never_interrupts = ~Ticks{0};

// In the interrupt.
template <class Timer>
void arm_and_dispatch(Ticks at) noexcept {
    if constexpr (requires { Timer::arm_and_dispatch(at); }) {
        Timer::arm_and_dispatch(at);
    } else {
        Timer::arm(at);
        Timer::request_dispatch();
    }
}
template <class Timer>
bool is_due() noexcept {
    if constexpr (requires { Timer::due(); }) {
        return Timer::due();
    } else {
        return true;
    }
}

template <class Port>
struct Polling {
    static constexpr bool polls = true;
    static void start() noexcept { started = true; }
    static void arm(Ticks at) noexcept { armed = at; }
    static void disarm() noexcept { armed = never_interrupts; }
    static void enable() noexcept {}
    static void disable() noexcept {}
    static void request_dispatch() noexcept {}
    static void look() noexcept {
        while (started && Port::now() >= armed) {
            consort_timer_interrupt();
        }
    }
    template <class Busy>
    static void idle(const Busy& /*busy*/) noexcept {
        Port::relax();
        look();
    }

  private:
    static inline bool started = false;
    static inline Ticks armed = never_interrupts;
};

}  // namespace consort::bare
