// SPDX-License-Identifier: Apache-2.0
//
// Starts the second Cortex-A72 from a program on the first; link ports/versal/a72/second_core.S beside it.
#pragma once

#include <cstdint>

#include "consort/bare/arm/aarch64.hpp"

// What the second core runs, at EL3 with the first one's page tables: defined by the program.
extern "C" void consort_second_main();

namespace consort::versal {

extern "C" {
void consort_second_core();
void consort_second_core_from_below();
}

// The boot firmware's PSCI starts a core at EL2; from there a monitor call leads to EL3, whose vectors are at
// 0 on a core that has just been reset. Behind the R5F's own vectors there is room for a jump. Returns 0, or
// why the firmware refuses.
inline std::int64_t start_second_core() noexcept {
    std::uintptr_t call_from_below = 0x400;
    // Unknown to the compiler: it takes an address in the first page for a null pointer's.
    asm("" : "+r"(call_from_below));
    auto* vector = reinterpret_cast<volatile std::uint32_t*>(call_from_below);
    vector[0] = 0x58000050;  // ldr x16, .+8
    vector[1] = 0xd61f0200;  // br x16
    vector[2] = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&consort_second_core));
    vector[3] = 0;
    bare::arm::AArch64::clean(const_cast<std::uint32_t*>(vector), 16);
    // Below EL3 is AArch64: what the firmware asks before it starts another core there.
    asm volatile("msr scr_el3, %0\n isb" ::"r"(std::uint64_t{1U << 10U}));
    register std::uint64_t function asm("x0") = 0xc4000003;  // CPU_ON
    register std::uint64_t target asm("x1") = 1;
    register std::uint64_t entry asm("x2") =
        reinterpret_cast<std::uintptr_t>(&consort_second_core_from_below);
    register std::uint64_t context asm("x3") = 0;
    asm volatile("hvc #0" : "+r"(function) : "r"(target), "r"(entry), "r"(context) : "memory");
    return static_cast<std::int64_t>(function);
}

}  // namespace consort::versal
