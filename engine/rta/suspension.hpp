// SPDX-License-Identifier: Apache-2.0
//
// Response times of self-suspending tasks under preemptive fixed priorities on one core: jobs that may stop
// at any moments and wait elsewhere, at most s in all. Each method is sound; the least of their bounds
// counts. docs/explanation/analyses.md, theorems 6 to 8.
#pragma once

#include <vector>

#include "rta/fixed_priority.hpp"

namespace consort::engine {

enum class SuspensionMethod {
    oblivious,  // as if suspended jobs executed
    jitter,     // suspension of the others as jitter of theirs: their response time less their execution
    framework,  // of some as jitter, of the others as delay of the job itself (Chen, Nelissen, Huang 2016)
};

struct SuspendedResponse {
    Verdict verdict = Verdict::bounded;
    SuspensionMethod method = SuspensionMethod::oblivious;
    Time bound = 0;
    // True if the bound holds only for a job whose predecessor is done when it is due: it exceeds the period.
    bool first_job_only = false;
    std::vector<Time> jobs;     // of each other task in the window
    Time window = 0;            // finish of the worst job, from the beginning of the window
    Time job = 0;               // oblivious: which job of the window
    Time due = 0;               // and how much later than the first one at the earliest
    std::vector<bool> delayed;  // framework: whose suspension is counted as delay
};

// `s[k]`: longest suspension of a job of task k. `response[k]`: a bound for task k where it is more urgent,
// or -1 where none is known; then the oblivious method remains.
[[nodiscard]] SuspendedResponse suspended_response(const TaskSet& set, std::size_t i, const Time* s,
                                                   const Time* response, const Search& search);

}  // namespace consort::engine
