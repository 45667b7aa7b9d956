// SPDX-License-Identifier: Apache-2.0
//
// The scratchpad kernel's tables, as the I/O core and the application cores start from them. Which source is
// linked decides where they come from: headers of `consort generate --for scratchpad`
// (scratchpad/generated_tables.cpp), or rows that a test writes into the window
// (scratchpad/window_tables.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/spm/schedule.hpp"
#include "consort/spm/task.hpp"
#include "consort/versal/scratchpad.hpp"

namespace consort::versal::scratchpad {

struct KernelTables {
    std::uint32_t cores = 0;  // that own slots
    spm::TaskTable tasks[most_cores] = {};
    std::byte* partition[most_cores][spm::partitions] = {};
    std::uint32_t partition_bytes[most_cores] = {};
    spm::Schedule schedule{};  // begins at 0
};

// Null, or why the board cannot run them.
[[nodiscard]] const char* read_tables(KernelTables& into) noexcept;

}  // namespace consort::versal::scratchpad
