// SPDX-License-Identifier: Apache-2.0
//
// The tables of a kernel, out of a plan image: the tasks of each core, and the slots.
#pragma once

#include <cstdint>

#include "consort/app/plan.hpp"
#include "consort/spm/schedule.hpp"
#include "consort/spm/task.hpp"

namespace consort::spm {

// Every core of the plan is a three-phase one, and they share one DMA. Its tasks stand core by core, the most
// urgent first. What was read stays where it is.
template <std::uint32_t most_cores, std::uint32_t most_tasks>
class Planned {
  public:
    // `image_of(n)`: the image of the plan's n-th task. Null, or what is wrong. The plan outlives this.
    template <class F>
    [[nodiscard]] const char* read(const app::plan::Image& plan, F&& image_of) noexcept {
        const app::plan::Head& head = plan.head();
        if (head.cores > most_cores) {
            return "the plan has more cores than the kernel takes";
        }
        cores_ = head.cores;
        for (std::uint32_t core = 0; core < cores_; ++core) {
            tables_[core] = {};
            slots_[core] = {core, static_cast<Ticks>(plan.core(0, core).slot)};
        }
        std::uint32_t core = 0;
        for (std::uint32_t n = 0; n < head.tasks; ++n) {
            const app::plan::Task& row = plan.task(0, n);
            if (row.core < core || row.core >= cores_) {
                return "the plan's tasks are of cores that it has not, or not core by core";
            }
            core = row.core;
            Table& table = tables_[core];
            if (table.count == most_tasks) {
                return "the plan has more tasks on a core than the kernel takes";
            }
            first_[core] = table.count == 0 ? n : first_[core];
            entries_[core][table.count++] = {&row, image_of(n)};
            table.entries = entries_[core];
        }
        schedule_.arbitration = plan.dma(0).arbitration;
        schedule_.slots = slots_;
        schedule_.count = cores_;
        return nullptr;
    }

    [[nodiscard]] std::uint32_t cores() const noexcept { return cores_; }
    [[nodiscard]] const Table& tasks(std::uint32_t core) const noexcept { return tables_[core]; }
    // The number in the plan of a core's first task.
    [[nodiscard]] std::uint32_t first(std::uint32_t core) const noexcept { return first_[core]; }
    // Begins at 0; `tolerance`: how late in its slot an operation may begin.
    [[nodiscard]] Schedule schedule(Ticks tolerance) const noexcept {
        Schedule made = schedule_;
        made.tolerance = tolerance;
        return made;
    }

  private:
    std::uint32_t cores_ = 0;
    Table tables_[most_cores];
    Entry entries_[most_cores][most_tasks];
    std::uint32_t first_[most_cores] = {};
    Slot slots_[most_cores] = {};
    Schedule schedule_;
};

}  // namespace consort::spm
