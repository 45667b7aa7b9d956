// SPDX-License-Identifier: Apache-2.0
//
// Programs for boards, on the RV64 of QEMU's virt.
#pragma once

#include "consort/bare/console.hpp"
#include "consort/bare/riscv/clint.hpp"
#include "consort/board/memory_map.hpp"

namespace consort::bare {

using ThisPort = riscv::Core<board::mtime, board::clock_of_rv64>;
using CoreTimer = riscv::Timer<board::mtimecmp>;
inline constexpr const char* this_core = board::title_of_rv64;
inline constexpr std::uint32_t this_place = board::control_block_of_rv64;

inline unsigned char* window() noexcept {
    return reinterpret_cast<unsigned char*>(board::window);
}
// A board of one core has nobody to share on-chip memory with.
inline unsigned char* on_chip() noexcept {
    return nullptr;
}
inline void print(const char* text) noexcept {
    print_line<riscv::Uart<board::uart0>>(text);
}

inline void start_up() noexcept {}

}  // namespace consort::bare
