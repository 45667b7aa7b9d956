// SPDX-License-Identifier: Apache-2.0
//
// The port contract on a bare Cortex-R5F: the performance monitor's cycle counter, and cache maintenance by
// address. `now` keeps the counter's upper half itself and must be called at least once in 2^32 cycles (5 s
// at 800 MHz), which every waiting loop does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/port.hpp"

namespace consort::bare::arm {

// `interrupted`: whether a handler of this core calls now() as well. Two that look at the same time would
// both see the counter's wrap.
template <Ticks hertz, bool interrupted = false>
struct CortexR5F {
    static std::uint32_t cycles() noexcept {
        std::uint32_t count = 0;
        asm volatile("isb\n mrc p15, 0, %0, c9, c13, 0" : "=r"(count)::"memory");
        return count;
    }
    static Ticks now() noexcept {
        std::uint32_t state = 0;
        if constexpr (interrupted) {
            asm volatile("mrs %0, cpsr\n cpsid i" : "=r"(state)::"memory");
        }
        const std::uint32_t low = cycles();
        if (low < last) {
            upper += Ticks{1} << 32U;
        }
        last = low;
        const Ticks now = upper | low;
        if constexpr (interrupted) {
            asm volatile("msr cpsr_c, %0" ::"r"(state) : "memory");
        }
        return now;
    }
    static Ticks timestamp() noexcept { return now(); }
    static Ticks ticks_per_second() noexcept { return hertz; }
    static void relax() noexcept { isa::relax(); }
    static void clean(const void* begin, std::size_t bytes) noexcept {
        for_lines(begin, bytes, [](std::uintptr_t line) {
            asm volatile("mcr p15, 0, %0, c7, c10, 1" ::"r"(line) : "memory");
        });
    }
    // Cleans as well: what stands beside the range in its first and last line is not lost.
    static void invalidate(const void* begin, std::size_t bytes) noexcept {
        for_lines(begin, bytes, [](std::uintptr_t line) {
            asm volatile("mcr p15, 0, %0, c7, c14, 1" ::"r"(line) : "memory");
        });
    }
    // The cluster's cores follow its application cores in the numbers of an application.
    static std::uint32_t core_id() noexcept {
        std::uint32_t affinity = 0;
        asm volatile("mrc p15, 0, %0, c0, c0, 5" : "=r"(affinity));
        return 0x100U | (affinity & 0xffU);
    }

    // Starts the cycle counter from 0.
    static void start_counter() noexcept {
        asm volatile("mcr p15, 0, %0, c9, c12, 0" ::"r"(0x5U));       // PMCR: enable, reset the cycle counter
        asm volatile("mcr p15, 0, %0, c9, c12, 1" ::"r"(1U << 31U));  // PMCNTENSET: the cycle counter
        asm volatile("isb" ::: "memory");
    }

  private:
    template <class F>
    static void for_lines(const void* begin, std::size_t bytes, F&& each) noexcept {
        constexpr std::uintptr_t line = 32;
        const auto first = reinterpret_cast<std::uintptr_t>(begin);
        asm volatile("dsb sy" ::: "memory");
        for (std::uintptr_t at = first & ~(line - 1); at < first + bytes; at += line) {
            each(at);
        }
        asm volatile("dsb sy" ::: "memory");
    }

    static inline std::uint32_t last = 0;
    static inline Ticks upper = 0;
};

}  // namespace consort::bare::arm
