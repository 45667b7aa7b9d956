// SPDX-License-Identifier: Apache-2.0
//
// Earliest deadline first on one core, preemptive (Spuri 1996) and non-preemptive (George, Rivierre, Spuri
// 1996), with release jitter, blocking and arbitrary deadlines: response times, and a feasibility test that
// looks at few points of the demand (quick processor-demand analysis, Zhang and Burns 2009). Theorems and
// proofs: docs/explanation/analyses.md.
#pragma once

#include "rta/fixed_priority.hpp"

namespace consort::engine {

struct EdfResponse {
    Verdict verdict = Verdict::bounded;
    Time bound = 0;    // from when the job was due, jitter included
    Time arrival = 0;  // when the worst job is due, from the beginning of its busy window; may be negative
    Time window = 0;   // its finish (preemptive) or its start (non-preemptive), from there
    Time blocking = 0;
    bool open = false;  // as in Response
};

[[nodiscard]] EdfResponse edf_response(const TaskSet& set, std::size_t i, const Search& search);

// Jobs of task k that come within the window of a job of task i due at `arrival` and go before it, itself
// included.
[[nodiscard]] Time edf_jobs_in(const TaskSet& set, std::size_t i, std::size_t k, Time arrival, Time window,
                               bool closed);

struct Feasibility {
    Verdict verdict = Verdict::bounded;
    bool feasible = false;
    // The span from its start in which more is due than fits, and what is due in it (blocking included).
    Time span = 0;
    Time demand = 0;
    Time points = 0;  // at which the demand was looked at
};

[[nodiscard]] Feasibility edf_feasible(const TaskSet& set, const Search& search);

}  // namespace consort::engine
