// SPDX-License-Identifier: Apache-2.0
//
// The R5F's timer interrupt for the executive (consort/bare/polling.hpp says what is asked of it): the first
// timer of the board's SP804 (DDI 0271), once for each arm(). It counts microseconds, so its interrupt comes
// up to one after the instant. start.S saves what a handler may change, so a handler can dispatch on the same
// stack.
#pragma once

#include <cstdint>

#include "consort/bare/arm/cortex_r5f.hpp"
#include "consort/bare/arm/gicv2.hpp"
#include "consort/bare/polling.hpp"
#include "consort/bare/registers.hpp"
#include "consort/board/memory_map.hpp"

namespace consort::vexpress_r5f {

using Core = bare::arm::CortexR5F<board::clock_of_r5f, true>;

class Timer {
  public:
    using Gic = bare::arm::GicV2<board::gic_distributor, board::gic_interface>;
    static constexpr std::uint32_t interrupt = 34;

    static void start() noexcept {
        disarm();
        Gic::enable(interrupt);
    }
    static void disarm() noexcept {
        armed = bare::never_interrupts;
        bare::reg(control) = 0;
        bare::reg(clear) = 1;
    }
    static void arm(Ticks at) noexcept {
        disarm();
        armed = at;
        const Ticks now = Core::now();
        const Ticks distance = at > now ? (at - now + ticks_of_one - 1) / ticks_of_one : 1;
        bare::reg(load) = static_cast<std::uint32_t>(distance < longest ? distance : longest);
        bare::reg(control) = 0xa3;  // enabled, with interrupt, 32 bits, once
    }
    // In the interrupt. What is too far for 32 bits is counted on.
    static bool reached() noexcept {
        bare::reg(clear) = 1;
        if (Core::now() >= armed) {
            return true;
        }
        arm(armed);
        return false;
    }
    static void look() noexcept {}
    static void enable() noexcept { asm volatile("cpsie i" ::: "memory"); }
    static void disable() noexcept { asm volatile("cpsid i" ::: "memory"); }
    static void request_dispatch() noexcept { consort_dispatch(); }
    // An interrupt that is pending ends wfi also where it is disabled.
    template <class Busy>
    static void idle(const Busy& /*busy*/) noexcept {
        asm volatile("wfi" ::: "memory");
        enable();
        disable();
    }

  private:
    static constexpr std::uintptr_t load = board::timer0;
    static constexpr std::uintptr_t control = board::timer0 + 0x8;
    static constexpr std::uintptr_t clear = board::timer0 + 0xc;
    // The timer's clock is 1 MHz.
    static constexpr Ticks ticks_of_one = board::clock_of_r5f / 1'000'000;
    static constexpr Ticks longest = 0xffffffff;

    static inline Ticks armed = bare::never_interrupts;
};

}  // namespace consort::vexpress_r5f
