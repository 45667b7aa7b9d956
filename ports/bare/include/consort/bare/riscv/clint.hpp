// SPDX-License-Identifier: Apache-2.0
//
// The port contract on a RISC-V core in machine mode and its timer interrupt for the executive
// (consort/bare/polling.hpp says what is asked of it): the timer of a CLINT. Its memory is coherent: nothing
// has to be cleaned. riscv_start.h saves what a handler may change, so a handler can dispatch on the same
// stack.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/bare/polling.hpp"
#include "consort/bare/registers.hpp"
#include "consort/port.hpp"

namespace consort::bare::riscv {

inline constexpr bool is_64 = sizeof(void*) == 8;

template <std::uintptr_t Time, Ticks Hertz>
struct Core {
    static Ticks now() noexcept {
        if constexpr (is_64) {
            return *reinterpret_cast<const volatile std::uint64_t*>(Time);
        } else {
            // The upper half again, until no carry lay between.
            for (std::uint32_t high = reg(Time + 4);;) {
                const std::uint32_t low = reg(Time);
                const std::uint32_t again = reg(Time + 4);
                if (high == again) {
                    return Ticks{high} << 32U | low;
                }
                high = again;
            }
        }
    }
    static Ticks ticks_per_second() noexcept { return Hertz; }
    static void relax() noexcept { isa::relax(); }
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept {
        std::uintptr_t hart = 0;
        asm volatile("csrr %0, mhartid" : "=r"(hart));
        return static_cast<std::uint32_t>(hart);
    }
};

template <std::uintptr_t Compare>
struct Timer {
    static void start() noexcept {
        disarm();
        asm volatile("csrs mie, %0" ::"r"(std::uintptr_t{1U << 7U}) : "memory");  // MTIE
    }
    static void arm(Ticks at) noexcept {
        if constexpr (is_64) {
            *reinterpret_cast<volatile std::uint64_t*>(Compare) = at;
        } else {
            // No instant in between may lie before both.
            reg(Compare + 4) = ~0U;
            reg(Compare) = static_cast<std::uint32_t>(at);
            reg(Compare + 4) = static_cast<std::uint32_t>(at >> 32U);
        }
    }
    static void disarm() noexcept { arm(never_interrupts); }
    static void look() noexcept {}
    static void enable() noexcept { asm volatile("csrsi mstatus, 8" ::: "memory"); }
    static void disable() noexcept { asm volatile("csrci mstatus, 8" ::: "memory"); }
    static void request_dispatch() noexcept { consort_dispatch(); }
    // An interrupt that is pending ends wfi also where it is disabled.
    template <class Busy>
    static void idle(const Busy& /*busy*/) noexcept {
        asm volatile("wfi" ::: "memory");
        enable();
        disable();
    }
};

// The NS16550, registers a byte apart.
template <std::uintptr_t Base>
struct Uart {
    static void put(char c) noexcept {
        while ((registers()[5] & 0x20U) == 0) {  // LSR: transmitter empty
        }
        registers()[0] = static_cast<unsigned char>(c);
    }

  private:
    static volatile unsigned char* registers() noexcept {
        return reinterpret_cast<volatile unsigned char*>(Base);
    }
};

}  // namespace consort::bare::riscv
