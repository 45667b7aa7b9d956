// SPDX-License-Identifier: Apache-2.0
//
// Starts the second Cortex-A72 from the first: at an image of its own, or within the first one's program,
// which then links ports/versal/a72/second_core.S.
#pragma once

#include <cstdint>

#include "consort/bare/arm/aarch64.hpp"

extern "C" {
// From its start to C++ with the first one's page tables.
void consort_second_core();
// The function that it runs then, at EL3: defined by the program.
void consort_second_main();
}

namespace consort::versal {

// `begin`: where, at EL3. The boot firmware's PSCI starts a core at EL2; from there a monitor call leads to
// EL3, whose vectors are at 0 on a core that has just been reset. Behind the R5F's own vectors there is room
// for both. Returns 0, or why the firmware refuses.
inline std::int64_t start_second_core(std::uintptr_t begin) noexcept {
    std::uintptr_t call_from_below = 0x400;
    // Unknown to the compiler: it takes an address in the first page for a null pointer's.
    asm("" : "+r"(call_from_below));
    auto* vector = reinterpret_cast<volatile std::uint32_t*>(call_from_below);
    vector[0] = 0x58000050;  // ldr x16, .+8
    vector[1] = 0xd61f0200;  // br x16
    vector[2] = static_cast<std::uint32_t>(begin);
    vector[3] = 0;
    vector[4] = 0xd2800000;  // mov x0, #0
    vector[5] = 0xd4000003;  // smc #0
    bare::arm::AArch64::clean(const_cast<std::uint32_t*>(vector), 24);
    // Below EL3 is AArch64: what the firmware asks before it starts another core there.
    asm volatile("msr scr_el3, %0\n isb" ::"r"(std::uint64_t{1U << 10U}));
    register std::uint64_t function asm("x0") = 0xc4000003;  // CPU_ON
    register std::uint64_t target asm("x1") = 1;
    register std::uint64_t entry asm("x2") = call_from_below + 16;
    register std::uint64_t context asm("x3") = 0;
    asm volatile("hvc #0" : "+r"(function) : "r"(target), "r"(entry), "r"(context) : "memory");
    return static_cast<std::int64_t>(function);
}

}  // namespace consort::versal
