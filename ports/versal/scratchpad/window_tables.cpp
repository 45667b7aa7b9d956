// SPDX-License-Identifier: Apache-2.0
//
// The kernel's tables as a test has written them into the window.
#include "consort/versal/kernel_tables.hpp"

namespace consort::versal::scratchpad {

const char* read_tables(KernelTables& into) noexcept {
    const auto& tables = *in_window<const Tables>(tables_at);
    app::plan::Image plan;
    const auto refused =
        app::plan::Image::open(in_window<const std::byte>(tables.plan_at), tables.plan_bytes, 0, plan);
    if (refused != app::plan::Refused::no) {
        return app::plan::to_string(refused);
    }
    if (plan.head().tasks != tables.given) {
        return "the plan in the window is of other tasks";
    }
    const auto* given = in_window<const Given>(tables.given_at);
    const char* wrong = into.plan.read(plan, [&](std::uint32_t n) {
        const Given& task = given[n];
        return spm::Image{{task.code, task.data, task.inputs, task.outputs},
                          in_window<const std::byte>(task.code_at),
                          in_window<std::byte>(task.data_at)};
    });
    if (wrong != nullptr) {
        return wrong;
    }
    for (std::uint32_t c = 0; c < into.plan.cores(); ++c) {
        into.partition_bytes[c] = partition_room;
        for (std::uint32_t p = 0; c < application_cores && p < spm::partitions; ++p) {
            into.partition[c][p] = reinterpret_cast<std::byte*>(partition_at(c, p));
        }
    }
    into.schedule = into.plan.schedule(tables.tolerance);
    into.schedule.repeats = tables.repeats;
    return nullptr;
}

}  // namespace consort::versal::scratchpad
