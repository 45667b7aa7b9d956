// SPDX-License-Identifier: Apache-2.0
//
// Worst-case response times under fixed priorities on one core: preemptive (Lehoczky 1990; Tindell, Burns,
// Wellings 1994) and non-preemptive (Davis, Burns, Bril, Lukkien 2007), with release jitter, blocking and
// arbitrary deadlines. Theorems, assumptions and proofs: docs/explanation/analyses.md.
#pragma once

#include <optional>

#include "rta/supply.hpp"
#include "rta/task_set.hpp"

namespace consort::engine {

enum class Verdict {
    bounded,
    overload,  // the tasks that interfere, with this one, ask for more than the core has (or all its supply)
    beyond,    // above the limit that was asked for
    too_long,  // the search left its budget of steps: no bound is claimed
};

struct Response {
    Verdict verdict = Verdict::bounded;
    Time bound = 0;   // from the nominal arrival, jitter included
    Time job = 0;     // which job of the busy window is worst, from 0
    Time due = 0;     // how much later than the first one at the earliest
    Time window = 0;  // its finish (preemptive) or its start (non-preemptive), from the window's beginning
    Time blocking = 0;
    // Non-preemptive: the blocking job began strictly before the window, so that no release at the very end
    // of `window` counts, and the bound is approached and not reached.
    bool open = false;
};

struct Search {
    bool preemptive = true;
    // Stop above this response time: all that a verdict needs.
    std::optional<Time> limit = std::nullopt;
    // Evaluations of a task's workload before the search gives up.
    Time steps = 4'000'000;
    Supply supply{};
};

// The blocking by less urgent tasks when a window begins.
struct Blocking {
    Time length = 0;
    bool open = false;  // not reached: the blocking job began strictly before the window
};

// The blocking of task i under fixed priorities: the given one, or the longest less urgent job that is not
// preempted.
[[nodiscard]] Blocking blocking_of(const TaskSet& set, std::size_t i, bool preemptive);

// As `load`, of what a supply gives. What is not given counts like a task; a set that needs all of a supply
// may fall ever further behind, and counts as above it.
template <class Counts>
[[nodiscard]] Load load_under(const TaskSet& set, Counts counts, const Supply& supply) {
    const Load used =
        supply.whole() ? load(set, counts) : load(set, counts, supply.period - supply.budget, supply.period);
    return !supply.whole() && used != Load::below_one ? Load::above_one : used;
}

// Checked arithmetic: std::overflow_error instead of a wrong answer.
[[nodiscard]] Response fixed_priority_response(const TaskSet& set, std::size_t i, const Search& search);

// Jobs of task k that a window of that length holds, for the explanation of a response.
[[nodiscard]] Time jobs_in(const TaskSet& set, std::size_t k, Time window, bool closed);

}  // namespace consort::engine
