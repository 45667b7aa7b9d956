// SPDX-License-Identifier: Apache-2.0
//
// The port contract on a bare 64-bit Arm core (Cortex-A53, Cortex-A72): the generic timer, and cache
// maintenance by address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/port.hpp"

namespace consort::bare::arm {

struct AArch64 {
    // Ordered against the code around it (isb): the counter is otherwise read ahead.
    static Ticks timestamp() noexcept {
        Ticks ticks = 0;
        asm volatile("isb\n mrs %0, cntpct_el0\n isb" : "=r"(ticks)::"memory");
        return ticks;
    }
    static Ticks now() noexcept {
        Ticks ticks = 0;
        asm volatile("mrs %0, cntpct_el0" : "=r"(ticks)::"memory");
        return ticks;
    }
    static Ticks ticks_per_second() noexcept {
        Ticks frequency = 0;
        asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
        return frequency;
    }
    static void relax() noexcept { isa::relax(); }
    static void clean(const void* begin, std::size_t bytes) noexcept {
        for_lines(begin, bytes, [](std::uintptr_t line) {
            asm volatile("dc cvac, %0" ::"r"(line) : "memory");
        });
    }
    // Cleans as well: what stands beside the range in its first and last line is not lost.
    static void invalidate(const void* begin, std::size_t bytes) noexcept {
        for_lines(begin, bytes, [](std::uintptr_t line) {
            asm volatile("dc civac, %0" ::"r"(line) : "memory");
        });
    }
    static std::uint32_t core_id() noexcept {
        std::uint64_t affinity = 0;
        asm volatile("mrs %0, mpidr_el1" : "=r"(affinity));
        return static_cast<std::uint32_t>(affinity & 0xffffU);
    }

    // Cycles of the processor; under instruction counting, instructions.
    static std::uint64_t cycles() noexcept {
        std::uint64_t count = 0;
        asm volatile("isb\n mrs %0, pmccntr_el0\n isb" : "=r"(count)::"memory");
        return count;
    }

  private:
    template <class F>
    static void for_lines(const void* begin, std::size_t bytes, F&& each) noexcept {
        constexpr std::uintptr_t line = 64;
        const auto first = reinterpret_cast<std::uintptr_t>(begin);
        asm volatile("dsb sy" ::: "memory");
        for (std::uintptr_t at = first & ~(line - 1); at < first + bytes; at += line) {
            each(at);
        }
        asm volatile("dsb sy" ::: "memory");
    }
};

}  // namespace consort::bare::arm
