// SPDX-License-Identifier: Apache-2.0
//
// The port contract on the MPS2's Cortex-M4F: CMSDK timer 0, which counts down at 25 MHz. No interrupts:
// `now` keeps the upper half itself and must be called at least once in 2^32 ticks (171 s), which every
// waiting loop does. The core has no caches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/bare/registers.hpp"
#include "consort/mps2/memory_map.hpp"
#include "consort/port.hpp"

namespace consort::mps2 {

struct CortexM4F {
    static std::uint32_t counter() noexcept { return ~bare::reg(timer0 + 4); }
    static Ticks now() noexcept {
        const std::uint32_t low = counter();
        if (low < last_) {
            upper_ += Ticks{1} << 32U;
        }
        last_ = low;
        return upper_ | low;
    }
    static Ticks ticks_per_second() noexcept { return timer_hz; }
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
    static inline std::uint32_t last_ = 0;
    static inline Ticks upper_ = 0;
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
