// SPDX-License-Identifier: Apache-2.0
//
// An A53's timer interrupt for the executive (consort/bare/polling.hpp says what is asked of it): the generic
// timer's physical one. start.S saves what a handler may change, so a handler can dispatch on the same stack.
#pragma once

#include <cstdint>

#include "consort/bare/arm/gicv2.hpp"
#include "consort/bare/polling.hpp"
#include "consort/board/memory_map.hpp"

namespace consort::zynqmp {

struct Timer {
    using Gic = bare::arm::GicV2<board::gic_distributor, board::gic_interface>;
    static constexpr std::uint32_t interrupt = 30;

    static void start() noexcept {
        disarm();
        Gic::enable(interrupt);
    }
    static void arm(Ticks at) noexcept {
        asm volatile("msr cntp_cval_el0, %0\n msr cntp_ctl_el0, %1\n isb" ::"r"(at), "r"(std::uint64_t{1})
                     : "memory");
    }
    static void disarm() noexcept { asm volatile("msr cntp_ctl_el0, xzr\n isb" ::: "memory"); }
    static void look() noexcept {}
    static void enable() noexcept { asm volatile("msr daifclr, #2" ::: "memory"); }
    static void disable() noexcept { asm volatile("msr daifset, #2" ::: "memory"); }
    static void request_dispatch() noexcept { consort_dispatch(); }
    // An interrupt that is pending ends wfi also where it is disabled.
    template <class Busy>
    static void idle(const Busy& /*busy*/) noexcept {
        asm volatile("wfi" ::: "memory");
        enable();
        disable();
    }
};

}  // namespace consort::zynqmp
