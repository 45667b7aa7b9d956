// SPDX-License-Identifier: Apache-2.0
//
// Regions of a Cortex-R5F's memory protection unit. A later region wins over an earlier one.
#pragma once

#include <cstdint>

namespace consort::bare::arm::mpu {

// TEX, S, C, B (DDI 0460D, 7.3).
inline constexpr std::uint32_t write_back = 1U << 3U | 3U;
inline constexpr std::uint32_t uncached = 1U << 3U | 1U << 2U;
inline constexpr std::uint32_t device = 1U;
inline constexpr std::uint32_t never_execute = 1U << 12U;
inline constexpr std::uint32_t full_access = 3U << 8U;
inline constexpr std::uint32_t read_only = 6U << 8U;

// A power of two from 32 bytes to 4 GiB, as the size field wants it.
constexpr std::uint32_t size_field(std::uint64_t bytes) {
    std::uint32_t power = 0;
    while ((std::uint64_t{1} << power) < bytes) {
        ++power;
    }
    return (power - 1) << 1U;
}

// Begins at a multiple of its size. `attributes`: one of the memory types, and who may do what.
inline void region(std::uint32_t number, std::uint32_t base, std::uint64_t bytes, std::uint32_t attributes) {
    asm volatile("mcr p15, 0, %0, c6, c2, 0" ::"r"(number));
    asm volatile("mcr p15, 0, %0, c6, c1, 0" ::"r"(base));
    asm volatile("mcr p15, 0, %0, c6, c1, 4" ::"r"(attributes));
    asm volatile("mcr p15, 0, %0, c6, c1, 2" ::"r"(size_field(bytes) | 1U));
}

inline void synchronize() {
    asm volatile("dsb\n isb" ::: "memory");
}

}  // namespace consort::bare::arm::mpu
