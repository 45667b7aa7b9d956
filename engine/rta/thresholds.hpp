// SPDX-License-Identifier: Apache-2.0
//
// Worst-case response times under preemptive fixed priorities with preemption thresholds (Wang and Saksena
// 1999; Regehr 2002; Keskin, Bril and Lukkien 2010), with release jitter, blocking, supply and arbitrary
// deadlines. docs/explanation/analyses.md, theorem 28.
#pragma once

#include "rta/fixed_priority.hpp"

namespace consort::engine {

// `threshold[k]`: a job of task k that has begun is preempted only by tasks of a level below this one, which
// is at most its own. Tasks have a level each.
struct Thresholds {
    const TaskSet& set;
    const Time* threshold;

    [[nodiscard]] Time level(std::size_t k) const { return set.level == nullptr ? Time(k) : set.level[k]; }
    // True if a job of task k preempts one of task i that has begun.
    [[nodiscard]] bool preempts(std::size_t k, std::size_t i) const {
        return k != i && level(k) < threshold[i];
    }
    // True if a job of the less urgent task k keeps task i waiting once it has begun.
    [[nodiscard]] bool keeps_waiting(std::size_t k, std::size_t i) const {
        return set.lower(k, i) && threshold[k] <= level(i);
    }
};

// Throws std::invalid_argument where two tasks have one level, or a threshold is above its task's level.
void check(const Thresholds& thresholds);

struct ThresholdResponse {
    Response response;  // `window` is the worst job's start; `open`: a job that had begun blocks it
    Time finish = 0;    // of that job, from the window's beginning
};

// `search.preemptive` is of no account: each task's threshold says which tasks preempt it.
[[nodiscard]] ThresholdResponse threshold_response(const Thresholds& thresholds, std::size_t i,
                                                   const Search& search);

// Jobs of task k in the window of the worst job of task i, for the explanation of a response.
[[nodiscard]] Time jobs_until(const Thresholds& thresholds, std::size_t k, std::size_t i,
                              const ThresholdResponse& found);

}  // namespace consort::engine
