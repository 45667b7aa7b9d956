// SPDX-License-Identifier: Apache-2.0
//
// The kernel's tables as `consort generate --for scratchpad` has written them.
#include "consort-tables.hpp"
#include "consort/versal/kernel_tables.hpp"

namespace consort::versal::scratchpad {

// The clock of all cores counts nanoseconds.
inline constexpr Ticks rate = 1'000'000'000;
static_assert(tables::cores <= application_cores, "the board has two application cores");
static_assert(tables::most_tasks <= most_tasks, "more tasks on a core than the board's kernel takes");

const char* read_tables(KernelTables& into) noexcept {
    into.cores = tables::cores;
    for (std::uint32_t c = 0; c < tables::cores; ++c) {
        into.tasks[c] = tables::task_table<rate>[c];
        into.partition_bytes[c] = tables::partition_bytes[c];
        for (std::uint32_t p = 0; p < spm::partitions; ++p) {
            into.partition[c][p] = tables::partition[c][p];
        }
    }
    into.schedule = tables::schedule<rate>(0);
    return nullptr;
}

}  // namespace consort::versal::scratchpad
