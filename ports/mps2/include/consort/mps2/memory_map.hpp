// SPDX-License-Identifier: Apache-2.0
//
// Where things lie on Arm's MPS2 board with the AN386 image (Cortex-M4F).
#pragma once

#include <cstdint>

namespace consort::mps2 {

inline constexpr std::uintptr_t timer0 = 0x40000000;
inline constexpr std::uintptr_t uart0 = 0x40004000;
inline constexpr std::uint32_t timer_hz = 25000000;

// The PSRAM, which no image uses: shared with the host's processes.
inline constexpr std::uintptr_t window = 0x21000000;
inline constexpr std::uint32_t window_bytes = 16 * 1024 * 1024;

}  // namespace consort::mps2
