// SPDX-License-Identifier: Apache-2.0
//
// Random choices of a simulation. Each is a function of the seed, the task, the job's number and what is
// chosen, and of nothing else: a job has the same release and execution time under any policy and any
// placement.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/model.hpp"

namespace consort::engine::sim {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

enum class Choice : std::uint8_t { execution, jitter, gap, suspension, split };

class Draw {
  public:
    Draw() = default;
    Draw(std::uint64_t seed, std::size_t task) : key_(mix(mix(seed) + task)) {}

    // Between best and worst, both included; worst need not be the larger one.
    [[nodiscard]] Time operator()(Spread spread, Choice what, std::uint64_t job, Time best,
                                  Time worst) const {
        if (spread == Spread::worst || best == worst) {
            return worst;
        }
        std::uint64_t bits = mix(key_ ^ (job * 8 + static_cast<std::uint64_t>(what)));
        if (spread == Spread::edges) {
            if ((bits & 1U) != 0) {
                return worst;
            }
            if ((bits & 2U) != 0) {
                return best;
            }
            bits = mix(bits);
        }
        const Time low = std::min(best, worst);
        const auto span = static_cast<std::uint64_t>(std::max(best, worst) - low) + 1;
        __extension__ using Wide = unsigned __int128;
        return low + static_cast<Time>((static_cast<Wide>(bits) * span) >> 64U);
    }

  private:
    std::uint64_t key_ = 0;
};

// The releases of a task, one after another.
class Releases {
  public:
    Releases() = default;
    Releases(const Task& task, Draw draw, Spread spread) : task_(&task), draw_(draw), spread_(spread) {
        place(task.releases.empty() ? task.offset : task.releases.front());
    }

    // When the job ought to be released, and when it is: later by its jitter, never before its predecessor.
    [[nodiscard]] Time nominal() const { return nominal_; }
    [[nodiscard]] Time actual() const { return actual_; }
    [[nodiscard]] std::uint64_t job() const { return job_; }

    void next() {
        ++job_;
        if (!task_->releases.empty()) {
            place(job_ < task_->releases.size() ? task_->releases[job_] : never);
            return;
        }
        Time gap = task_->period;
        if (task_->extra_gap != 0) {
            gap = add(gap, draw_(spread_, Choice::gap, job_, task_->extra_gap, 0));
        }
        place(add(nominal_, gap));
    }

  private:
    void place(Time nominal) {
        nominal_ = nominal;
        if (task_->jitter == 0 || nominal == never) {
            actual_ = nominal;
        } else {
            actual_ = std::max(actual_, add(nominal, draw_(spread_, Choice::jitter, job_, 0, task_->jitter)));
        }
    }

    const Task* task_ = nullptr;
    Draw draw_;
    Spread spread_ = Spread::uniform;
    std::uint64_t job_ = 0;
    Time nominal_ = 0;
    Time actual_ = 0;
};

[[nodiscard]] inline Time execution_of(const Task& task, const Draw& draw, Spread spread, std::uint64_t job) {
    if (!task.executions.empty()) {
        return task.executions[job % task.executions.size()];
    }
    return draw(spread, Choice::execution, job, task.bcet, task.wcet);
}

}  // namespace consort::engine::sim
