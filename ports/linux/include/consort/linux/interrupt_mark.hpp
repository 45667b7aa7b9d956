// SPDX-License-Identifier: Apache-2.0
//
// Tells if a thread was interrupted in a stretch of its own code, at the price of reading one register. A
// clock cannot tell, because the code itself takes a time that nobody knows.
//
// x86-64: a return from an interrupt to user mode (IRET) replaces a null selector in ES, of which there are
// four, by 0 (Intel SDM Vol. 2, IRET; Zhang et al., "SegScope", HPCA 2024). Addresses do not use ES in 64-bit
// mode. So 1 stays there for as long as nothing interrupts the thread; preemption begins with an interrupt,
// too. A system call that blocks may return the same way. A hypervisor that takes the processor away
// leaves no trace here, and a processor with FRED none of interrupts.
#pragma once

#include <cstdint>

namespace consort::linux_port {

class InterruptMark {
  public:
#if defined(__x86_64__)
    static constexpr bool available = true;

    // From here on. Some 100 cycles, unless nothing came since the last time.
    static void clear() noexcept {
        if (hit()) {
            const std::uint16_t null = 1;
            asm volatile("mov %0, %%es" : : "r"(null) : "memory");
        }
    }
    [[nodiscard]] static bool hit() noexcept {
        std::uint16_t selector = 0;
        asm volatile("mov %%es, %0" : "=r"(selector) : : "memory");
        return selector != 1;
    }
#else
    static constexpr bool available = false;
    static void clear() noexcept {}
    [[nodiscard]] static bool hit() noexcept {
        return false;
    }
#endif
};

}  // namespace consort::linux_port
