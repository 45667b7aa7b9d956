// SPDX-License-Identifier: Apache-2.0
//
// The scratchpad kernel's tables, as the I/O core and the application cores start from them. Which source is
// linked decides where the plan image and the images of tasks come from: headers of `consort generate --for
// scratchpad` (scratchpad/generated_tables.cpp), or the window (scratchpad/window_tables.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "consort/spm/planned.hpp"
#include "consort/versal/scratchpad.hpp"

namespace consort::versal::scratchpad {

struct KernelTables {
    spm::Planned<most_cores, most_tasks> plan{};
    std::byte* partition[most_cores][spm::partitions] = {};
    std::uint32_t partition_bytes[most_cores] = {};
    spm::Schedule schedule{};  // begins at 0
};

// Null, or why the board cannot run them.
[[nodiscard]] const char* read_tables(KernelTables& into) noexcept;

}  // namespace consort::versal::scratchpad
