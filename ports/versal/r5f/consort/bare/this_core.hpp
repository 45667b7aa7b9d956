// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, on the Versal's Cortex-R5F.
#pragma once

#include "consort/bare/arm/cortex_r5f.hpp"
#include "consort/bare/arm/pl011.hpp"
#include "consort/bare/console.hpp"
#include "consort/bare/polling.hpp"
#include "consort/versal/memory_map.hpp"

namespace consort::bare {

using ThisPort = arm::CortexR5F<board::clock_of_r5f>;
using CoreTimer = Polling<ThisPort>;
inline constexpr const char* this_core = board::title_of_r5f;
inline constexpr std::uint32_t this_place = board::control_block_of_r5f;

inline unsigned char* window() noexcept {
    return reinterpret_cast<unsigned char*>(versal::window);
}
inline unsigned char* on_chip() noexcept {
    return reinterpret_cast<unsigned char*>(versal::on_chip);
}
inline void print(const char* text) noexcept {
    print_line<arm::Pl011<versal::uart1>>(text);
}

inline void start_up() noexcept {
    arm::Pl011<versal::uart1>::start();
    ThisPort::start_counter();
}

}  // namespace consort::bare
