// SPDX-License-Identifier: Apache-2.0
//
// The M4F's timer interrupt for the executive (consort/bare/polling.hpp says what is asked of it): SysTick,
// which pends PendSV where something more urgent is to be dispatched (m4f/preempt.S).
#pragma once

#include <cstdint>

#include "consort/bare/polling.hpp"
#include "consort/bare/registers.hpp"
#include "consort/mps2/m4f.hpp"

namespace consort::mps2 {

class Timer {
  public:
    static void start() noexcept {
        arm(bare::never_interrupts);
        bare::reg(priorities) = 0x00ff0000U;  // PendSV the least urgent, SysTick above it
    }
    static void arm(Ticks at) noexcept {
        armed = at;
        bare::reg(control) = 0;
        bare::reg(interrupt_state) = clear_systick;
        if (at == bare::never_interrupts) {
            return;
        }
        const Ticks now = CortexM4F::now();
        const Ticks distance = at > now ? at - now : 1;
        bare::reg(reload) = static_cast<std::uint32_t>(distance < longest ? distance : longest);
        bare::reg(value) = 0;
        bare::reg(control) = 7;  // enabled, with interrupt, the processor's clock
    }
    // In the interrupt. The counter has 24 bits: it may have to count on.
    static bool due() noexcept {
        bare::reg(control) = 0;
        if (CortexM4F::now() >= armed) {
            return true;
        }
        arm(armed);
        return false;
    }
    static void look() noexcept {}
    static void enable() noexcept { asm volatile("cpsie i" ::: "memory"); }
    static void disable() noexcept { asm volatile("cpsid i" ::: "memory"); }
    static void request_dispatch() noexcept { bare::reg(interrupt_state) = pend_pendsv; }
    // Not asleep: QEMU 7.2 counts the time of a wfi twice before SysTick comes, where time is instructions.
    static void idle() noexcept {
        enable();
        isa::relax();
        disable();
    }

  private:
    // The system control space is the architecture's (DDI 0403E, B3.2 and B3.3).
    static constexpr std::uintptr_t control = 0xe000e010;
    static constexpr std::uintptr_t reload = 0xe000e014;
    static constexpr std::uintptr_t value = 0xe000e018;
    static constexpr std::uintptr_t interrupt_state = 0xe000ed04;
    static constexpr std::uintptr_t priorities = 0xe000ed20;
    static constexpr std::uint32_t clear_systick = 1U << 25U;
    static constexpr std::uint32_t pend_pendsv = 1U << 28U;
    static constexpr Ticks longest = 0xffffff;

    static inline Ticks armed = bare::never_interrupts;
};

}  // namespace consort::mps2
