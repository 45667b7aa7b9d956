// SPDX-License-Identifier: Apache-2.0
//
// Releases and execution times of a simulated task, as the executive has them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "consort/app/release.hpp"
#include "sim/model.hpp"

namespace consort::engine::sim {

using app::Choice;
using app::Draw;
using app::Releases;

// The task must outlive what is made of these.
[[nodiscard]] inline app::ReleaseRule release_rule(const Task& task,
                                                   const app::Arrivals* arrivals = nullptr) {
    app::ReleaseRule rule{task.period,          task.extra_gap,       task.offset,    task.jitter,
                          task.releases.data(), task.releases.size(), task.first_job, arrivals};
    rule.distances = {task.distances.data(), std::min(task.distances.size(), app::Distances::most)};
    return rule;
}
[[nodiscard]] inline app::ExecutionRule execution_rule(const Task& task) {
    return {task.bcet, task.wcet, task.executions.data(), task.executions.size()};
}
[[nodiscard]] inline Time execution_of(const Task& task, const Draw& draw, Spread spread, std::uint64_t job) {
    return execution_rule(task).of(draw, spread, job);
}

// A task and the job that it releases next.
struct TaskState {
    const Task* task = nullptr;
    std::uint32_t id = 0;  // its place in the system
    Draw draw;
    Releases releases;

    TaskState() = default;
    TaskState(const System& system, const Settings& settings, std::uint32_t number,
              const app::Arrivals* arrivals = nullptr)
        : task(&system.tasks[number]),
          id(number),
          draw(settings.seed, number),
          releases(release_rule(*task, arrivals), draw, settings.arrival) {}
};

}  // namespace consort::engine::sim
