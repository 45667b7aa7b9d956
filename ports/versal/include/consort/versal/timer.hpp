// SPDX-License-Identifier: Apache-2.0
//
// An A72's timer interrupt for the executive (consort/bare/polling.hpp says what is asked of it): the secure
// physical timer's, a fast interrupt at EL3. start.S saves what a handler may change, so a handler can
// dispatch on the same stack.
#pragma once

#include <cstdint>

#include "consort/bare/arm/aarch64.hpp"
#include "consort/bare/polling.hpp"
#include "consort/versal/gic.hpp"

namespace consort::versal {

struct Timer {
    static void start() noexcept {
        disarm();
        // Fast interrupts come to EL3; below is AArch64.
        asm volatile("msr scr_el3, %0\n isb" ::"r"(std::uint64_t{1U << 10U | 1U << 2U}) : "memory");
        PrivateTimer::enable_distributor();
        PrivateTimer::enable(bare::arm::AArch64::core_id());
    }
    static void arm(Ticks at) noexcept { PrivateTimer::at(at); }
    static void disarm() noexcept { PrivateTimer::stop(); }
    static void look() noexcept {}
    static void enable() noexcept { asm volatile("msr daifclr, #1" ::: "memory"); }
    static void disable() noexcept { asm volatile("msr daifset, #1" ::: "memory"); }
    static void request_dispatch() noexcept { consort_dispatch(); }
    // An interrupt that is pending ends wfi also where it is disabled.
    template <class Busy>
    static void idle(const Busy& /*busy*/) noexcept {
        asm volatile("wfi" ::: "memory");
        enable();
        disable();
    }
};

}  // namespace consort::versal
