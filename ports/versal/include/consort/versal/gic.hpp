// SPDX-License-Identifier: Apache-2.0
//
// The interrupt controller (GICv3) and the secure physical timer of an A72 at EL3: the timer's interrupt, and
// those that cores send each other, as fast interrupts that are routed to EL3.
#pragma once

#include <cstdint>

#include "consort/bare/registers.hpp"
#include "consort/versal/memory_map.hpp"

namespace consort::versal {

class PrivateTimer {
  public:
    // Once, by the first core.
    static void enable_distributor() noexcept { bare::reg(gic_distributor) = 1U; }  // GICD_CTLR: group 0

    // By each core for itself.
    static void enable(std::uint32_t core) noexcept {
        const std::uintptr_t redistributor = gic_redistributor0 + core * redistributor_bytes;
        bare::reg(redistributor + waker) = bare::reg(redistributor + waker) & ~2U;  // ProcessorSleep
        while ((bare::reg(redistributor + waker) & 4U) != 0) {
        }
        const std::uintptr_t private_interrupts = redistributor + 0x10000;
        bare::reg(private_interrupts + 0x80) = 0;  // IGROUPR0, IGRPMODR0: all of group 0
        bare::reg(private_interrupts + 0xd00) = 0;
        bare::reg(private_interrupts + 0x400 + 28) = 0;  // priorities of 28 to 31: the highest
        bare::reg(private_interrupts + 0x100) = 1U << interrupt;
        asm volatile(
            "msr S3_6_C12_C12_5, %0\n isb\n"  // ICC_SRE_EL3: system registers
            "msr S3_0_C4_C6_0, %1\n"          // ICC_PMR: all priorities
            "msr S3_0_C12_C12_6, %2\n isb"    // ICC_IGRPEN0
            ::"r"(std::uint64_t{0xf}),
            "r"(std::uint64_t{0xff}), "r"(std::uint64_t{1})
            : "memory");
    }

    // A software-generated interrupt (0 to 15), by the core that is to get it; sent by any core.
    static void enable_signal(std::uint32_t core, std::uint32_t number) noexcept {
        bare::reg(gic_redistributor0 + core * redistributor_bytes + 0x10000 + 0x100) = 1U << number;
    }
    static void send_signal(std::uint32_t core, std::uint32_t number) noexcept {
        const std::uint64_t order = std::uint64_t{number} << 24U | std::uint64_t{1} << core;
        // Earlier writes are visible when it is taken.
        asm volatile("dsb sy\n msr S3_0_C12_C11_7, %0\n isb" ::"r"(order) : "memory");  // ICC_SGI0R
    }

    // Interrupts `ticks` of the generic timer from now.
    static void after(std::uint64_t ticks) noexcept {
        asm volatile("msr cntps_tval_el1, %0\n msr cntps_ctl_el1, %1\n isb" ::"r"(ticks),
                     "r"(std::uint64_t{1})
                     : "memory");
    }
    // Interrupts at a reading of the generic timer.
    static void at(std::uint64_t ticks) noexcept {
        asm volatile("msr cntps_cval_el1, %0\n msr cntps_ctl_el1, %1\n isb" ::"r"(ticks),
                     "r"(std::uint64_t{1})
                     : "memory");
    }
    // No more of them. A core that waits for good with its timer's interrupt pending would never sleep.
    static void stop() noexcept { asm volatile("msr cntps_ctl_el1, xzr\n isb" ::: "memory"); }

    // By a handler: whether it is the timer's interrupt that is to be handled. Others may come again then.
    static bool taken() noexcept {
        std::uint64_t number = 0;
        asm volatile("mrs %0, S3_0_C12_C8_0" : "=r"(number)::"memory");  // ICC_IAR0
        if (number != interrupt) {
            return false;
        }
        stop();
        asm volatile("msr S3_0_C12_C8_1, %0\n isb" ::"r"(number) : "memory");  // ICC_EOIR0
        return true;
    }

  private:
    static constexpr std::uint32_t interrupt = 29;
    static constexpr std::uintptr_t redistributor_bytes = 0x20000;
    static constexpr std::uintptr_t waker = 0x14;
};

}  // namespace consort::versal
