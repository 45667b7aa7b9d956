// SPDX-License-Identifier: Apache-2.0
//
// The A72's page tables: an identity map of the lower 4 GiB, in blocks of 2 MiB.
//
// DDR is write-back; the shared window and the on-chip memory are normal memory without caches, because
// neither the R5F nor a host behind a link snoops this cluster; the range of the devices is device
// memory. What is not there is not mapped, so that a stray pointer faults.
#include <cstdint>

#include "consort/versal/memory_map.hpp"

namespace {

using consort::versal::block;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
constexpr std::uint64_t per_table = 512;

constexpr std::uint64_t table = 3;
constexpr std::uint64_t accessed_block = 1 | 1U << 10U;
constexpr std::uint64_t inner_shareable = 3U << 8U;
constexpr std::uint64_t never_execute = std::uint64_t{1} << 54U;
constexpr std::uint64_t cached = accessed_block | inner_shareable | 0U << 2U;
constexpr std::uint64_t uncached = accessed_block | inner_shareable | 1U << 2U | never_execute;
constexpr std::uint64_t device = accessed_block | 2U << 2U | never_execute;

std::uint64_t attributes(std::uint64_t address) {
    using namespace consort::versal;
    if (address >= window && address < window + window_bytes) {
        return uncached;
    }
    if (address < 2 * gib) {
        return cached;
    }
    if (address == (on_chip & ~(block - 1))) {
        return uncached;
    }
    return address >= devices ? device : 0;
}

}  // namespace

extern "C" {

// The first level (one entry a GiB), then one table for each of the four.
alignas(4096) std::uint64_t consort_page_tables[5][per_table];

// Runs before the MMU is on: plain stores, nothing that needs aligned-only memory.
void consort_fill_page_tables() {
    for (std::uint64_t i = 0; i < 4; ++i) {
        consort_page_tables[0][i] = reinterpret_cast<std::uintptr_t>(consort_page_tables[i + 1]) | table;
        for (std::uint64_t k = 0; k < per_table; ++k) {
            const std::uint64_t address = i * gib + k * block;
            const std::uint64_t attribute = attributes(address);
            consort_page_tables[i + 1][k] = attribute == 0 ? 0 : address | attribute;
        }
    }
}
}
