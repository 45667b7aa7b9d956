// SPDX-License-Identifier: Apache-2.0
//
// The R5F's memory protection unit: DDR write-back, the shared window and the on-chip memory normal and
// without caches, devices device memory. A later region wins over an earlier one.
#include <cstdint>

#include "consort/versal/memory_map.hpp"

namespace {

constexpr std::uint32_t full_access = 3U << 8U;
constexpr std::uint32_t never_execute = 1U << 12U;
// TEX, S, C, B (DDI 0460D, 7.3).
constexpr std::uint32_t write_back = 1U << 3U | 3U;
constexpr std::uint32_t uncached = 1U << 3U | 1U << 2U;
constexpr std::uint32_t device = 1U;

// A power of two from 32 bytes to 4 GiB, as the size field wants it.
constexpr std::uint32_t size_field(std::uint64_t bytes) {
    std::uint32_t power = 0;
    while ((std::uint64_t{1} << power) < bytes) {
        ++power;
    }
    return (power - 1) << 1U;
}

void region(std::uint32_t number, std::uint32_t base, std::uint64_t bytes, std::uint32_t access) {
    asm volatile("mcr p15, 0, %0, c6, c2, 0" ::"r"(number));
    asm volatile("mcr p15, 0, %0, c6, c1, 0" ::"r"(base));
    asm volatile("mcr p15, 0, %0, c6, c1, 4" ::"r"(access | full_access));
    asm volatile("mcr p15, 0, %0, c6, c1, 2" ::"r"(size_field(bytes) | 1U));
}

}  // namespace

extern "C" void consort_set_mpu() {
    using namespace consort::versal;
    static_assert(window % window_bytes == 0, "a region begins at a multiple of its size");
    region(0, 0, 0x80000000U, write_back);
    region(1, window, window_bytes, uncached | never_execute);
    region(2, devices, devices_bytes, device | never_execute);
    region(3, on_chip, on_chip_bytes, uncached | never_execute);
    asm volatile("dsb\n isb" ::: "memory");
}
