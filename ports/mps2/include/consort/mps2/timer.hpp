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
        disarm();
        bare::reg(system_control + reload) = longest;
        bare::reg(system_control + value) = 0;
        bare::reg(system_control + control) = 7;  // enabled, with interrupt, the processor's clock
        bare::reg(system_control + priorities) = 0x00ff0000U;  // PendSV the least urgent, SysTick above it
    }
    // With interrupts disabled. SysTick counts on from the reload value until it is armed anew: an interrupt
    // that is pending for the instant before is dropped when the counter has begun again.
    static void arm(Ticks at) noexcept { arm(at, clear_systick); }
    static void arm_and_dispatch(Ticks at) noexcept { arm(at, clear_systick | pend_pendsv); }
    // It is never stopped: arm() does not have to start it, and its next interrupt finds that none is due.
    static void disarm() noexcept {
        armed = bare::never_interrupts;
        counts_on = true;
    }
    // In the interrupt.
    static bool due() noexcept {
        if (counts_on) [[unlikely]] {
            count_on();
            return false;
        }
        return true;
    }
    static void look() noexcept {}
    static void enable() noexcept { asm volatile("cpsie i" ::: "memory"); }
    static void disable() noexcept { asm volatile("cpsid i" ::: "memory"); }
    static void request_dispatch() noexcept { bare::reg(system_control + interrupt_state) = pend_pendsv; }
    // Not asleep: QEMU 7.2 counts the time of a wfi twice before SysTick comes, where time is instructions.
    template <class Busy>
    static void idle(const Busy& busy) noexcept {
        enable();
        while (busy()) {
            isa::relax();
            asm volatile("" ::: "memory");  // what interrupts change
        }
        disable();
    }

  private:
    static void arm(Ticks at, std::uint32_t then) noexcept {
        counts_on = false;
        std::uintptr_t base = system_control;
        // The clock's counter counts down.
        std::uint32_t end = static_cast<std::uint32_t>(at) + 1;
        // Work between the clock's reading and the counter's start makes the interrupt late: registers are
        // ready before, and whether the counter is long enough is looked at afterwards.
        asm volatile("" : "+r"(base), "+r"(end), "+r"(then)::"memory");
        const std::uint32_t left = CortexM4F::countdown();
        // With 0 it would stand still; a tick later is not a fault.
        bare::reg(base + reload) = (end + left) | 1U;
        bare::reg(base + value) = 0;
        bare::reg(base + interrupt_state) = then;
        if ((at - CortexM4F::extended(~left)) >> 24U != 0) [[unlikely]] {
            arm_elsewhere(at);
        }
    }
    // At once, or further away than the counter's 24 bits.
    [[gnu::noinline, gnu::cold]] static void arm_elsewhere(Ticks at) noexcept {
        armed = at;
        counts_on = at > CortexM4F::now_undisturbed();
        bare::reg(system_control + reload) = counts_on ? longest : 1;
        bare::reg(system_control + value) = 0;
        bare::reg(system_control + interrupt_state) = clear_systick;
    }
    [[gnu::noinline, gnu::cold]] static void count_on() noexcept { arm(armed); }

    // The system control space is the architecture's (DDI 0403E, B3.2 and B3.3): offsets in it.
    static constexpr std::uintptr_t system_control = 0xe000e000;
    static constexpr std::uintptr_t control = 0x10;
    static constexpr std::uintptr_t reload = 0x14;
    static constexpr std::uintptr_t value = 0x18;
    static constexpr std::uintptr_t interrupt_state = 0xd04;
    static constexpr std::uintptr_t priorities = 0xd20;
    static constexpr std::uint32_t clear_systick = 1U << 25U;
    static constexpr std::uint32_t pend_pendsv = 1U << 28U;
    static constexpr std::uint32_t longest = 0xffffff;

    static inline bool counts_on = false;
    static inline Ticks armed = bare::never_interrupts;  // where it counts on
};

}  // namespace consort::mps2
