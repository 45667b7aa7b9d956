// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, on a Cortex-A53 of the Zynq UltraScale+: the one with the number CONSORT_CORE.
#pragma once

#include "consort/bare/arm/aarch64.hpp"
#include "consort/bare/console.hpp"
#include "consort/bare/control_block.hpp"
#include "consort/board/memory_map.hpp"
#include "consort/zynqmp/other_cores.hpp"
#include "consort/zynqmp/timer.hpp"
#include "consort/zynqmp/uart.hpp"

namespace consort::bare {

static_assert(CONSORT_CORE >= 0 && CONSORT_CORE <= 3);
inline constexpr bool is_first = CONSORT_CORE == 0;
inline constexpr const char* titles[] = {board::title_of_a53_0, board::title_of_a53_1, board::title_of_a53_2,
                                         board::title_of_a53_3};
inline constexpr std::uint32_t places[] = {board::control_block_of_a53_0, board::control_block_of_a53_1,
                                           board::control_block_of_a53_2, board::control_block_of_a53_3};

using ThisPort = arm::AArch64;
using CoreTimer = zynqmp::Timer;
inline constexpr const char* this_core = titles[CONSORT_CORE];
inline constexpr std::uint32_t this_place = places[CONSORT_CORE];

inline unsigned char* window() noexcept {
    return reinterpret_cast<unsigned char*>(board::window);
}
inline unsigned char* on_chip() noexcept {
    return reinterpret_cast<unsigned char*>(board::on_chip);
}
inline void print(const char* text) noexcept {
    zynqmp::print<is_first, board::uart0>(text);
}

// The first core starts those that have orders.
inline void start_up() noexcept {
    if constexpr (is_first) {
        zynqmp::Uart<board::uart0>::start();
        for (const zynqmp::OtherCore& other : zynqmp::other_cores) {
            if (ControlBlock(window() + other.control_block * ControlBlock::bytes).ordered()) {
                zynqmp::start(other);
            }
        }
    }
}

}  // namespace consort::bare
