// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, on a Cortex-R5F of the Versal: the one with the number CONSORT_CORE.
#pragma once

#include "consort/bare/arm/cortex_r5f.hpp"
#include "consort/bare/arm/pl011.hpp"
#include "consort/bare/console.hpp"
#include "consort/bare/polling.hpp"
#include "consort/versal/memory_map.hpp"

namespace consort::bare {

static_assert(CONSORT_CORE == 0 || CONSORT_CORE == 1);
inline constexpr bool is_first = CONSORT_CORE == 0;

using ThisPort = arm::CortexR5F<is_first ? board::clock_of_r5f : board::clock_of_r5f_1>;
using CoreTimer = Polling<ThisPort>;
inline constexpr const char* this_core = is_first ? board::title_of_r5f : board::title_of_r5f_1;
inline constexpr std::uint32_t this_place =
    is_first ? board::control_block_of_r5f : board::control_block_of_r5f_1;

inline unsigned char* window() noexcept {
    return reinterpret_cast<unsigned char*>(versal::window);
}
inline unsigned char* on_chip() noexcept {
    return reinterpret_cast<unsigned char*>(versal::on_chip);
}
inline void print(const char* text) noexcept {
    if constexpr (is_first) {
        print_line<arm::Pl011<versal::uart1>>(text);
    }
}

inline void start_up() noexcept {
    if constexpr (is_first) {
        arm::Pl011<versal::uart1>::start();
    }
    ThisPort::start_counter();
}

}  // namespace consort::bare
