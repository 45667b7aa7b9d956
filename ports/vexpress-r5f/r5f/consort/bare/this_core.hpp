// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, on the R5F of QEMU's Versatile Express.
#pragma once

#include "consort/bare/arm/pl011.hpp"
#include "consort/bare/console.hpp"
#include "consort/board/memory_map.hpp"
#include "consort/vexpress_r5f/timer.hpp"

namespace consort::bare {

using ThisPort = vexpress_r5f::Core;
using CoreTimer = vexpress_r5f::Timer;
inline constexpr const char* this_core = board::title_of_r5f;
inline constexpr std::uint32_t this_place = board::control_block_of_r5f;

inline unsigned char* window() noexcept {
    return reinterpret_cast<unsigned char*>(board::window);
}
// A board of one core has nobody to share on-chip memory with.
inline unsigned char* on_chip() noexcept {
    return nullptr;
}
inline void print(const char* text) noexcept {
    print_line<arm::Pl011<board::uart0>>(text);
}

inline void start_up() noexcept {
    arm::Pl011<board::uart0>::start();
    ThisPort::start_counter();
}

}  // namespace consort::bare
