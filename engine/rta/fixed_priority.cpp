// SPDX-License-Identifier: Apache-2.0
#include "rta/fixed_priority.hpp"

#include <algorithm>

#include "rta/window.hpp"

namespace consort::engine {

std::optional<Time> jobs_in_busy_window(const TaskSet& set, std::size_t i, Time blocking,
                                        const Supply& supply, Budget& budget) {
    const Window window{set, i, false, supply, false};
    Time length = add(blocking, set.c[i]);
    while (budget.take()) {
        const Time jobs = jobs_in(set, i, length, false);
        const Time next = window.end(add(blocking, mul(jobs, set.c[i])), length);
        if (next == length) {
            return jobs;
        }
        length = next;
    }
    return std::nullopt;
}

Blocking blocking_of(const TaskSet& set, std::size_t i, bool preemptive) {
    Blocking found{set.blocking(i), false};
    for (std::size_t k = 0; k < set.n && !preemptive; ++k) {
        if (set.lower(k, i) && set.c[k] > found.length) {
            found = {set.c[k], true};
        }
    }
    return found;
}

Time jobs_in(const TaskSet& set, std::size_t k, Time window, bool closed) {
    const Time span = add(window, set.jitter(k));
    const Time jobs = closed ? span / set.t[k] + 1 : ceil_div(span, set.t[k]);
    const Distances* const spaced = set.spaced(k);
    return spaced == nullptr ? jobs : std::min(jobs, spaced->within(window, closed));
}

Response fixed_priority_response(const TaskSet& set, std::size_t i, const Search& search) {
    Response result;
    const auto counts = [&](std::size_t k) { return k == i || set.interferes(k, i); };
    const Load used = load_under(set, counts, search.supply);
    if (used == Load::above_one) {
        result.verdict = Verdict::overload;
        return result;
    }
    const Time c = set.c[i];
    const Time jitter = set.jitter(i);
    const auto [blocking, begun] = blocking_of(set, i, search.preemptive);
    const bool open = search.preemptive || begun;
    result.blocking = blocking;
    result.open = begun;

    Budget budget{search.steps};
    // At a load of at most 1 job q + H/t responds no later than job q, for H the common period.
    Time last = INT64_MAX;
    if (const auto common = hyperperiod(set, counts); common && search.supply.whole()) {
        last = *common / set.t[i];
    }
    // Non-preemptive: the window may go on, with jobs of others only, after a job of this task has finished,
    // and reach its next one. Preemptive: it ends with the first job that finishes before its successor can
    // come.
    if (!search.preemptive && used == Load::below_one) {
        const auto jobs = jobs_in_busy_window(set, i, blocking, search.supply, budget);
        if (!jobs) {
            result.verdict = Verdict::too_long;
            return result;
        }
        last = std::min(last, *jobs);
    }

    const Window window{set, i, !open, search.supply, !search.preemptive};
    Time from = add(blocking, search.preemptive ? c : 0);
    for (Time q = 0; q < last; ++q) {
        const Time earlier = set.due(i, q);
        // Everything but interference: the job's own part counts only where it can be preempted.
        const Time own = add(blocking, mul(search.preemptive ? q + 1 : q, c));
        const Time after = search.preemptive ? 0 : c;
        Time stop = INT64_MAX;
        if (search.limit) {
            // A negative difference ends the search at once, as it should.
            stop = add(*search.limit, earlier) - add(jitter, after);
        }
        bool exhausted = false;
        const auto length = window.fixed_point(own, std::max(from, own), stop, budget, exhausted);
        if (!length) {
            result.verdict = exhausted ? Verdict::too_long : Verdict::beyond;
            return result;
        }
        Time finish = add(*length, after);
        if (!search.preemptive && !search.supply.whole()) {
            finish = search.supply.time_for(add(window.demand(own, *length), c));
        }
        const Time response = add(finish, jitter) - earlier;
        if (response > result.bound) {
            result.bound = response;
            result.job = q;
            result.due = earlier;
            result.window = *length;
        }
        if (search.preemptive && finish <= set.comes(i, q + 1)) {
            break;
        }
        from = add(*length, c);
    }
    return result;
}

}  // namespace consort::engine
