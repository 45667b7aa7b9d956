// SPDX-License-Identifier: Apache-2.0
//
// The kernel's tables as `consort generate --for scratchpad` has written them.
#include "consort-tables.hpp"
#include "consort/versal/kernel_tables.hpp"

namespace consort::versal::scratchpad {

static_assert(tables::ticks_per_second == 1'000'000'000, "the clock of all cores counts nanoseconds");
static_assert(tables::cores <= application_cores, "the board has two application cores");

const char* read_tables(KernelTables& into) noexcept {
    const char* wrong = into.plan.read(tables::plan(), [](std::uint32_t n) { return tables::image[n]; });
    for (std::uint32_t c = 0; c < tables::cores; ++c) {
        into.partition_bytes[c] = tables::partition_bytes[c];
        for (std::uint32_t p = 0; p < spm::partitions; ++p) {
            into.partition[c][p] = tables::partition[c][p];
        }
    }
    into.schedule = into.plan.schedule(tables::tolerance);
    return wrong;
}

}  // namespace consort::versal::scratchpad
