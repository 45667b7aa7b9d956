// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, on the MPS2's Cortex-M4F.
#pragma once

#include "consort/bare/console.hpp"
#include "consort/mps2/m4f.hpp"
#include "consort/mps2/memory_map.hpp"
#include "consort/mps2/timer.hpp"

namespace consort::bare {

using ThisPort = mps2::CortexM4F;
using CoreTimer = mps2::Timer;
inline constexpr const char* this_core = board::title_of_m4f;
inline constexpr std::uint32_t this_place = board::control_block_of_m4f;

inline unsigned char* window() noexcept {
    return reinterpret_cast<unsigned char*>(mps2::window);
}
// A board of one core has nobody to share on-chip memory with.
inline unsigned char* on_chip() noexcept {
    return nullptr;
}
inline void print(const char* text) noexcept {
    print_line<mps2::Uart>(text);
}

inline void start_up() noexcept {
    mps2::Uart::start();
    mps2::CortexM4F::start_counter();
}

}  // namespace consort::bare
