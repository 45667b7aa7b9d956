// SPDX-License-Identifier: Apache-2.0
//
// Steps that do not end, as the supervisor sees them: whoever is in one has had its budget, or the run is
// over and everybody else has ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "consort/linux/executive/config.hpp"
#include "consort/linux/executive/shared.hpp"

namespace consort::linux_port {

// How long the threads of a process have waited for a processor, the one that waited longest [ns]. 0: it has
// ended, or the kernel does not count it.
[[nodiscard]] inline std::uint64_t withheld_ns(pid_t pid) {
    std::uint64_t longest = 0;
    std::error_code ended;
    const std::filesystem::path threads = "/proc/" + std::to_string(pid) + "/task";
    for (std::filesystem::directory_iterator at(threads, ended), none; !ended && at != none;
         at.increment(ended)) {
        std::ifstream file(at->path() / "schedstat");
        std::uint64_t ran = 0;
        std::uint64_t waited = 0;
        if (file >> ran >> waited) {
            longest = std::max(longest, waited);
        }
    }
    return longest;
}

class StuckSteps {
  public:
    struct Step {
        std::uint16_t core;
        std::uint16_t task;
        Ticks lasts;
        bool after_end;  // of the run; else after its budget
    };

    StuckSteps(const RunConfig& config, const SharedRun& shared)
        : config_(&config), shared_(&shared), suspects_(config.cores.size()) {}

    // Once for all cores, before they are looked at: when the run is over, from then on.
    void look(Ticks now) {
        const RunLine& run = shared_->run[0];
        const Ticks start = run.start.load();
        const bool ends = shared_->stopping() || run.stop_workers.load() != 0 ||
                          (start != 0 && now > start + ticks_of(config_->duration()));
        if (over_ == 0 && ends) {
            over_ = now;
        }
    }

    // A step of this core, which is served by the process `pid`, that does not end.
    std::optional<Step> on(std::uint16_t core, pid_t pid, Ticks now) {
        Suspect& suspect = suspects_[core];
        const std::optional<Began> at = at_of(core, now);
        if (!at) {
            suspect = {};
            return std::nullopt;
        }
        if (suspect.began != at->began || suspect.task != at->step.task) {
            suspect = {at->began, at->step.task, now, now, withheld_ns(pid)};
            return std::nullopt;
        }
        if (now - suspect.looked < own_time() / 10) {
            return std::nullopt;
        }
        suspect.looked = now;
        // It must have had a processor meanwhile, however busy the machine is.
        const Ticks withheld = Clock::from_ns(withheld_ns(pid) - suspect.withheld_ns);
        return now - suspect.since > own_time() + withheld ? std::optional(at->step) : std::nullopt;
    }

  private:
    struct Began {
        Ticks began;
        Step step;
    };
    struct Suspect {
        Ticks began = 0;
        std::uint16_t task = 0;
        Ticks since = 0;
        Ticks looked = 0;
        std::uint64_t withheld_ns = 0;
    };

    // The least time that a step taken to hang computes without anything else happening.
    static Ticks own_time() { return Clock::from_ns(1'000'000'000); }

    [[nodiscard]] std::optional<Began> at_of(std::uint16_t core, Ticks now) const {
        const CoreLine& line = shared_->cores[core];
        if (const std::uint32_t serving = line.serving.load(); serving != 0) {
            return overdue(core, static_cast<std::uint16_t>(serving - 1), line.serving_since.load(), now);
        }
        std::optional<Began> found;
        std::optional<Began> last;
        for (std::uint16_t i = 0; i < config_->tasks.size(); ++i) {
            const TaskLine& task = shared_->tasks[i];
            const Ticks began = task.began.load();
            const bool here =
                config_->changes_modes() ? task.core.load() == core : config_->releases(core, i);
            if (began == 0 || !here) {
                continue;
            }
            const auto late = overdue(core, i, began, now);
            found = found ? found : late;
            // Jobs preempt one another: of those that have begun the last one has the processor.
            if (began <= now && (!last || began >= last->began)) {
                last = late ? late : Began{began, {core, i, now - began, false}};
            }
        }
        return found ? last : std::nullopt;
    }
    [[nodiscard]] std::optional<Began> overdue(std::uint16_t core, std::uint16_t task, Ticks began,
                                               Ticks now) const {
        if (began == 0 || now < began) {
            return std::nullopt;
        }
        const Ticks deadline = ticks_of(config_->longest_deadline(task));
        const bool after_end = over_ != 0 && now > std::max(over_, began) + deadline;
        if (!after_end && now - began < Clock::from_ns(config_->tasks[task].budget_ns)) {
            return std::nullopt;
        }
        return Began{began, {core, task, now - began, after_end}};
    }

    const RunConfig* config_;
    const SharedRun* shared_;
    std::vector<Suspect> suspects_;
    Ticks over_ = 0;
};

}  // namespace consort::linux_port
