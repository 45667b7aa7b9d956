// SPDX-License-Identifier: Apache-2.0
//
// Where things lie on a Versal (AM011, "System address map"), and which part of the DDR this port uses for
// what. The images' places are also in r5f.ld and a72.ld, the window's in python/consort/board/boards.py.
#pragma once

#include <cstdint>

namespace consort::versal {

inline constexpr std::uintptr_t uart0 = 0xff000000;
inline constexpr std::uintptr_t uart1 = 0xff010000;
inline constexpr std::uintptr_t crl_reset_cpu_r5 = 0xff5e0300;
inline constexpr std::uintptr_t zdma0 = 0xffa80000;
inline constexpr std::uintptr_t zdma_step = 0x10000;
inline constexpr std::uint32_t zdma_channels = 8;

inline constexpr std::uintptr_t on_chip = 0xfffc0000;
inline constexpr std::uint32_t on_chip_bytes = 256 * 1024;

// In DDR, which begins at 0: 2 MiB for the R5F's image (its vectors are at 0), the A72's image, and the
// window that all cores and the host share, mapped without caches. 2 MiB is what a page table entry of the
// A72 covers.
inline constexpr std::uintptr_t block = std::uintptr_t{2} * 1024 * 1024;
inline constexpr std::uintptr_t window = 0x04000000;
inline constexpr std::uint32_t window_bytes = 8 * 1024 * 1024;

}  // namespace consort::versal
