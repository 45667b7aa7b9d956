// SPDX-License-Identifier: Apache-2.0
//
// The kernel's tables as a test has written them into the window.
#include "consort/versal/kernel_tables.hpp"

namespace consort::versal::scratchpad {

namespace {

spm::Task task[most_cores][most_tasks];
spm::Slot slot[kernel_slots];

}  // namespace

const char* read_tables(KernelTables& into) noexcept {
    const auto& tables = *in_window<const Tables>(tables_at);
    if (tables.cores > most_cores || tables.slots > kernel_slots) {
        return "tables of too many cores or slots";
    }
    into.cores = tables.cores;
    const auto* rows = in_window<const TaskRow>(tables.tasks_at);
    for (std::uint32_t i = 0; i < tables.tasks; ++i) {
        const TaskRow& row = rows[i];
        if (row.core >= tables.cores || into.tasks[row.core].count == most_tasks) {
            return "a task of a core that is not there, or too many of one";
        }
        spm::Task& t = task[row.core][into.tasks[row.core].count++];
        t.period = row.period;
        t.deadline = row.deadline;
        t.offset = row.offset;
        t.budget = row.budget;
        t.release = static_cast<spm::Release>(row.release);
        t.on_overrun = static_cast<spm::OnOverrun>(row.on_overrun);
        t.on_miss = static_cast<spm::OnMiss>(row.on_miss);
        t.size = {row.code, row.data, row.inputs, row.outputs};
        t.code = in_window<const std::byte>(row.code_at);
        t.data = in_window<std::byte>(row.data_at);
    }
    for (std::uint32_t c = 0; c < tables.cores; ++c) {
        into.tasks[c].tasks = task[c];
        into.partition_bytes[c] = partition_room;
        for (std::uint32_t p = 0; c < application_cores && p < spm::partitions; ++p) {
            into.partition[c][p] = reinterpret_cast<std::byte*>(partition_at(c, p));
        }
    }
    const auto* slots = in_window<const SlotRow>(tables.slots_at);
    for (std::uint32_t i = 0; i < tables.slots; ++i) {
        slot[i] = {slots[i].core, slots[i].length};
    }
    into.schedule.arbitration = static_cast<spm::Arbitration>(tables.arbitration);
    into.schedule.slots = slot;
    into.schedule.count = tables.slots;
    into.schedule.tolerance = tables.tolerance;
    into.schedule.repeats = tables.repeats;
    return nullptr;
}

}  // namespace consort::versal::scratchpad
