// SPDX-License-Identifier: Apache-2.0
//
// The page tables of a 64-bit Arm core: an identity map of the lower 4 GiB, in blocks of 2 MiB.
//
// DDR is write-back; the shared window and the on-chip memory are normal memory without caches, because
// neither a real-time core nor a host behind a link snoops this cluster; the range of the devices is device
// memory. What is not there is not mapped, so that a stray pointer faults.
#pragma once

#include <cstdint>

#include "consort/board/memory_map.hpp"

namespace consort::bare::arm {

class PageTables {
  public:
    // The size of an entry: images and window begin at multiples of it.
    static constexpr std::uint64_t block = std::uint64_t{2} * 1024 * 1024;

    // Runs before the MMU is on: plain stores, nothing that needs aligned-only memory.
    void fill() noexcept {
        for (std::uint64_t i = 0; i < 4; ++i) {
            entries_[0][i] = reinterpret_cast<std::uintptr_t>(entries_[i + 1]) | table;
            for (std::uint64_t k = 0; k < per_table; ++k) {
                const std::uint64_t address = i * gib + k * block;
                const std::uint64_t attribute = attributes(address);
                entries_[i + 1][k] = attribute == 0 ? 0 : address | attribute;
            }
        }
    }

  private:
    static constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
    static constexpr std::uint64_t per_table = 512;

    static constexpr std::uint64_t table = 3;
    static constexpr std::uint64_t accessed_block = 1 | 1U << 10U;
    static constexpr std::uint64_t inner_shareable = 3U << 8U;
    // At EL1 for both levels that may execute; at EL3 the lower bit has no meaning.
    static constexpr std::uint64_t never_execute = std::uint64_t{3} << 53U;
    static constexpr std::uint64_t cached = accessed_block | inner_shareable | 0U << 2U;
    static constexpr std::uint64_t uncached = accessed_block | inner_shareable | 1U << 2U | never_execute;
    static constexpr std::uint64_t device = accessed_block | 2U << 2U | never_execute;

    static std::uint64_t attributes(std::uint64_t address) noexcept {
        if (address >= board::window && address < board::window + board::window_bytes) {
            return uncached;
        }
        if (address < 2 * gib) {
            return cached;
        }
        if (address == (board::on_chip & ~(block - 1))) {
            return uncached;
        }
        return address >= board::devices ? device : 0;
    }

    // The first level (one entry a GiB), then one table for each of the four.
    alignas(4096) std::uint64_t entries_[5][per_table];
};

}  // namespace consort::bare::arm
