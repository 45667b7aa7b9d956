// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, on the Versal's Cortex-A72.
#pragma once

#include "consort/bare/arm/aarch64.hpp"
#include "consort/bare/arm/pl011.hpp"
#include "consort/bare/console.hpp"
#include "consort/bare/control_block.hpp"
#include "consort/bare/registers.hpp"
#include "consort/versal/memory_map.hpp"
#include "consort/versal/timer.hpp"

namespace consort::bare {

using ThisPort = arm::AArch64;
using CoreTimer = versal::Timer;
inline constexpr const char* this_core = board::title_of_a72;
inline constexpr std::uint32_t this_place = board::control_block_of_a72;

inline unsigned char* window() noexcept {
    return reinterpret_cast<unsigned char*>(versal::window);
}
inline unsigned char* on_chip() noexcept {
    return reinterpret_cast<unsigned char*>(versal::on_chip);
}
inline void print(const char* text) noexcept {
    print_line<arm::Pl011<versal::uart0>>(text);
}

// What the control block of the R5F carries if the R5F is to run: the A72 is the core that starts first.
inline void start_up() noexcept {
    arm::Pl011<versal::uart0>::start();
    if (ControlBlock(window() + board::control_block_of_r5f * ControlBlock::bytes).ordered()) {
        isa::system_barrier();
        reg(versal::crl_reset_cpu_r5) = 0;
        isa::system_barrier();
    }
}

}  // namespace consort::bare
