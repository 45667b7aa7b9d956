// SPDX-License-Identifier: Apache-2.0
//
// The cores that the first Cortex-A53 starts, by PSCI calls of the boot firmware (DEN 0022). The R5F have no
// image to be loaded by it: they begin at their vectors.
#pragma once

#include <cstdint>

#include "consort/board/memory_map.hpp"
#include "consort/port.hpp"

namespace consort::zynqmp {

struct OtherCore {
    std::uint32_t control_block;
    std::uint64_t number;  // the firmware's
    std::uintptr_t entry;
};

inline constexpr OtherCore other_cores[] = {
    {board::control_block_of_a53_1, 1, board::a53_1_image},
    {board::control_block_of_a53_2, 2, board::a53_2_image},
    {board::control_block_of_a53_3, 3, board::a53_3_image},
    {board::control_block_of_r5f_0, 4, board::r5f_0_vectors},
    {board::control_block_of_r5f_1, 5, board::r5f_1_vectors},
};

// Earlier writes are visible when the core begins.
inline void start(const OtherCore& core) noexcept {
    isa::system_barrier();
    register std::uint64_t function asm("x0") = 0xc4000003;  // CPU_ON
    register std::uint64_t target asm("x1") = core.number;
    register std::uint64_t entry asm("x2") = core.entry;
    register std::uint64_t context asm("x3") = 0;
    asm volatile("smc #0" : "+r"(function) : "r"(target), "r"(entry), "r"(context) : "memory");
}

}  // namespace consort::zynqmp
