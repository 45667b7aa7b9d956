// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, on a Cortex-A72 of the Versal: the one with the number CONSORT_CORE.
#pragma once

#include "consort/bare/arm/aarch64.hpp"
#include "consort/bare/arm/pl011.hpp"
#include "consort/bare/console.hpp"
#include "consort/bare/control_block.hpp"
#include "consort/bare/registers.hpp"
#include "consort/versal/memory_map.hpp"
#include "consort/versal/second_core.hpp"
#include "consort/versal/timer.hpp"

namespace consort::bare {

static_assert(CONSORT_CORE == 0 || CONSORT_CORE == 1);
inline constexpr bool is_first = CONSORT_CORE == 0;

using ThisPort = arm::AArch64;
using CoreTimer = versal::Timer;
inline constexpr const char* this_core = is_first ? board::title_of_a72 : board::title_of_a72_1;
inline constexpr std::uint32_t this_place =
    is_first ? board::control_block_of_a72 : board::control_block_of_a72_1;

inline unsigned char* window() noexcept {
    return reinterpret_cast<unsigned char*>(versal::window);
}
inline unsigned char* on_chip() noexcept {
    return reinterpret_cast<unsigned char*>(versal::on_chip);
}
inline void print(const char* text) noexcept {
    if constexpr (is_first) {
        print_line<arm::Pl011<versal::uart0>>(text);
    }
}

// The first core starts those that have orders: the second one, and both R5F at once.
inline void start_up() noexcept {
    if constexpr (is_first) {
        const auto ordered = [](std::uint32_t place) {
            return ControlBlock(window() + place * ControlBlock::bytes).ordered();
        };
        arm::Pl011<versal::uart0>::start();
        if (ordered(board::control_block_of_a72_1)) {
            versal::start_second_core(board::a72_1_image);
        }
        if (ordered(board::control_block_of_r5f) || ordered(board::control_block_of_r5f_1)) {
            isa::system_barrier();
            reg(versal::crl_reset_cpu_r5) = 0;
            isa::system_barrier();
        }
    }
}

}  // namespace consort::bare
