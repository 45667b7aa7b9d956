// SPDX-License-Identifier: Apache-2.0
//
// Where each core of a run is, for whoever has to name it.
#pragma once

#include <cstdint>
#include <string>

#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/shared.hpp"
#include "consort/task/job.hpp"

namespace consort::linux_port {

// The core releases a task, or serves one.
[[nodiscard]] inline bool used(const RunConfig& config, std::uint16_t core) {
    for (std::size_t i = 0; i < config.tasks.size(); ++i) {
        if (config.releases(core, i) || config.serves(core, i)) {
            return true;
        }
    }
    return false;
}

// The task in whose job a core's process is, or was when it ended; Event::none: in none. An offloaded step
// that its master computes itself is the master's, unless its worker died of it before.
[[nodiscard]] inline std::uint16_t task_at(const RunConfig& config, const SharedRun& shared,
                                           std::uint16_t core) {
    if (const std::uint32_t over = shared.cores[core].over_budget.load(); over != 0) {
        return static_cast<std::uint16_t>(over - 1);
    }
    if (const std::uint32_t serving = shared.cores[core].serving.load(); serving != 0) {
        return static_cast<std::uint16_t>(serving - 1);
    }
    const bool moves = config.changes_modes();
    std::uint16_t begun = Event::none;
    for (std::uint16_t i = 0; i < config.tasks.size(); ++i) {
        const TaskLine& line = shared.tasks[i];
        const bool serves = config.serves(core, i);
        const bool releases = moves ? line.core.load() == core : config.releases(core, i);
        const bool others = !moves && config.offloaded(i) && !serves &&
                            shared.cores[config.image.task(0, i).worker].deaths.load() != 0;
        if ((serves || releases) && line.fault.load() != 0 && !others) {
            return i;
        }
        // In a job of its own before one that it may only be waiting for.
        if (releases && line.began.load() != 0 &&
            (begun == Event::none || (config.offloaded(begun) && !config.offloaded(i)))) {
            begun = i;
        }
    }
    return begun;
}

// The obstacles to a run's end, in words: which cores did not get ready or have not finished. Empty: all of
// them have.
[[nodiscard]] inline std::string unfinished(const RunConfig& config, const SharedRun& shared) {
    const bool begun = shared.run[0].start.load() != 0;
    std::string text;
    const auto add = [&](std::uint16_t core, const std::string& state) {
        text += (text.empty() ? "core " : "; core ") + config.cores[core].name + " " + state;
    };
    for (std::uint16_t i = 0; i < config.cores.size(); ++i) {
        const CoreLine& line = shared.cores[i];
        const bool releases = !config.is_worker(i);
        if (!used(config, i)) {
            continue;
        }
        if (line.ready.load() == 0) {
            add(i, "did not get ready");
        } else if (begun && releases && line.finished.load() == 0) {
            std::string state = "has jobs left and is in none";
            for (std::uint16_t t = 0; t < config.tasks.size(); ++t) {
                const TaskLine& task = shared.tasks[t];
                if (config.releases(i, t) && task.core.load() == i && task.began.load() != 0) {
                    state =
                        "is in job " + std::to_string(task.job.load()) + " of task " + config.tasks[t].name;
                }
            }
            add(i, state);
        }
    }
    return text;
}

}  // namespace consort::linux_port
