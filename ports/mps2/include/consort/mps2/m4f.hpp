// SPDX-License-Identifier: Apache-2.0
//
// The port contract on the MPS2's Cortex-M4F: CMSDK timer 0, which counts down at 25 MHz. `now` keeps the
// upper half itself and must be called at least once in 2^32 ticks (171 s), which every waiting loop does.
// The core has no caches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/bare/registers.hpp"
#include "consort/mps2/memory_map.hpp"
#include "consort/port.hpp"

namespace consort::mps2 {

struct CortexM4F {
    static std::uint32_t countdown() noexcept { return bare::reg(timer0 + 4); }
    static std::uint32_t counter() noexcept { return ~countdown(); }
    static std::uint32_t mark() noexcept { return counter(); }
    // Without interrupts in between: two that look at the same time would both see the counter's wrap.
    [[gnu::noinline]] static Ticks now() noexcept {
        std::uint32_t masked = 0;
        asm volatile("mrs %0, primask\n cpsid i" : "=r"(masked)::"memory");
        const Ticks now = now_undisturbed();
        asm volatile("msr primask, %0" ::"r"(masked) : "memory");
        return now;
    }
    static Ticks now_undisturbed() noexcept { return extended(counter()); }
    // A reading of the counter that was taken just before.
    static Ticks extended(std::uint32_t low) noexcept {
        if (low < seen.lower) [[unlikely]] {
            ++seen.upper;
            asm volatile("");  // a branch: it is hardly ever so
        }
        seen.lower = low;
        return Ticks{seen.upper} << 32U | low;
    }
    static Ticks ticks_per_second() noexcept { return board::clock_of_m4f; }
    static void relax() noexcept { isa::relax(); }
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }

    static void start_counter() noexcept {
        bare::reg(timer0) = 0;
        bare::reg(timer0 + 8) = 0xffffffffU;  // reload
        bare::reg(timer0 + 4) = 0xffffffffU;
        bare::reg(timer0) = 1;
    }

  private:
    // The counter's lower half when it was last read, and the part that is kept above it.
    struct Seen {
        std::uint32_t lower;
        std::uint32_t upper;
    };
    static inline Seen seen{};
};

// The CMSDK UART.
struct Uart {
    static void start() noexcept {
        bare::reg(uart0 + 0x10) = 16;  // the smallest divider: nobody waits for bits here
        bare::reg(uart0 + 0x08) = 1;   // transmit
    }
    static void put(char c) noexcept {
        while ((bare::reg(uart0 + 4) & 1U) != 0) {
        }
        bare::reg(uart0) = static_cast<unsigned char>(c);
    }
};

}  // namespace consort::mps2
