// SPDX-License-Identifier: Apache-2.0
//
// The RV64's timer interrupt for the executive (consort/bare/polling.hpp says what is asked of it): the
// CLINT's mtimecmp. start.S saves what a handler may change, so a handler can dispatch on the same stack.
#pragma once

#include <cstdint>

#include "consort/bare/polling.hpp"
#include "consort/board/memory_map.hpp"

namespace consort::riscv_virt {

struct Timer {
    static void start() noexcept {
        arm(bare::never_interrupts);
        asm volatile("csrs mie, %0" ::"r"(std::uint64_t{1U << 7U}) : "memory");  // MTIE
    }
    static void arm(Ticks at) noexcept { *reinterpret_cast<volatile std::uint64_t*>(board::mtimecmp) = at; }
    static void look() noexcept {}
    static void enable() noexcept { asm volatile("csrsi mstatus, 8" ::: "memory"); }
    static void disable() noexcept { asm volatile("csrci mstatus, 8" ::: "memory"); }
    static void request_dispatch() noexcept { consort_dispatch(); }
    // An interrupt that is pending ends wfi also where it is disabled.
    static void idle() noexcept {
        asm volatile("wfi" ::: "memory");
        enable();
        disable();
    }
};

}  // namespace consort::riscv_virt
